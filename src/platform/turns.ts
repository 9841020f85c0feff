import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';

/** The time after which other work gets its turn, because there may be thousands of objects that tenants have made. */
export const longestTurn: Millis = 5;

export async function inTurns<T>(items: readonly T[], take: (item: T) => void): Promise<void> {
  let began = performance.now();
  for (const item of items) {
    take(item);
    if (performance.now() - began < longestTurn) continue;
    await nextTurn();
    began = performance.now();
  }
}
