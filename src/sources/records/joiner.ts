import { hasKlogHeader, hasLogrusPairs } from '../../log-formats/go-loggers.ts';
import { stamp } from '../../log-formats/rfc3339.ts';
import type { Millis } from '../../model/log-line.ts';
import { createTimer } from '../../platform/timer.ts';
import type { Json, Timing } from '../source.ts';

/** A physical line, or a record with its first line's time and number and all its lines joined by `\n`. */
export interface RecordLine {
  text: string;
  time: Millis | undefined;
  number: number;
}

export interface RecordJoinerOptions<Line extends RecordLine> {
  saved: Json | undefined;
  onRecord: (record: Line) => void;
  /** A record is complete after this time without a further line. */
  timeout?: Millis | undefined;
  timing: Omit<Timing, 'wall'>;
  counts: JoinerCounts;
}

export type RecordJoiner<Line extends RecordLine> = ReturnType<typeof createRecordJoiner<Line>>;

export interface JoinerCounts {
  cut: number;
  /** Lines whose rest did not come in time. */
  dangling: number;
}

interface Open<Line> {
  line: Line;
  kind: RecordKind;
  /** It was too long and has been handed over: what would continue it is passed over. */
  isCut: boolean;
}

const maxLength = 64 * 1024;
const partTimeout: Millis = 5000;

/** Joins the parts of a line, then lines to records. What waits is part of the position, so that its lines need not be read again. */
export function createRecordJoiner<Line extends RecordLine>(options: RecordJoinerOptions<Line>) {
  const { onRecord, timeout = 500, counts } = options;
  let { part, open } = readSaved<Line>(options.saved);
  const quiet = createQuietPeriod(options.timing, timeout, finish, () => {
    if (part !== undefined) return partTimeout;
    return open?.isCut === false ? timeout : undefined;
  });

  return {
    /** Lines wait: the next ones are asked for whether or not they matter, because they may belong to a record. */
    get isOpen() {
      return part !== undefined || open !== undefined;
    },
    get waiting() {
      return open?.isCut === false ? open.line : part;
    },
    /** The lines that wait, to be saved with the position after the last line that was taken; else null. */
    get position(): Json {
      return part === undefined && open === undefined
        ? null
        : ({ part: part ?? null, open: open ?? null } as unknown as Json);
    },
    /** `isPartial`: its rest comes with the next line. `matters` false: a record that this line begins is passed over. */
    take(line: Line, isPartial: boolean, matters: boolean): void {
      if (part === undefined && open === undefined && !matters) return;
      if (part === undefined) part = line;
      else if (part.text.length <= maxLength) part = { ...part, text: part.text + line.text };
      if (!isPartial) takeLine(part, matters);
      quiet.restart();
    },
    start: quiet.restart,
    hurry(): void {
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
    const { line } = record;
    record.isCut = true;
    record.line = { ...line, text: '' };
    onRecord({ ...line, text: line.text.slice(0, maxLength) });
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

/** Calls `onOver` when nothing was added for `limit`; undefined: no wait. It looks every `interval`, to set no timer for each line. */
function createQuietPeriod(
  { now, schedule }: Omit<Timing, 'wall'>,
  interval: Millis,
  onOver: () => void,
  limit: () => Millis | undefined,
) {
  const timer = createTimer(schedule, now, look);
  let latest = 0;
  let isStopped = false;

  return {
    restart(this: void): void {
      if (isStopped || limit() === undefined) return;
      latest = now();
      timer.setEarliest(interval);
    },
    stop(this: void): void {
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

type RecordKind = 'klog' | 'other';

/** Latin1; fatal klog records of journald (as JSON) and of a syslog have these: else only their first letter shows them. */
export const fatalNeedles: readonly string[] = ['"MESSAGE":"F', 'kube-proxy['];

export function isFatal(text: string): boolean {
  return text.startsWith('F') && hasKlogHeader(text);
}

/** Returns undefined for a line that begins no record. bird writes no stamp, logrus none without a terminal. */
function headerOf(text: string): RecordKind | undefined {
  if (hasKlogHeader(text)) return 'klog';
  const isOther = text.startsWith('{') || stamp.test(text) || hasLogrusPairs(text) || /^bird6?: /.test(text);
  return isOther ? 'other' : undefined;
}

/** Whether a line without a header goes on with the record. klog puts a tab or four spaces before it, older releases nothing. */
function continues(kind: RecordKind, text: string): boolean {
  return kind === 'klog' || text.startsWith(' ') || text.startsWith('\t');
}

/** ` > ipFamily="IPv4"` is the last line of a klog record, unless it opens the next value of several lines: ` > rules=<`. */
function closes(kind: RecordKind, text: string): boolean {
  return kind === 'klog' && /^ >(?: |$)/.test(text) && !/=<?$/.test(text);
}

/** klog begins a value of several lines so, and what matters may stand in them. */
export const opensBlock = '=<';
