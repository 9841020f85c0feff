import type { Millis } from '../../model/log-line.ts';
import type { Failing, ProgramRecord } from '../../model/program-record.ts';
import type { ContainerName } from '../../log-formats/container-path.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { isStart, restarting } from '../catalogue/starting.ts';
import { restartSpan } from './rules.ts';
import type { TrackedFailure } from './tracked.ts';

/** What is remembered of each container. Plain JSON. */
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
    /** The restart that a record shows. `container`: whose log it is from; undefined where `source` is no container's log. */
    take(
      container: ContainerName | undefined,
      source: string,
      record: ProgramRecord,
      time: Millis,
    ): Restart | undefined {
      if (container !== undefined)
        return note(`${container.uid}/${container.container}`, container.restarts, record, time);
      const { program } = record;
      // Where its Pod writes to standard error and a file, the number of the container's log counts.
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
