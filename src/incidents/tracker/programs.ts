import * as z from 'zod/mini';
import type { ContainerName } from '../../log-formats/container-path.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing, ProgramRecord } from '../../model/program-record.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { isStart, restarting } from '../catalogue/starting.ts';
import type { TrackedFailure } from '../incident.ts';

/** Lines no further apart than this are of one attempt: a restore that fails prints several, each family and table its own. */
export const attemptSpan: Millis = 2000;
export const restartSpan: Millis = 600_000;
const [shortestRetry, longestRetry]: [Millis, Millis] = [1000, 3_600_000];

/** The known attempts of one program. */
export const syncShape = z.object({
  /** The time of its next attempt, as it logged last. */
  retry: z.optional(z.number()),
  /** It logs that an attempt failed, as newer releases do: one that is complete without that has succeeded. */
  reportsFailures: z.boolean(),
  /** Families whose last attempt failed, and is not logged as complete yet. */
  failed: z.array(z.string()),
  /** The time at which a line last gave the reason of a failure, by family. */
  reported: z.record(z.string(), z.number()),
});

type Sync = z.infer<typeof syncShape>;

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
      sync.retry = withinReason(retry) ?? sync.retry;
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
    /** Forgets attempts at a restart: the program begins anew, perhaps with another configuration. */
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

/** kube-proxy logs at the end of each attempt that it is complete, also when it failed; others only when it succeeded. */
export function completesWhatFailed(failing: Failing): boolean {
  return failing === 'kube-proxy';
}

/** Groups programs that restart together: felix, confd and bird run in the container of calico-node. */
export function containerOf(failing: Failing): Failing {
  return failing === 'felix' || failing === 'confd' || failing === 'bird' ? 'calico-node' : failing;
}

/** A retry interval as the line has it, within reason; undefined when it has none. */
function withinReason(logged: Millis | undefined): Millis | undefined {
  if (logged === undefined || !(logged > 0)) return undefined;
  return Math.min(Math.max(logged, shortestRetry), longestRetry);
}

/** Whether it may be one: '' is any. */
export function isSameFamily(one: string, other: string): boolean {
  return one === '' || other === '' || one === other;
}

/** The memory of each container. Plain JSON. */
export type RestartsState = Record<
  string,
  { restarts: number; failing: Failing; lastWords: string | undefined; at: Millis }
>;

/** A restart of a program, and the last error that it had logged. */
export interface Restart {
  failing: Failing;
  lastWords: string | undefined;
}

/** A node has a kube-proxy and a calico-node; whoever reads more containers may set rules for it. */
const limit = 64;
const longestWords = 200;
/** Begins the keys of logs that are no container's; no uid does. */
const bare = 'log:';

/** Notices restarts of programs: by the number of a container's log, else by the record that a program begins with. */
export function createRestarts(restored: RestartsState = {}) {
  const containers = new Map(Object.entries(restored));
  return {
    /** The restart that a record shows. `container`: whose log it is from; undefined if `source` is no container's log. */
    take(
      container: ContainerName | undefined,
      source: string,
      record: ProgramRecord,
      time: Millis,
    ): Restart | undefined {
      if (container !== undefined)
        return note(`${container.uid}/${container.container}`, container.restarts, record, time);
      const { program } = record;
      // If its Pod writes to standard error and to a file, the number of the container's log counts.
      for (const [key, { failing, at }] of containers)
        if (failing === program && !key.startsWith(bare) && time - at <= restartSpan) return undefined;
      const key = `${bare}${source}/${program}`;
      return note(key, (containers.get(key)?.restarts ?? 0) + (isStart(record) ? 1 : 0), record, time);
    },
    state: (): RestartsState => Object.fromEntries(containers),
  };

  function note(key: string, restarts: number, record: ProgramRecord, time: Millis): Restart | undefined {
    const known = containers.get(key);
    const isNew = known !== undefined && restarts > known.restarts;
    const problem = problemOf(record);
    // The end of an older log may be read after the start of the next.
    if (known !== undefined && restarts < known.restarts) return undefined;
    if (known === undefined || isNew || problem !== undefined) {
      containers.delete(key);
      if (containers.size >= limit) for (const oldest of containers.keys()) if (containers.delete(oldest)) break;
      const failing = problem === undefined ? (known?.failing ?? record.program) : record.program;
      const lastWords = problem ?? (isNew ? undefined : known?.lastWords);
      containers.set(key, { restarts, failing, lastWords, at: time });
    } else known.at = Math.max(known.at, time);
    return isNew ? { failing: known.failing, lastWords: known.lastWords } : undefined;
  }
}

function problemOf({ severity, message, error }: ProgramRecord): string | undefined {
  if (severity !== 'error' && severity !== 'fatal') return undefined;
  const [first = ''] = error.split('\n', 1);
  return `${message}${first === '' ? '' : `: ${first}`}`.slice(0, longestWords);
}

/** The incident that a restart is of, open ones and the latest first. Undefined: the restarts are the incident. */
export function restartReason(inContainer: readonly TrackedFailure[]): TrackedFailure | undefined {
  const [reason] = inContainer
    .filter(
      ({ incident, inThisLife, healthy }) =>
        inThisLife && healthy === undefined && incident.phase !== 'over' && causeOf(incident.code).neverFatal !== true,
    )
    .toSorted((a, b) => rankOf(a) - rankOf(b) || b.incident.last - a.incident.last);
  const isKnownLoop = inContainer.some(
    ({ incident }) => incident.code === restarting.code && incident.phase === 'open',
  );
  return isKnownLoop && reason?.incident.phase === 'suspected' ? undefined : reason;
}

function rankOf({ incident }: TrackedFailure): number {
  return incident.phase === 'open' ? 0 : 1;
}
