import type { Millis } from '../../model/log-line.ts';
import type { Failing } from '../../model/program-record.ts';
import { attemptSpan, completesWhatFailed, containerOf, isSameFamily, retryOf } from './rules.ts';

/** What is known of the attempts of one program. Plain JSON. */
export interface Sync {
  /** When it tries again, as it logged last. */
  retry: Millis | undefined;
  /** It logs that an attempt failed, as newer releases do: one that is complete without that has succeeded. */
  reportsFailures: boolean;
  /** Families whose last attempt failed, and is not logged as complete yet. */
  failed: string[];
  /** When a line last gave the reason of a failure, by family. */
  reported: Record<string, Millis>;
}

export type Syncs = ReturnType<typeof createSyncs>;

/** Attempts of programs to bring their rules up to date: which failed, and which succeeded although it looks alike. */
export function createSyncs(restored: Readonly<Record<string, Sync>> = {}) {
  const syncs = new Map(Object.entries(restored) as [Failing, Sync][]);
  return {
    retryOf: (failing: Failing): Millis | undefined => syncs.get(failing)?.retry,
    reportsFailures: (failing: Failing): boolean =>
      completesWhatFailed(failing) && syncs.get(failing)?.reportsFailures === true,
    noteReason(failing: Failing, family: string, time: Millis): void {
      syncOf(failing).reported[family] = time;
    },
    /** An attempt failed; gives whether a line before it has given the reason. */
    failed(failing: Failing, family: string, time: Millis, retry: Millis | undefined): boolean {
      const sync = syncOf(failing);
      sync.reportsFailures = true;
      sync.retry = retryOf(retry) ?? sync.retry;
      if (completesWhatFailed(failing) && !sync.failed.includes(family)) sync.failed.push(family);
      return Object.entries(sync.reported).some(
        ([other, at]) => isSameFamily(other, family) && Math.abs(time - at) <= attemptSpan,
      );
    },
    /** An attempt is complete; gives whether it had failed. */
    completed(failing: Failing, family: string): boolean {
      const { failed = [] } = syncs.get(failing) ?? {};
      const at = failed.findIndex((other) => isSameFamily(other, family));
      if (at < 0) return false;
      failed.splice(at, 1);
      return true;
    },
    /** What was restarted tries from the beginning, perhaps with another configuration. */
    restarted(container: Failing): void {
      for (const failing of syncs.keys()) if (containerOf(failing) === container) syncs.delete(failing);
    },
    state: (): Record<string, Sync> => Object.fromEntries(syncs),
  };

  function syncOf(failing: Failing): Sync {
    let sync = syncs.get(failing);
    if (sync === undefined)
      syncs.set(failing, (sync = { retry: undefined, reportsFailures: false, failed: [], reported: {} }));
    return sync;
  }
}
