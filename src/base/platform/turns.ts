import { setImmediate as nextTurn } from 'node:timers/promises';

/** A count and not a time, so that a busy machine changes no order. Compiling so many usual policies takes 3 ms. */
const weightOfTurn = 128;

/** Lets other work have its turn in between, because there may be thousands of objects that tenants have made. `take` may return a weight above 1. */
export async function inTurns<T>(items: Iterable<T>, take: (item: T) => number | void): Promise<void> {
  let weight = 0;
  for (const item of items) {
    if (weight >= weightOfTurn) {
      await nextTurn();
      weight = 0;
    }
    weight += Math.max(1, take(item) ?? 1);
  }
}
