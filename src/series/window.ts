import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';

/** Each window has a new Event object: the API server forgets Events after an hour, and exporters announce only new ones. */
export const windowLength: Millis = 3_600_000;

const phases = new LRUCache<string, Millis>({ max: 4096 });

/** The number of the window that a time falls into, and when it ends. Windows of different objects start at different minutes. */
export function windowOf(time: Millis, uid: string): { number: number; end: Millis } {
  let phase = phases.get(uid);
  if (phase === undefined) {
    phase = createHash('sha256').update(uid).digest().readUInt32BE(0) % windowLength;
    phases.set(uid, phase);
  }
  const number = Math.floor((time + phase) / windowLength);
  return { number, end: (number + 1) * windowLength - phase };
}
