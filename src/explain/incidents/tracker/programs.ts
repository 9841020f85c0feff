import * as z from 'zod/mini';
import type { ContainerName } from '../../../base/log-formats/container-log.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Failing, ProgramRecord } from '../../../base/model/program-record.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { isStart, restarting } from '../catalogue/starting.ts';
import type { TrackedFailure } from '../incident.ts';

/** The longest time between lines of one attempt: a failing restore logs a line for each family and table. */
export const attemptSpan: Millis = 2000;
export const restartSpan: Millis = 600_000;
const [shortestRetry, longestRetry]: [Millis, Millis] = [1000, 3_600_000];

export const syncShape = z.object({
  /** The time to the next attempt, as last logged. */
  retry: z.optional(z.number()),
  /** The program logs that attempts failed, as newer releases do. Then an attempt that completes without such a line has succeeded. */
  reportsFailures: z.boolean(),
  /** Families whose last attempt failed and has not completed yet. */
  failed: z.array(z.string()),
  /** When a line last gave the reason of a failure, by family. */
  reported: z.record(z.string(), z.number()),
});

type Sync = z.infer<typeof syncShape>;

export interface Syncs {
  retryOf: (failing: Failing) => Millis | undefined;
  reportsFailures: (failing: Failing) => boolean;
  noteReason(failing: Failing, family: string, time: Millis): void;
  /** Returns whether an earlier line gave the reason. */
  failed(failing: Failing, family: string, time: Millis, retry: Millis | undefined): boolean;
  /** Returns whether the attempt had failed. */
  completed(failing: Failing, family: string): boolean;
  /** Forgets the data about a program, because it may have another configuration after a restart. */
  restarted(container: Failing): void;
  state: () => Record<string, Sync>;
}

/** Tracks failed attempts of programs to write their rules. */
export function createSyncs(restored: Readonly<Record<string, Sync>> = {}): Syncs {
  const syncs = new Map(Object.entries(restored) as [Failing, Sync][]);
  return {
    retryOf: (failing: Failing): Millis | undefined => syncs.get(failing)?.retry,
    reportsFailures: (failing: Failing): boolean =>
      completesWhatFailed(failing) && syncs.get(failing)?.reportsFailures === true,
    noteReason(failing: Failing, family: string, time: Millis): void {
      syncOf(failing).reported[family] = time;
    },
    failed(failing: Failing, family: string, time: Millis, retry: Millis | undefined): boolean {
      const sync = syncOf(failing);
      sync.reportsFailures = true;
      // Implausible values are limited, because they would open or end incidents at the wrong time.
      if (retry !== undefined && retry > 0) sync.retry = Math.min(Math.max(retry, shortestRetry), longestRetry);
      if (completesWhatFailed(failing) && !sync.failed.includes(family)) sync.failed.push(family);
      return Object.entries(sync.reported).some(
        ([other, at]) => isSameFamily(other, family) && Math.abs(time - at) <= attemptSpan,
      );
    },
    completed(failing: Failing, family: string): boolean {
      const { failed = [] } = syncs.get(failing) ?? {};
      const at = failed.findIndex((other) => isSameFamily(other, family));
      if (at < 0) return false;
      failed.splice(at, 1);
      return true;
    },
    restarted(container: Failing): void {
      for (const failing of syncs.keys()) if (containerOfProgram(failing) === container) syncs.delete(failing);
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

/** Returns whether the program also logs failed attempts as complete. Only kube-proxy does. */
export function completesWhatFailed(failing: Failing): boolean {
  return failing === 'kube-proxy';
}

/** felix, confd and bird run in the container of calico-node. */
export function containerOfProgram(failing: Failing): Failing {
  return failing === 'felix' || failing === 'confd' || failing === 'bird' ? 'calico-node' : failing;
}

/** '' may be any family. */
export function isSameFamily(one: string, other: string): boolean {
  return one === '' || other === '' || one === other;
}

export type RestartsState = Record<
  string,
  { restarts: number; failing: Failing; lastWords: string | undefined; at: Millis }
>;

export interface Restart {
  failing: Failing;
  lastWords: string | undefined;
}

/** A node usually has two containers that write rules. */
const limit = 64;
const longestWords = 200;
/** The prefix of keys for logs that are not of a container. No uid begins with it. */
const bare = 'log:';

export interface Restarts {
  /** `container` is undefined if `source` is not a container's log. */
  take(container: ContainerName | undefined, source: string, record: ProgramRecord, time: Millis): Restart | undefined;
  state: () => RestartsState;
}

/** Notices restarts by the number in the name of a container's log, or by the first record that a program logs. */
export function createRestarts(restored: RestartsState = {}): Restarts {
  const containers = new Map(Object.entries(restored));
  return {
    take(
      container: ContainerName | undefined,
      source: string,
      record: ProgramRecord,
      time: Millis,
    ): Restart | undefined {
      if (container !== undefined)
        return note(`${container.uid}/${container.container}`, container.restarts, record, time);
      const { program } = record;
      // If a Pod writes to standard error and to a file, only the container's log counts.
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
    // The end of the log before the restart may be read later.
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

/** Undefined if the restarts are an incident of their own. */
export function restartReason(inContainer: readonly TrackedFailure[]): TrackedFailure | undefined {
  const [reason] = inContainer
    .filter(
      ({ incident, inThisLife, healthy }) =>
        inThisLife && healthy === undefined && incident.phase !== 'over' && causeOf(incident.code).neverFatal !== true,
    )
    .toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a)) || b.incident.last - a.incident.last);
  const isKnownLoop = inContainer.some((tracked) => tracked.incident.code === restarting.code && isOpen(tracked));
  return isKnownLoop && reason?.incident.phase === 'suspected' ? undefined : reason;
}

function isOpen({ incident }: TrackedFailure): boolean {
  return incident.phase === 'open';
}
