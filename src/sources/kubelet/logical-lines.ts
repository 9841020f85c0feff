import type { Millis } from '../../model/log-line.ts';
import type { LinePlace } from '../tail/followed-log.ts';
import type { Schedule } from '../../platform/schedule.ts';
import type { Json, Position } from '../source.ts';
import { createDelivered } from './delivered.ts';
import { decodeText, readRecord, type ContainerRecord, type Stream } from '../../log-formats/cri.ts';
import { createStreamRecords, type LogicalLineCounts, type StreamRecords } from './stream-records.ts';
import { createWaitingRecords, newRecord, type WaitingRecord } from './waiting-records.ts';

/** What a container wrote in one go, however many physical lines the runtime made of it. */
export interface LogicalLine {
  /** Undefined for a line that is no record of a container runtime. */
  stream: Stream | undefined;
  time: Millis | undefined;
  /** Lines of a record are joined by `\n`. */
  text: string;
  /** Of its first physical line. */
  number: number;
  /** Something of it is missing. */
  cut: boolean;
}

export interface LogicalLinesOptions {
  /** `position` of an earlier run, from which the lines that were undelivered come again. */
  saved: Json | undefined;
  onLine: (line: LogicalLine) => void;
  /** A record to which nothing was added for so long is complete. */
  patience?: Millis;
  now: () => Millis;
  schedule: Schedule;
}

export interface LogicalLines {
  readonly counts: Readonly<LogicalLineCounts>;
  /** What `saved` is to be, beside a position before all that is undelivered. */
  readonly position: Position;
  /** `line`: latin1, without newline. `number` is its number in the log. */
  take: (line: string, place: LinePlace, number: number) => void;
  /** Where what is not delivered begins, in each file. */
  undelivered: () => Iterable<LinePlace>;
  /** Nothing more comes: delivers what there is. */
  flush: () => void;
  /** What is not delivered stays so. */
  stop: () => void;
}

const danglingTimeout: Millis = 5000;

/**
 * Makes logical lines of the physical ones of a container's log: joins the parts of a line, then the lines of a record, for
 * each stream apart; and delivers them in the order of their first physical lines. What is delivered depends on the physical
 * lines alone, but for what does not come in time.
 */
export function createLogicalLines(options: LogicalLinesOptions): LogicalLines {
  const { onLine, patience = 500, now, schedule } = options;
  const saved = (options.saved ?? {}) as Position;
  const counts = { unreadable: 0, cut: 0, passedOver: 0, dangling: 0, hurried: 0 };
  const delivered = createDelivered(saved['delivered']);
  const waiting = createWaitingRecords();
  const streams = { stdout: newStream('stdout'), stderr: newStream('stderr') };
  let stopped = false;
  let cancel: (() => void) | undefined;

  return {
    counts,
    get position() {
      return {
        delivered: delivered.save(waiting.spans()),
        stdout: streams.stdout.records.position,
        stderr: streams.stderr.records.position,
      };
    },
    take(line, place, number) {
      const record = readRecord(line);
      if (record === undefined) takeUnreadable(line, place, number);
      else if (!delivered.has(record.stream, place, record.time)) takeRecord(record, place, number);
      deliver();
      if (!stopped && waiting.size > 0) cancel ??= schedule(look, patience);
    },
    *undelivered() {
      for (const { file, first } of waiting.spans()) yield { file, offset: first };
    },
    flush() {
      for (const { records } of Object.values(streams)) records.finish();
      deliver();
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };

  function newStream(name: Stream): { records: StreamRecords; latest: Millis } {
    return { records: createStreamRecords({ name, saved: saved[name], waiting, delivered, counts }), latest: 0 };
  }

  function takeUnreadable(text: string, place: LinePlace, number: number): void {
    counts.unreadable++;
    waiting.push({ ...newRecord(undefined, place, number), text, complete: true });
  }

  function takeRecord(record: ContainerRecord, place: LinePlace, number: number): void {
    const stream = streams[record.stream];
    stream.latest = now();
    stream.records.take(record, place, number);
  }

  function look(): void {
    cancel = undefined;
    let wait = Infinity;
    for (const { records, latest } of Object.values(streams)) {
      if (records.awaits === 'nothing') continue;
      const idle = now() - latest;
      const limit = records.awaits === 'next line' ? patience : danglingTimeout;
      // Less than nothing: the clock was set back.
      if (idle >= limit || idle < 0) records.finish();
      else wait = Math.min(wait, limit - idle);
    }
    deliver();
    if (!stopped && wait !== Infinity) cancel = schedule(look, wait);
  }

  function deliver(): void {
    for (let record = next(); record !== undefined; record = next()) {
      record.delivered = true;
      if (record.stream !== undefined) delivered.add(record.stream, record.spans);
      const { stream, time, text, number, cut } = record;
      onLine({ stream, time, text: decodeText(text), number, cut });
    }
    if (waiting.size === 0) delivered.forget();
  }

  function next(): WaitingRecord | undefined {
    const record = stopped ? undefined : waiting.next();
    if (record === undefined || record.complete) return record;
    counts.hurried++;
    record.cut = true;
    for (const { records } of Object.values(streams)) records.hurry(record);
    return record;
  }
}
