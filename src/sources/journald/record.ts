import type { LogLine, Millis } from '../../model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import type { Origin } from '../envelopes/envelope.ts';

/** Records bring their own times. */
const noClock = createClock({ latest: 0, boot: 0 });

/** A record as `journalctl -o json` prints it, as latin1: one character a byte. `undefined` if it is none. */
export function readRecord(
  record: string,
  number: number,
  present: Millis,
): { line: LogLine; origin: Origin } | undefined {
  const { text, time, timeIsExact, host, program, origin, layers } = readEnvelope(record, noClock);
  if (layers[0] !== 'journald JSON') return undefined;
  const isExact = time !== undefined && timeIsExact;
  return {
    line: { source: 'journal', line: number, text, time: time ?? present, timeIsExact: isExact, host, program },
    origin,
  };
}

export function cursorOf(record: string): string | undefined {
  return valueOf(record, '__CURSOR') || undefined;
}

/** A field whose value has no quotes. Quotes inside a value are escaped, so that nothing else in a record can look like one. */
export function valueOf(record: string, field: string): string | undefined {
  const key = `"${field}":"`;
  const start = record.indexOf(key);
  if (start < 0) return undefined;
  const end = record.indexOf('"', start + key.length);
  return end < 0 ? undefined : record.slice(start + key.length, end);
}

/** `s=…;i=…;b=…;m=…;t=…;x=…`: file series, number, boot, times, hash. The first two change when /run's records move to /var. */
export function isSameRecord(cursor: string, other: string): boolean {
  return cursor === other || contentOf(cursor) === contentOf(other);
}

function contentOf(cursor: string): string {
  const start = cursor.indexOf(';b=');
  return start < 0 ? cursor : cursor.slice(start);
}
