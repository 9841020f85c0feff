import type { Millis } from '../../model/log-line.ts';
import { fractionOf, instantOf } from '../envelopes/date.ts';

export type Stream = 'stdout' | 'stderr';

/** What one physical line of a container's log says. */
export interface ContainerRecord {
  /** Nanoseconds are a fraction, as far as a number holds them. */
  time: Millis;
  stream: Stream;
  /** The container's line goes on in the next record of this stream. */
  partial: boolean;
  /** latin1, one character a byte, without newline. */
  text: string;
}

/** `2026-11-21T10:00:00.123456789Z` */
const stamp = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))$/;
/** Stamp, stream and tags of a CRI record. Of the tags only the first says something as yet: P or F. */
const cri = /^(\d{4}-[\d:T.Z+-]{10,40}) (stdout|stderr) ([^ :]{1,16})(?::[^ ]{0,256})?(?: |$)/;

/**
 * Reads a line as container runtimes write it: CRI (Kubernetes, KEP "CRI container log format") or Docker's json-file.
 * Undefined for what is neither. Never throws.
 */
export function readRecord(line: string): ContainerRecord | undefined {
  return line.startsWith('{') ? readDocker(line) : readCri(line);
}

/** latin1 text as the UTF-8 that it is; bytes that are none become U+FFFD. */
export function decodeText(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}

function readCri(line: string): ContainerRecord | undefined {
  const found = cri.exec(line);
  if (!found) return undefined;
  const [whole, time = '', stream, tag] = found;
  return recordOf(time, stream, tag === 'P', line.slice(whole.length));
}

function readDocker(line: string): ContainerRecord | undefined {
  let record: { log?: unknown; stream?: unknown; time?: unknown };
  try {
    record = JSON.parse(decodeText(line)) as typeof record;
  } catch {
    return undefined;
  }
  const { log, stream, time } = record;
  if (typeof log !== 'string' || typeof time !== 'string' || typeof stream !== 'string') return undefined;
  const partial = !log.endsWith('\n');
  return recordOf(time, stream, partial, encodeText(partial ? log : log.slice(0, -1)));
}

function recordOf(
  time: string,
  stream: string | undefined,
  partial: boolean,
  text: string,
): ContainerRecord | undefined {
  const instant = readStamp(time);
  if (instant === undefined || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  return { time: instant, stream, partial, text };
}

function readStamp(text: string): Millis | undefined {
  const found = stamp.exec(text);
  if (!found) return undefined;
  const [, year, month, date, hours, minutes, seconds, fraction, sign, offsetHours, offsetMinutes] = found;
  const local = instantOf(Date.UTC, year, month, date, hours, minutes, seconds);
  if (local === undefined) return undefined;
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60_000;
  return local + fractionOf(fraction) + (sign === '-' ? offset : -offset);
}

/** JSON is text already; everything here is bytes. */
function encodeText(text: string): string {
  return /[^\x00-\x7f]/.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}
