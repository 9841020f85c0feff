import type { Millis } from '../../model/log-line.ts';
import type { RotatedLog, RotatedLogOptions } from '../tail/rotated-log.ts';
import type { Json, Notice, Position, Source, SourceListener, Timing } from '../source.ts';
import { type ContainerCounts, createContainerRecords } from '../records/container-records.ts';
import type { RecordLine } from '../records/joiner.ts';

export type CreateLog = (options: RotatedLogOptions) => RotatedLog;

export interface ContainerLogOptions {
  path: string;
  saved: Json | undefined;
  from: 'start' | 'end';
  listener: SourceListener;
  createLog: CreateLog;
  timing: Timing;
  /** The same as in `createRecordJoiner`. */
  timeout: Millis | undefined;
}

export interface ContainerLog {
  readonly path: string;
  readonly state: Source['state'];
  readonly position: Json;
  readonly counts: Source['counts'];
  readonly recordCounts: Readonly<ContainerCounts>;
  /** Everything that is there has been read. */
  readonly atEnd: boolean;
  start: () => void;
  /** Nothing more will come: delivers what was waited for. */
  finish: () => void;
  stop: () => void;
}

/** It is no part of the kernel, whatever it prints. */
const origin = 'container';

export function createContainerLog(options: ContainerLogOptions): ContainerLog {
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
    // It was found by an earlier run, which did not come to read it.
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
    get position() {
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
    start() {
      records.start();
      log.start();
    },
    finish: records.finish,
    stop() {
      log.stop();
      records.stop();
    },
  };

  function notify(notice: Notice): void {
    // Containers come and go.
    if (notice.key === 'missing' || notice.key === 'deleted') return;
    if (notice.key === 'well' && !hasFailed) return;
    if (notice.level === 'error') hasFailed = true;
    else if (notice.key === 'well') hasFailed = false;
    listener.notice(notice);
  }

  function deliver({ time, text, number }: RecordLine): void {
    latest = time ?? latest;
    const timeIsExact = time !== undefined;
    listener.take(
      { source: path, line: number, text, time: latest ?? timing.wall(), timeIsExact, host: undefined },
      origin,
    );
  }
}
