import { readdirSync, readFileSync } from 'node:fs';
import type { Millis } from '../../src/base/model/log-line.ts';

/** Since the start of a process. */
export interface ThreadTimes {
  /**
   * For how long its first thread was ready to run without a processor: what other processes on this machine have cost
   * it.
   */
  readonly firstWaited: Millis;
  /** The same for all its threads together. */
  readonly allWaited: Millis;
  /** For how long its threads had a processor. */
  readonly worked: Millis;
}

/** Undefined when the process has ended. */
export function threadTimesOf(pid: number): ThreadTimes | undefined {
  try {
    let [firstWaited, allWaited, worked] = [0, 0, 0];
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [run, wait] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
      worked += Number(run) / 1e6;
      allWaited += Number(wait) / 1e6;
      if (Number(thread) === pid) firstWaited = Number(wait) / 1e6;
    }
    return { firstWaited, allWaited, worked };
  } catch {
    return undefined;
  }
}
