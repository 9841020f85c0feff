import type { LinePlace } from '../tail/followed-log.ts';
import type { Json, Position } from '../source.ts';
import type { Delivered, Span } from './delivered.ts';
import { closes, continues, headerOf, type RecordKind } from './record-kinds.ts';
import type { ContainerRecord, Stream } from '../../log-formats/cri.ts';
import { extend, newRecord, spanOf, type WaitingRecord, type WaitingRecords } from './waiting-records.ts';

export interface LogicalLineCounts {
  /** Physical lines that are no record of a container runtime. */
  unreadable: number;
  /** Records that were longer than 64 KiB, and physical lines that would have belonged to them. */
  cut: number;
  passedOver: number;
  /** Lines whose rest did not come in time. */
  dangling: number;
  /** Records that were delivered unfinished because too much waited behind them. */
  hurried: number;
}

export interface StreamRecordsOptions {
  name: Stream;
  /** `position` of an earlier run. */
  saved: Json | undefined;
  waiting: WaitingRecords;
  delivered: Delivered;
  counts: LogicalLineCounts;
}

/** What comes on one stream, made into records. */
export interface StreamRecords {
  /** What is passed over. */
  readonly position: Json;
  take: (record: ContainerRecord, place: LinePlace, number: number) => void;
  /** What more is waited for. */
  readonly awaits: 'end of line' | 'next line' | 'nothing';
  /** Nothing more is waited for. */
  finish: () => void;
  /** Nothing more is waited for, if it is this record that was waited for. */
  hurry: (record: WaitingRecord) => void;
}

/** What follows a record that was too long: the rest of its line, and lines that would have continued it. */
interface Passing {
  kind: RecordKind;
  isInLine: boolean;
  /** Undefined if that was in an earlier run. */
  record: WaitingRecord | undefined;
}

export function createStreamRecords({ name, saved, waiting, delivered, counts }: StreamRecordsOptions): StreamRecords {
  /** A line whose end has not come. */
  let chain: WaitingRecord | undefined;
  /** The record that the next line may belong to. */
  let open: WaitingRecord | undefined;
  let passing = readPassing(saved);

  return {
    get position() {
      // Where the record itself is read again, it will be cut again.
      if (passing === undefined || passing.record?.delivered === false) return null;
      return { kind: passing.kind, isInLine: passing.isInLine };
    },
    take(record, place, number) {
      const spans = [spanOf(place, record.time)];
      if (passing?.isInLine === true) {
        passing.isInLine = record.partial;
        return passOver(passing, spans, 1);
      }
      if (chain === undefined) waiting.push((chain = newRecord(record, place, number)));
      else chain.lines++;
      const fits = waiting.append(chain, record.text, spans);
      if (!fits || !record.partial) settle(chain, fits, !fits && record.partial);
    },
    get awaits() {
      if (chain !== undefined) return 'end of line';
      return open === undefined ? 'nothing' : 'next line';
    },
    finish() {
      if (chain !== undefined) {
        counts.dangling++;
        chain.cut = true;
        settle(chain, true, false);
      }
      complete();
    },
    hurry(record) {
      if (open === record) open = undefined;
      if (chain === record) chain = undefined;
    },
  };

  /** A line is whole, or too long: it begins a record, or belongs to one before. */
  function settle(line: WaitingRecord, fits: boolean, isInLine: boolean): void {
    const { text } = line;
    const header = headerOf(text);
    chain = undefined;
    if (header === undefined && passing !== undefined && continues(passing.kind, text)) {
      waiting.remove(line);
      passOver(passing, line.spans, line.lines);
      passing = fits && closes(passing.kind, text) ? undefined : { ...passing, isInLine };
    } else if (header === undefined && open !== undefined && continues(open.kind, text)) {
      waiting.remove(line);
      addTo(open, line, fits, isInLine);
    } else {
      complete();
      passing = undefined;
      open = line;
      line.kind = header ?? 'other';
      if (!fits) cutOff(line, isInLine);
    }
  }

  function addTo(record: WaitingRecord, line: WaitingRecord, fits: boolean, isInLine: boolean): void {
    const isLast = fits && closes(record.kind, line.text);
    record.cut ||= line.cut;
    record.lines += line.lines;
    if (!waiting.append(record, `\n${line.text}`, line.spans) || !fits) cutOff(record, isInLine);
    if (!isLast) return;
    complete();
    passing = undefined;
  }

  function cutOff(record: WaitingRecord, isInLine: boolean): void {
    counts.cut++;
    record.cut = true;
    complete();
    passing = { kind: record.kind, isInLine, record };
  }

  function complete(): void {
    if (open !== undefined) open.complete = true;
    open = undefined;
  }

  function passOver({ record }: Passing, spans: readonly Span[], lines: number): void {
    counts.passedOver += lines;
    if (record === undefined || record.delivered) delivered.add(name, spans);
    else extend(record, spans);
  }
}

function readPassing(saved: Json | undefined): Passing | undefined {
  const { kind, isInLine } = (saved ?? {}) as Position;
  if (kind !== 'klog' && kind !== 'other') return undefined;
  return { kind, isInLine: isInLine === true, record: undefined };
}
