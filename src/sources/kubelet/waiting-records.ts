import type { Millis } from '../../model/log-line.ts';
import type { LinePlace } from '../tail/followed-log.ts';
import type { Span } from './delivered.ts';
import type { RecordKind } from './record-kinds.ts';
import type { ContainerRecord, Stream } from '../../log-formats/cri.ts';

/** What becomes, or has become, a logical line. */
export interface WaitingRecord {
  /** Undefined for a line that is no record of a container runtime. */
  readonly stream: Stream | undefined;
  readonly time: Millis | undefined;
  /** Of its first physical line. */
  readonly number: number;
  kind: RecordKind;
  /** latin1. */
  text: string;
  /** Physical lines. */
  lines: number;
  spans: Span[];
  /** Something of it is missing. */
  cut: boolean;
  /** Nothing more belongs to it. */
  complete: boolean;
  delivered: boolean;
}

/** Longest text of a record; in characters, which are bytes. */
export const maxRecordLength = 64 * 1024;
const maxWaiting = 1000;
const maxWaitingLength = 1024 * 1024;

/** Records in the order of their first lines, none of which is delivered before those ahead of it. */
export interface WaitingRecords {
  readonly size: number;
  push: (record: WaitingRecord) => void;
  remove: (record: WaitingRecord) => void;
  /** Adds a physical line, or a part of one. Returns false, and cuts the text, if that makes the record too long. */
  append: (record: WaitingRecord, text: string, spans: readonly Span[]) => boolean;
  /** The next that can be delivered; not complete if too much waits behind it. */
  next: () => WaitingRecord | undefined;
  spans: () => Iterable<Span>;
}

export function createWaitingRecords(): WaitingRecords {
  const records: WaitingRecord[] = [];
  let length = 0;

  return {
    get size() {
      return records.length;
    },
    push(record) {
      records.push(record);
      length += record.text.length;
    },
    remove(record) {
      // Nearly always the last.
      records.splice(records.lastIndexOf(record), 1);
      length -= record.text.length;
    },
    append(record, text, spans) {
      const room = maxRecordLength - record.text.length;
      const part = text.length > room ? text.slice(0, Math.max(0, room)) : text;
      record.text += part;
      length += part.length;
      extend(record, spans);
      return text.length <= room;
    },
    next() {
      const first = records[0];
      if (first === undefined) return undefined;
      if (!first.complete && records.length <= maxWaiting && length <= maxWaitingLength) return undefined;
      records.shift();
      length -= first.text.length;
      return first;
    },
    *spans() {
      for (const record of records) yield* record.spans;
    },
  };
}

/** Notes that these lines, which come after its own, are no one else's. */
export function extend(record: WaitingRecord, spans: readonly Span[]): void {
  for (const span of spans) {
    const known = record.spans.find(({ file }) => file === span.file);
    if (known === undefined) {
      record.spans.push({ ...span });
      continue;
    }
    known.last = span.last;
    known.time = span.time;
  }
}

export function spanOf({ file, offset }: LinePlace, time: Millis): Span {
  return { file, first: offset, last: offset, time };
}

/** The record that this physical line begins; `record` is undefined for a line that is none. */
export function newRecord(record: ContainerRecord | undefined, place: LinePlace, number: number): WaitingRecord {
  return {
    stream: record?.stream,
    time: record?.time,
    number,
    kind: 'other',
    text: '',
    lines: 1,
    spans: [spanOf(place, record?.time ?? 0)],
    cut: false,
    complete: false,
    delivered: false,
  };
}
