import type { Millis } from '../../../base/model/log-line.ts';
import { addTo } from '../framing/scanner.ts';
import { createContainerRecords } from '../records/container-records.ts';
import type { RecordLine } from '../records/joiner.ts';
import type { JsonValue, Notice, Position, SourceListener, Timing } from '../source.ts';
import type { RotatedLog, RotatedLogOptions } from '../tail/rotated-log.ts';
import type { FoundLog } from './find-logs.ts';

export interface OpenLogsOptions {
  root: string;
  saved: Position;
  maxLogs: number;
  listener: SourceListener;
  log: Pick<ContainerLogOptions, 'createLog' | 'timeout' | 'timing'>;
}

type From = 'start' | 'end';

export interface OpenLogs {
  readonly logs: readonly Pick<ContainerLog, 'path' | 'state' | 'counts' | 'recordCounts'>[];
  readonly position: Position;
  readonly counts: { lines: number; bytes: number; tooLong: number };
  /** The number of logs that are not read because there are too many. */
  readonly kept: number;
  /** Call it every 500 ms. `from`: where new logs begin. `isUnknown`: the log may still exist, because its folder cannot be read. */
  update(found: ReadonlyMap<string, FoundLog>, from: From, isUnknown: (key: string) => boolean): void;
  stop(): void;
}

/** The log of a removed or restarted container is closed after this many scans in a row without a new byte: 10 s. */
const looksOfSilence = 20;

interface OpenLog {
  log: ContainerLog;
  bytes: number;
  silence: number;
}

/** Reads the logs that exist, up to `maxLogs`, and remembers the positions in others. */
export function createOpenLogs({ root, saved, maxLogs, listener, log: common }: OpenLogsOptions): OpenLogs {
  const open = new Map<string, OpenLog>();
  /** Positions in logs that are not open yet, or not open any more. */
  const remembered = new Map<string, JsonValue>(Object.entries(saved));
  const ended = new Set<string>();
  const earlier = { lines: 0, bytes: 0, tooLong: 0 };
  let kept = 0;
  let stopped = false;

  return {
    get logs(): readonly Pick<ContainerLog, 'path' | 'state' | 'counts' | 'recordCounts'>[] {
      return Array.from(open.values(), ({ log }) => log);
    },
    get position(): Position {
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
    update(found: ReadonlyMap<string, FoundLog>, from: From, isUnknown: (key: string) => boolean): void {
      if (stopped) return;
      for (const key of remembered.keys()) if (!found.has(key) && !isUnknown(key)) remembered.delete(key);
      for (const key of ended) if (!remembered.has(key)) ended.delete(key);
      for (const [key, each] of open) {
        if (isUnknown(key)) continue;
        const there = found.get(key);
        if ((there === undefined || there.isOlder) && isDrained(each, there)) end(key, each.log, there);
        if (stopped) return;
      }
      // If not all logs can be read, those that are being written come first.
      const isNew = (log: FoundLog): boolean => log.isThere && !open.has(log.key) && !ended.has(log.key);
      const fresh = [...found.values()].filter(isNew).toSorted((a, b) => Number(a.isOlder) - Number(b.isOlder));
      const room = Math.max(0, maxLogs - open.size);
      kept = Math.max(0, fresh.length - room);
      for (const { key } of fresh.slice(0, room)) if (!stopped) begin(key, from);
      if (from === 'end') for (const key of found.keys()) if (!open.has(key)) remembered.set(key, { from });
    },
    stop(): void {
      stopped = true;
      for (const { log } of open.values()) log.stop();
    },
  };

  function begin(key: string, from: From): void {
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

export type CreateLog = (options: RotatedLogOptions) => RotatedLog;

interface ContainerLogOptions {
  path: string;
  saved: JsonValue | undefined;
  from: From;
  listener: SourceListener;
  createLog: CreateLog;
  timing: Timing;
  timeout: Millis | undefined;
}

type ContainerLog = ReturnType<typeof createContainerLog>;

function createContainerLog(options: ContainerLogOptions) {
  const { path, from, listener, createLog, timing, timeout } = options;
  const saved = (options.saved ?? {}) as Position;
  const savedLog = saved['log'] as Position | undefined;
  let latest: Millis | undefined;
  let hasFailed = false;

  const records = createContainerRecords({ saved: saved['records'], onRecord: deliver, timeout, timing });
  const log = createLog({
    path,
    needles: undefined,
    saved: savedLog,
    // An earlier run found this log, but did not read it.
    from: saved['from'] === 'end' ? 'end' : from,
    lines: records,
    listener: { lost: (loss) => listener.lost(loss), notice: notify },
    timing,
  });

  return {
    path,
    get state() {
      return log.state;
    },
    get position(): JsonValue {
      const { position } = log;
      return position === undefined ? { from } : { log: position, records: records.position };
    },
    get counts() {
      const { lines, bytes, tooLong } = log.counts;
      return { lines, bytes, tooLong: tooLong + records.counts.cut };
    },
    recordCounts: records.counts,
    get atEnd() {
      return log.atEnd;
    },
    start(): void {
      records.start();
      log.start();
    },
    finish: records.finish,
    stop(): void {
      log.stop();
      records.stop();
    },
  };

  function notify(notice: Notice): void {
    // Containers come and go all the time, so this needs no report.
    if (notice.key === 'missing' || notice.key === 'deleted') return;
    if (notice.key === 'well' && !hasFailed) return;
    if (notice.level === 'error') hasFailed = true;
    else if (notice.key === 'well') hasFailed = false;
    listener.notice({ ...notice, of: path });
  }

  function deliver({ time, text, number }: RecordLine): void {
    latest = time ?? latest;
    const timeIsExact = time !== undefined;
    const stamp = latest ?? timing.wall();
    // Whatever a container prints, it does not count as the kernel.
    listener.take({ source: path, line: number, text, time: stamp, timeIsExact, host: undefined }, 'container');
  }
}
