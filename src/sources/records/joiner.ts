import type { Millis } from '../../model/log-line.ts';
import { createTimer } from '../../platform/timer.ts';
import type { Json, Timing } from '../source.ts';
import { closes, continues, headerOf, type RecordKind } from './record-kinds.ts';

/** A physical line, or a record with its first line's time and number and all its lines joined by `\n`. */
export interface RecordLine {
  text: string;
  time: Millis | undefined;
  number: number;
}

export interface RecordJoinerOptions<Line extends RecordLine> {
  saved: Json | undefined;
  onRecord: (record: Line) => void;
  /** A record to which nothing was added for so long is complete. */
  timeout?: Millis | undefined;
  timing: Omit<Timing, 'wall'>;
  counts: JoinerCounts;
}

export interface RecordJoiner<Line extends RecordLine> {
  /** More lines are asked for, whether or not they matter: they may belong to a record. */
  readonly isOpen: boolean;
  /** The first line of what is not handed over yet. */
  readonly waiting: Line | undefined;
  /** The state to be saved: null, or the lines that wait. It belongs to the position after the last line that was taken. */
  readonly position: Json;
  /** `isPartial`: its rest comes with the next line. `matters` false: if this line begins a record, that is passed over. */
  take: (line: Line, isPartial: boolean, matters: boolean) => void;
  /** Goes on to wait for what an earlier run had waited for. */
  start: () => void;
  /** Hands over the record that waits first as it is. */
  hurry: () => void;
  finish: () => void;
  stop: () => void;
}

export interface JoinerCounts {
  /** Records that were longer than 64 KiB. */
  cut: number;
  /** Lines whose rest did not come in time. */
  dangling: number;
}

interface Open<Line> {
  line: Line;
  kind: RecordKind;
  /** It was too long and has been handed over; what would continue it is passed over. */
  isCut: boolean;
}

const maxLength = 64 * 1024;
const partTimeout: Millis = 5000;

/** Joins the parts of a line, then lines to records. What waits is part of the position, so its lines need not be read again. */
export function createRecordJoiner<Line extends RecordLine>(options: RecordJoinerOptions<Line>): RecordJoiner<Line> {
  const { onRecord, timeout = 500, counts } = options;
  let { part, open } = readSaved<Line>(options.saved);
  const quiet = createQuietPeriod(options.timing, timeout, finish, () => {
    if (part !== undefined) return partTimeout;
    return open?.isCut === false ? timeout : undefined;
  });

  return {
    get isOpen() {
      return part !== undefined || open !== undefined;
    },
    get waiting() {
      return open?.isCut === false ? open.line : part;
    },
    get position() {
      return part === undefined && open === undefined ? null : ({ part: part ?? null, open: open ?? null } as Json);
    },
    take(line, isPartial, matters) {
      if (part === undefined && open === undefined && !matters) return;
      if (part === undefined) part = line;
      else if (part.text.length <= maxLength) part = { ...part, text: part.text + line.text };
      if (!isPartial) takeLine(part, matters);
      quiet.restart();
    },
    start: quiet.restart,
    hurry() {
      if (open?.isCut === false) handOver(undefined);
      else finish();
    },
    finish,
    stop: quiet.stop,
  };

  function takeLine(line: Line, matters: boolean): void {
    part = undefined;
    const kind = headerOf(line.text);
    if (kind === undefined && open !== undefined && continues(open.kind, line.text)) return append(open, line.text);
    handOver(matters ? { line, kind: kind ?? 'other', isCut: false } : undefined);
    if (open !== undefined && line.text.length > maxLength) cut(open);
  }

  function append(record: Open<Line>, text: string): void {
    if (!record.isCut) {
      record.line = { ...record.line, text: `${record.line.text}\n${text}` };
      if (record.line.text.length > maxLength) cut(record);
    }
    if (text.length <= maxLength && closes(record.kind, text)) handOver(undefined);
  }

  function cut(record: Open<Line>): void {
    counts.cut++;
    const text = record.line.text.slice(0, maxLength);
    record.isCut = true;
    const { line } = record;
    record.line = { ...line, text: '' };
    onRecord({ ...line, text });
  }

  function handOver(next: Open<Line> | undefined): void {
    const record = open;
    open = next;
    if (record?.isCut === false) onRecord(record.line);
  }

  function finish(): void {
    if (part !== undefined) {
      counts.dangling++;
      takeLine(part, true);
    }
    if (open?.isCut === false) handOver(undefined);
  }
}

/** Calls `onOver` when nothing was added for `limit`; undefined: no wait. Looks every `interval`: no timer for each line. */
function createQuietPeriod(
  { now, schedule }: RecordJoinerOptions<RecordLine>['timing'],
  interval: Millis,
  onOver: () => void,
  limit: () => Millis | undefined,
): { restart: () => void; stop: () => void } {
  const timer = createTimer(schedule, now, look);
  let latest = 0;
  let isStopped = false;

  return {
    restart() {
      if (isStopped || limit() === undefined) return;
      latest = now();
      timer.setEarliest(interval);
    },
    stop() {
      isStopped = true;
      timer.cancel();
    },
  };

  function look(): void {
    const longest = limit();
    if (longest === undefined) return;
    const left = latest + longest - now();
    if (left <= 0) onOver();
    else timer.set(Math.min(interval, left));
  }
}

function readSaved<Line>(saved: Json | undefined): { part: Line | undefined; open: Open<Line> | undefined } {
  const { part, open } = (saved ?? {}) as { readonly [key: string]: Json };
  const record = open as unknown as Open<RecordLine> | null | undefined;
  const isOpen = (record?.kind === 'klog' || record?.kind === 'other') && isLine(record.line);
  return {
    part: isLine(part) ? (part as unknown as Line) : undefined,
    open: isOpen ? ({ ...record } as unknown as Open<Line>) : undefined,
  };
}

function isLine(value: unknown): boolean {
  const { text, number } = (value ?? {}) as Partial<RecordLine>;
  return typeof text === 'string' && typeof number === 'number';
}
