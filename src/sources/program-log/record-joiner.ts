import type { Millis } from '../../model/log-line.ts';
import { closes, continues, headerOf, type RecordKind } from '../kubelet/record-kinds.ts';
import { maxRecordLength } from '../kubelet/waiting-records.ts';
import type { Schedule } from '../../platform/schedule.ts';
import type { Json, Position } from '../source.ts';

/** klog begins a value of several lines so; what matters may stand in them. */
export const opensBlock = '=<';

/** What a program wrote in one go, its lines joined by `\n`. */
export interface JoinedRecord {
  text: string;
  /** Of its first line, as `number` is; undefined where that has no stamp. */
  time: Millis | undefined;
  number: number;
}

export interface RecordJoinerOptions {
  /** `position` of an earlier run. */
  saved: Json | undefined;
  onRecord: (record: JoinedRecord) => void;
  /** A record to which nothing was added for so long is complete. */
  patience?: Millis;
  now: () => Millis;
  schedule: Schedule;
}

/** Joins the lines of one writer to records, and passes over records that cannot matter. */
export interface RecordJoiner {
  /** A record waits for more lines: the next lines are asked for, whether or not they matter. */
  readonly isOpen: boolean;
  /** What `saved` is to be: null, or the record that waits. Belongs to the place after the last line that was taken. */
  readonly position: Json;
  readonly counts: Readonly<{ cut: number }>;
  /** `matters` false: if this line begins a record, that is passed over. */
  take: (line: JoinedRecord, matters: boolean) => void;
  start: () => void;
  /** What waits stays in `position`. */
  stop: () => void;
}

interface Open extends JoinedRecord {
  kind: RecordKind;
  /** It was too long and has been handed over; what would continue it is passed over. */
  isCut: boolean;
}

/**
 * A record that waits is part of the position, unlike in `createLogicalLines`: its lines need not be read again, so that
 * other lines of the same log are not held back by it.
 */
export function createRecordJoiner(options: RecordJoinerOptions): RecordJoiner {
  const { saved, onRecord, patience = 500, now, schedule } = options;
  const counts = { cut: 0 };
  let open = readOpen(saved);
  let latest = 0;
  let isStopped = false;
  let cancel: (() => void) | undefined;

  return {
    counts,
    get isOpen() {
      return open !== undefined;
    },
    get position() {
      if (open === undefined) return null;
      const { text, time = null, number, kind, isCut } = open;
      return { text, time, number, kind, isCut };
    },
    take(line, matters) {
      // Most of what a program writes.
      if (open === undefined && !matters) return;
      const header = headerOf(line.text);
      if (open !== undefined && header === undefined && continues(open.kind, line.text)) {
        append(open, line.text);
      } else {
        complete();
        if (matters) begin({ ...line, kind: header ?? 'other', isCut: false });
      }
    },
    start() {
      if (open === undefined) return;
      latest = now();
      cancel = schedule(look, patience);
    },
    stop() {
      isStopped = true;
      cancel?.();
      cancel = undefined;
    },
  };

  function begin(record: Open): void {
    open = record;
    if (record.text.length > maxRecordLength) cut(record);
    wait();
  }

  function append(record: Open, text: string): void {
    if (!record.isCut) {
      record.text += `\n${text}`;
      if (record.text.length > maxRecordLength) cut(record);
    }
    if (closes(record.kind, text)) complete();
    else wait();
  }

  function cut(record: Open): void {
    counts.cut++;
    const text = record.text.slice(0, maxRecordLength);
    Object.assign(record, { text: '', isCut: true });
    onRecord({ text, time: record.time, number: record.number });
  }

  function wait(): void {
    latest = now();
    // Who was handed the record before may have stopped it.
    if (!isStopped) cancel ??= schedule(look, patience);
  }

  function look(): void {
    cancel = undefined;
    if (open === undefined) return;
    const idle = now() - latest;
    // Less than nothing: the clock was set back.
    if (idle >= patience || idle < 0) complete();
    else cancel = schedule(look, patience - idle);
  }

  function complete(): void {
    const record = open;
    open = undefined;
    if (record !== undefined && !record.isCut)
      onRecord({ text: record.text, time: record.time, number: record.number });
  }
}

function readOpen(saved: Json | undefined): Open | undefined {
  const { text, time, number, kind, isCut } = (saved ?? {}) as Position;
  if (typeof text !== 'string' || typeof number !== 'number' || (kind !== 'klog' && kind !== 'other')) return undefined;
  return { text, time: typeof time === 'number' ? time : undefined, number, kind, isCut: isCut === true };
}
