import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessCounts, LimitedProcess } from './process.ts';

/** One run under one limit. */
export interface Outcome {
  /** Why the run failed: killed, not ready, not done. */
  failed: string | undefined;
  /** The counts after the start, in the window that is watched; `residentBytes` and `anonymousBytes` at its end. */
  window: ProcessCounts;
  refaults: number;
  peakBytes: number;
}

/** The reads of its own files from the disk that a run may have in addition to those of a run without a limit. */
const mostFaults = 100;
/** Compared with the processor time of a run without a limit; machines vary. */
const mostCpu = { factor: 1.2, seconds: 0.2 };

/** Undefined if the limit is enough, otherwise why it is not. `free`: the outcome without a limit. */
export function shortage(outcome: Outcome, free: Outcome): string | undefined {
  if (outcome.failed !== undefined) return outcome.failed;
  const faults = outcome.window.majorFaults - free.window.majorFaults;
  if (faults >= mostFaults) return `${faults} more reads of its own files`;
  const cpu = outcome.window.cpuSeconds;
  if (cpu <= free.window.cpuSeconds * mostCpu.factor + mostCpu.seconds) return undefined;
  return `${cpu.toFixed(1)} s of CPU, ${free.window.cpuSeconds.toFixed(1)} s without a limit`;
}

/**
 * Watches `limited` during `work`. Fails if the process ends, is killed, or `work` takes longer than `within` seconds.
 */
export async function watched(
  limited: LimitedProcess,
  within: number,
  work: (begin: () => void) => Promise<void>,
): Promise<Outcome> {
  let started: ProcessCounts = { cpuSeconds: 0, majorFaults: 0, residentBytes: 0, anonymousBytes: 0 };
  const clock = new AbortController();
  let failed: string | undefined;
  try {
    await Promise.race([
      work(() => void (started = limited.counts())),
      delay(within * 1000, undefined, { signal: clock.signal }).then(() => {
        throw new Error(`not done in ${within} s`);
      }),
    ]);
  } catch (error) {
    failed = (error as Error).message;
  } finally {
    clock.abort();
  }
  const { cpuSeconds, majorFaults, residentBytes, anonymousBytes } = limited.counts();
  const { oomKills, refaults, peakBytes } = limited.group();
  await limited.dispose();
  return {
    failed: oomKills > 0 ? 'killed: out of memory' : failed,
    window: {
      cpuSeconds: cpuSeconds - started.cpuSeconds,
      majorFaults: majorFaults - started.majorFaults,
      residentBytes,
      anonymousBytes,
    },
    refaults,
    peakBytes,
  };
}
