import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * Resolves to the bytes of heap that are in use when nothing more can be freed. One collection is not enough: some of
 * the garbage of an earlier test is freed only afterwards, or in a later turn of the event loop, and would seem to be
 * freed by the measured code.
 */
export async function heapInUse(): Promise<number> {
  let before = Infinity;
  for (;;) {
    await nextTurn();
    collect();
    const { heapUsed } = process.memoryUsage();
    if (heapUsed >= before) return heapUsed;
    before = heapUsed;
  }
}
