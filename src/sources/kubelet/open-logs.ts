import { addTo } from '../framing/scanner.ts';
import type { Json, Position, Source, SourceListener } from '../source.ts';
import { type ContainerLog, type ContainerLogOptions, createContainerLog } from './container-log.ts';
import type { FoundLog } from './discovery.ts';

export interface OpenLogsOptions {
  root: string;
  saved: Position;
  maxLogs: number;
  listener: SourceListener;
  log: Pick<ContainerLogOptions, 'createLog' | 'timeout' | 'timing'>;
}

export interface OpenLogs {
  readonly logs: readonly Pick<ContainerLog, 'path' | 'state' | 'counts' | 'recordCounts'>[];
  readonly position: Position;
  /** Sums over all logs there were. */
  readonly counts: Source['counts'];
  /** Logs that are not read because there are too many. */
  readonly kept: number;
  /** Takes the logs that exist, every 500 ms. `isUnknown`: whether such a log exists could not be found out. */
  update: (found: ReadonlyMap<string, FoundLog>, isUnknown: (key: string) => boolean) => void;
  stop: () => void;
}

/** A log to which nothing was added at so many looks in a row, 10 s, has nothing more to come, if its container is done. */
const looksOfSilence = 20;

interface OpenLog {
  log: ContainerLog;
  /** Read by the last look, and for how many looks it was as much. */
  bytes: number;
  silence: number;
}

export function createOpenLogs({ root, saved, maxLogs, listener, log: common }: OpenLogsOptions): OpenLogs {
  const open = new Map<string, OpenLog>();
  /** Positions of logs that are not open: not yet, or not any more. */
  const remembered = new Map<string, Json>(Object.entries(saved));
  const ended = new Set<string>();
  const earlier = { lines: 0, bytes: 0, tooLong: 0 };
  let kept = 0;
  let stopped = false;

  return {
    get logs() {
      return Array.from(open.values(), ({ log }) => log);
    },
    get position() {
      const positions = new Map(remembered);
      for (const [key, { log }] of open) positions.set(key, log.position);
      return Object.fromEntries(positions);
    },
    get counts() {
      const sum = { ...earlier };
      for (const { log } of open.values()) addTo(sum, log.counts);
      return sum;
    },
    get kept() {
      return kept;
    },
    update(found, isUnknown) {
      if (stopped) return;
      for (const key of remembered.keys()) if (!found.has(key) && !isUnknown(key)) remembered.delete(key);
      for (const key of ended) if (!remembered.has(key)) ended.delete(key);
      for (const [key, each] of open) {
        const there = found.get(key);
        if ((there === undefined || there.isOlder) && isDrained(each, there)) end(key, each.log, there);
        if (stopped) return;
      }
      // If not all can be read, logs that are written now come first.
      const isNew = (log: FoundLog): boolean => log.isThere && !open.has(log.key) && !ended.has(log.key);
      const fresh = [...found.values()].filter(isNew).toSorted((a, b) => Number(a.isOlder) - Number(b.isOlder));
      const room = Math.max(0, maxLogs - open.size);
      kept = Math.max(0, fresh.length - room);
      for (const log of fresh.slice(0, room)) if (!stopped) begin(log);
    },
    stop() {
      stopped = true;
      for (const { log } of open.values()) log.stop();
    },
  };

  function begin({ key, from }: FoundLog): void {
    const log = createContainerLog({ ...common, path: `${root}/${key}`, saved: remembered.get(key), from, listener });
    remembered.delete(key);
    open.set(key, { log, bytes: 0, silence: 0 });
    log.start();
  }

  function end(key: string, log: ContainerLog, there: FoundLog | undefined): void {
    log.finish();
    if (stopped) return;
    const { position } = log;
    log.stop();
    addTo(earlier, log.counts);
    open.delete(key);
    if (there === undefined) return;
    remembered.set(key, position);
    ended.add(key);
  }
}

function isDrained(open: OpenLog, there: FoundLog | undefined): boolean {
  const { bytes } = open.log.counts;
  open.silence = bytes === open.bytes ? open.silence + 1 : 0;
  open.bytes = bytes;
  const isAtEnd = open.log.atEnd || (there === undefined && open.log.state !== 'reading');
  return isAtEnd && open.silence >= looksOfSilence;
}
