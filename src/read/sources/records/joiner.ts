import * as z from 'zod/mini';
import { hasKlogHeader, hasLogrusPairs, readLogrusHeader } from '../../../base/log-formats/go-loggers.ts';
import { stamp } from '../../../base/log-formats/rfc3339.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { createTimer } from '../../../base/platform/timer.ts';
import type { JsonValue, Timing } from '../source.ts';

const recordLine = z.object({
  text: z.string(),
  time: z.optional(z.number()),
  number: z.number(),
  /** The name of the node, in a journal. */
  host: z.optional(z.string()),
});

const openRecord = z.object({
  line: recordLine,
  kind: z.enum(['klog', 'other']),
  /** The record was too long and has been handed over, so lines that continue it are dropped. */
  isCut: z.boolean(),
});

const savedLines = z.object({
  part: z.catch(z.nullable(recordLine), null),
  open: z.catch(z.nullable(openRecord), null),
});

/** A physical line, or a record: its lines joined by `\n`, with the time and number of the first one. */
export type RecordLine = z.infer<typeof recordLine>;
type Open = z.infer<typeof openRecord>;
type RecordKind = Open['kind'];

export interface RecordJoinerOptions {
  saved: JsonValue | undefined;
  onRecord: (record: RecordLine) => void;
  /** How long a record waits for a further line before it counts as complete. Default: 500. */
  timeout?: Millis | undefined;
  timing: Omit<Timing, 'wall'>;
  counts: JoinerCounts;
}

export interface RecordJoiner {
  /** Whether lines wait. The next ones may belong to their record, so they are needed even if they do not matter by themselves. */
  readonly isOpen: boolean;
  /** The lines that wait; null if there are none. Save them together with the position after the last line that was taken. */
  readonly position: JsonValue;
  /** `isPartial`: the rest of this line comes with the next one. `matters`: a record that begins with this line is of interest. */
  take(line: RecordLine, isPartial: boolean, matters: boolean): void;
  start: () => void;
  /** Hands over lines that have waited too long, judged by the stamps of the last line and `time`, because a saved log has no timer. */
  finishBefore(time: Millis): void;
  /** The caller may call `stop` within `onRecord`. Lines that still wait then are part of the position. */
  finish: () => void;
  stop: () => void;
}

export interface JoinerCounts {
  cut: number;
  /** Lines whose rest did not come in time. */
  dangling: number;
}

const maxLength = 64 * 1024;
const partTimeout: Millis = 5000;

/** Joins the parts of a line, then lines to records. Lines that wait are part of the position, so that they need not be read again. */
export function createRecordJoiner(options: RecordJoinerOptions): RecordJoiner {
  const { onRecord, timeout = 500, counts } = options;
  let { part, open } = savedLines.safeParse(options.saved).data ?? { part: null, open: null };
  /** The stamp of the last line. */
  let latest = open?.line.time;
  const quiet = createQuietPeriod(options.timing, timeout, finish, longestWait);

  return {
    get isOpen() {
      return part !== null || open !== null;
    },
    get position(): JsonValue {
      if (part === null && open === null) return null;
      return { part, open } as unknown as JsonValue;
    },
    take(line: RecordLine, isPartial: boolean, matters: boolean): void {
      if (part === null && open === null && !matters) return;
      latest = line.time ?? latest;
      if (part === null) part = line;
      else if (part.text.length <= maxLength) part = { ...part, text: part.text + line.text };
      if (!isPartial) takeLine(part, matters);
      quiet.restart();
    },
    start: quiet.restart,
    finishBefore(time: Millis): void {
      if (!quiet.isStopped && time - (latest ?? time) > (longestWait() ?? Infinity)) finish();
    },
    finish,
    stop: quiet.stop,
  };

  function longestWait(): Millis | undefined {
    if (part !== null) return partTimeout;
    return open?.isCut === false ? timeout : undefined;
  }

  function takeLine(line: RecordLine, matters: boolean): void {
    part = null;
    const kind = headerOf(line.text);
    if (kind === undefined && open !== null && continues(open.kind, line.text)) return append(open, line.text);
    handOver(matters ? { line, kind: kind ?? 'other', isCut: false } : null);
    if (open !== null && !quiet.isStopped && line.text.length > maxLength) cut(open);
  }

  function append(record: Open, text: string): void {
    if (!record.isCut) {
      record.line = { ...record.line, text: `${record.line.text}\n${text}` };
      if (record.line.text.length > maxLength) cut(record);
    }
    if (text.length <= maxLength && closes(record.kind, text)) handOver(null);
  }

  function cut(record: Open): void {
    counts.cut++;
    const { line } = record;
    record.isCut = true;
    record.line = { ...line, text: '' };
    onRecord({ ...line, text: line.text.slice(0, maxLength) });
  }

  function handOver(next: Open | null): void {
    const record = open;
    open = next;
    if (record?.isCut === false) onRecord(record.line);
  }

  function finish(): void {
    if (part !== null && !quiet.isStopped) {
      counts.dangling++;
      takeLine(part, true);
    }
    if (open?.isCut === false && !quiet.isStopped) handOver(null);
  }
}

/** Calls `onOver` when nothing was added for `limit`. Looks every `interval`, because a timer for each line would be expensive. */
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
    get isStopped() {
      return isStopped;
    },
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

/** Needles (latin1) in journald's JSON and in a syslog. Otherwise only the first letter would identify fatal klog records. */
export const fatalNeedles: readonly string[] = ['"MESSAGE":"F', 'kube-proxy['];

/**
 * Appears in a line whose value continues in the next lines: at its end, before a quote or an escaped line break within JSON, and as Go's
 * JSON spells it. Each has eight characters, because shorter ones are searched one by one.
 */
export const blockNeedles: readonly string[] = ['\n', '\r', '"', '\\']
  .map((end) => `" err=<${end}`)
  .concat(String.raw`" err=\u003c`);

export function isFatal(text: string): boolean {
  return text.startsWith('F') && hasKlogHeader(text);
}

/** Returns undefined for a line that does not begin a record. bird writes no stamp, and logrus writes none without a terminal. */
function headerOf(text: string): RecordKind | undefined {
  if (hasKlogHeader(text)) return 'klog';
  // After a fence of Markdown, and in the next file of `tail`, another writer follows.
  const isOther =
    text.startsWith('{') ||
    stamp.test(text) ||
    hasLogrusPairs(text) ||
    readLogrusHeader(text) !== undefined ||
    /^(?:bird6?: |`{3}|~{3}|==> )/.test(text);
  return isOther ? 'other' : undefined;
}

/** Matches nft's errors and the commands that it repeats below them. felix logs them as nft prints them. */
const ofNft = /^(?:\/dev\/stdin:\d|(?:add|create|delete|destroy|flush|insert|replace) [a-z]{3,9} ip6? )/;

/** klog begins further lines of a record with a tab or four spaces, but older releases with nothing. */
function continues(kind: RecordKind, text: string): boolean {
  return kind === 'klog' || text.startsWith(' ') || text.startsWith('\t') || ofNft.test(text);
}

/** ` > ipFamily="IPv4"` ends a klog record; ` > rules=<` does not, because it opens another value of several lines. */
function closes(kind: RecordKind, text: string): boolean {
  return kind === 'klog' && /^ >(?: |$)/.test(text) && !/=<?$/.test(text);
}

/** The end of a line after which klog writes a value of several lines. The value may contain something that matters. */
export const opensBlock = '=<';
