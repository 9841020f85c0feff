import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** More than any kernel has reasons. What finds no room there is in no count. */
const size = 512;

/** Lets the kernel count an event by the numbers in its field, which costs the reader nothing. `folder`: that of the event. */
export function startHistogram(folder: string, field: string): void {
  try {
    writeFileSync(join(folder, 'trigger'), `hist:keys=${field}:size=${size}`);
  } catch {
    // It is there already, or the kernel has no histograms (CONFIG_HIST_TRIGGERS).
  }
}

/** Reads lines like `{ reason:          7 } hitcount:         26`. Returns the count of each number; an empty map if the kernel counts nothing. */
export function readHistogram(folder: string): ReadonlyMap<number, number> {
  try {
    const text = readFileSync(join(folder, 'hist'), 'latin1');
    const lines = text.matchAll(/^\{ \w+: +(\d{1,10}) \} hitcount: +(\d{1,15})$/gm);
    return new Map(Array.from(lines, ([, number, count]) => [Number(number), Number(count)]));
  } catch {
    return new Map();
  }
}
