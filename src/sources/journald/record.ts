import { isUtf8 } from 'node:buffer';
import type { LogLine, Millis } from '../../model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import type { Origin } from '../envelopes/envelope.ts';
import { readJournalFields } from '../envelopes/read-envelope.ts';
import type { Fields } from './export-format.ts';

/** Records bring their own times. */
const noClock = createClock({ latest: 0, boot: 0 });

const notAscii = /[\x80-\xff]/;

/** `undefined` if it is no record of a message. */
export function readRecord(
  fields: Fields,
  number: number,
  present: Millis,
): { line: LogLine; origin: Origin } | undefined {
  const { MESSAGE: message, __CURSOR: cursor } = fields;
  if (message === undefined || cursor === undefined) return undefined;
  const { text, time, timeIsExact, host, program, origin } = readJournalFields(
    { ...fields, MESSAGE: textOf(message) },
    noClock,
  );
  const isExact = time !== undefined && timeIsExact;
  return {
    line: { source: 'journal', line: number, text, time: time ?? present, timeIsExact: isExact, host, program },
    origin,
  };
}

/** A value that is no UTF-8 stays as it is: one character a byte. */
function textOf(value: string): string {
  if (!notAscii.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** `s=…;i=…;b=…;m=…;t=…;x=…`: file series, number, boot, times, hash. The first two change when /run's records move to /var. */
export function isSameRecord(cursor: string, other: string): boolean {
  return cursor === other || contentOf(cursor) === contentOf(other);
}

function contentOf(cursor: string): string {
  const start = cursor.indexOf(';b=');
  return start < 0 ? cursor : cursor.slice(start);
}
