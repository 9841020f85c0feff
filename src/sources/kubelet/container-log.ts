import type { Millis } from '../../model/log-line.ts';
import type { RotatedLog, RotatedLogOptions } from '../tail/followed-log.ts';
import type { Schedule } from '../../platform/schedule.ts';
import type { Json, Position, Source, SourceListener } from '../source.ts';
import { createLogicalLines, type LogicalLine } from './logical-lines.ts';
import type { LogicalLineCounts } from './stream-records.ts';

export type CreateLog = (options: RotatedLogOptions) => RotatedLog;

export interface ContainerLogOptions {
  path: string;
  /** `position` of an earlier log of this path. */
  saved: Json | undefined;
  from: 'start' | 'end';
  listener: SourceListener;
  createLog: CreateLog;
  now: () => Millis;
  schedule: Schedule;
  /** As in `createLogicalLines`. */
  patience: Millis;
}

/** One log of a container, `<n>.log`. */
export interface ContainerLog {
  readonly path: string;
  readonly state: Source['state'];
  readonly position: Json;
  readonly counts: Source['counts'];
  readonly lineCounts: Readonly<LogicalLineCounts>;
  /** Everything that is there has been read. */
  readonly atEnd: boolean;
  start: () => void;
  /** Nothing more will come: delivers what was waited for. */
  flush: () => void;
  stop: () => void;
}

/** It is no part of the kernel, whatever it prints. */
const origin = 'container';

export function createContainerLog(options: ContainerLogOptions): ContainerLog {
  const { path, from, listener, createLog, now, schedule, patience } = options;
  const saved = (options.saved ?? {}) as Position;
  const savedLog = saved['log'] as Position | undefined;
  let latest: Millis | undefined;
  /** It could not be read, and a notice has said so. */
  let isInTrouble = false;

  const lines = createLogicalLines({ saved: saved['lines'], onLine: deliver, patience, now, schedule });
  const log = createLog({
    path,
    needles: undefined,
    saved: savedLog,
    // It was found by an earlier run, which did not come to read it.
    from: saved['from'] === 'end' ? 'end' : from,
    onLine: (text, place, _cut, number) => lines.take(text, place, number),
    onLost: (count, reason) => listener.onLost({ count, unit: 'bytes', time: now(), reason }),
    onNotice(notice) {
      // Containers come and go.
      if (notice.key === 'missing' || notice.key === 'deleted') return;
      if (notice.key === 'well' && !isInTrouble) return;
      if (notice.level === 'error') isInTrouble = true;
      else if (notice.key === 'well') isInTrouble = false;
      listener.onNotice(notice);
    },
    undelivered: () => lines.undelivered(),
    now,
    schedule,
  });

  return {
    path,
    get state() {
      return log.state;
    },
    get position() {
      const { position } = log;
      return position === undefined ? { from } : { log: position, lines: lines.position };
    },
    get counts() {
      return log.counts;
    },
    lineCounts: lines.counts,
    get atEnd() {
      return log.atEnd;
    },
    start: () => log.start(),
    flush: () => lines.flush(),
    stop() {
      log.stop();
      lines.stop();
    },
  };

  function deliver({ time, text, number }: LogicalLine): void {
    latest = time ?? latest;
    const timeIsExact = time !== undefined;
    listener.onLine({ source: path, line: number, text, time: latest ?? now(), timeIsExact, host: undefined }, origin);
  }
}
