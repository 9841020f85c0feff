import type { Millis } from '../../model/log-line.ts';
import type { Failing, ProgramRecord } from '../../model/program-record.ts';
import { restartSpan } from './rules.ts';

/** A container whose log is read; of a program without one, the log itself. */
export interface LoggingContainer {
  uid: string;
  container: string;
  restarts: number;
}

/** What is remembered of each container. Plain JSON. */
export type RestartsState = Record<
  string,
  { restarts: number; failing: Failing; lastWords: string | undefined; at: Millis }
>;

/** Notices that a program was started anew: by the number of its container's log, without a container by the record that it begins with. */
export interface Restarts {
  /** What it had last complained of when it was started anew; undefined if it was not. */
  take: (
    from: LoggingContainer,
    record: ProgramRecord,
    time: Millis,
  ) => { failing: Failing; lastWords: string | undefined } | undefined;
  /** As `take`, of a program whose log is no container's. `source`: the log; `isStart`: it begins with this record. */
  takeBare: (source: string, isStart: boolean, record: ProgramRecord, time: Millis) => ReturnType<Restarts['take']>;
  state: () => RestartsState;
}

/** A node has a kube-proxy and a calico-node; whoever reads more containers may set rules for it. */
const limit = 64;
const longestWords = 200;
/** Begins the keys of logs that are no container's; no uid does. */
const bare = 'log:';

export function createRestarts(restored: RestartsState = {}): Restarts {
  const containers = new Map(Object.entries(restored));
  return { take, takeBare, state: () => Object.fromEntries(containers) };

  function take(
    { uid, container, restarts }: LoggingContainer,
    record: ProgramRecord,
    time: Millis,
  ): { failing: Failing; lastWords: string | undefined } | undefined {
    const key = `${uid}/${container}`;
    const known = containers.get(key);
    const isNew = known !== undefined && restarts > known.restarts;
    const complaint = problemOf(record);
    // The end of an older log may be read after the start of the next.
    if (known !== undefined && restarts < known.restarts) return undefined;
    if (known === undefined || isNew || complaint !== undefined) {
      containers.delete(key);
      if (containers.size >= limit) for (const oldest of containers.keys()) if (containers.delete(oldest)) break;
      const failing = complaint === undefined ? (known?.failing ?? record.program) : record.program;
      const lastWords = complaint ?? (isNew ? undefined : known?.lastWords);
      containers.set(key, { restarts, failing, lastWords, at: time });
    } else known.at = Math.max(known.at, time);
    return isNew ? { failing: known.failing, lastWords: known.lastWords } : undefined;
  }

  function takeBare(source: string, isStart: boolean, record: ProgramRecord, time: Millis): ReturnType<typeof take> {
    const { program } = record;
    // Where its Pod writes to standard error and a file, the number of the container's log tells.
    for (const [key, { failing, at }] of containers)
      if (failing === program && !key.startsWith(bare) && time - at <= restartSpan) return undefined;
    const known = containers.get(`${bare}${source}/${program}`);
    const restarts = (known?.restarts ?? 0) + (isStart ? 1 : 0);
    return take({ uid: `${bare}${source}`, container: program, restarts }, record, time);
  }
}

function problemOf({ severity, message, error }: ProgramRecord): string | undefined {
  if (severity !== 'error' && severity !== 'fatal') return undefined;
  const [first = ''] = error.split('\n', 1);
  return `${message}${first === '' ? '' : `: ${first}`}`.slice(0, longestWords);
}
