import type { Failing, Millis, ProgramRecord } from '../model.ts';

/** A container whose log is read. */
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

/** Notices that a container was started anew, by the number of its log. */
export interface Restarts {
  /** What it had last complained of when it was started anew; undefined if it was not. */
  take: (
    from: LoggingContainer,
    record: ProgramRecord,
    time: Millis,
  ) => { failing: Failing; lastWords: string | undefined } | undefined;
  state: () => RestartsState;
}

/** A node has a kube-proxy and a calico-node; whoever reads more containers may set rules for it. */
const limit = 64;
const longestWords = 200;

export function createRestarts(restored: RestartsState = {}): Restarts {
  const containers = new Map(Object.entries(restored));
  return {
    take({ uid, container, restarts }, record, time) {
      const key = `${uid}/${container}`;
      const known = containers.get(key);
      const isNew = known !== undefined && restarts > known.restarts;
      const complaint = complaintOf(record);
      // The end of an older log may be read after the start of the next.
      if (known !== undefined && restarts < known.restarts) return undefined;
      if (known === undefined || isNew || complaint !== undefined) {
        containers.delete(key);
        if (containers.size >= limit) for (const oldest of containers.keys()) if (containers.delete(oldest)) break;
        const failing = complaint === undefined ? (known?.failing ?? record.program) : record.program;
        const lastWords = complaint ?? (isNew ? undefined : known?.lastWords);
        containers.set(key, { restarts, failing, lastWords, at: time });
      }
      return isNew ? { failing: known.failing, lastWords: known.lastWords } : undefined;
    },
    state: () => Object.fromEntries(containers),
  };
}

function complaintOf({ severity, message, error }: ProgramRecord): string | undefined {
  if (severity !== 'error' && severity !== 'fatal') return undefined;
  const [first = ''] = error.split('\n', 1);
  return `${message}${first === '' ? '' : `: ${first}`}`.slice(0, longestWords);
}
