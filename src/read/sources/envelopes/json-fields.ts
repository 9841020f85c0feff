/** Reads the time, host and program of a log line from the JSON objects around it. */
import type { Millis, MissingInStamp } from '../../../base/model/log-line.ts';
import { at } from '../../../base/platform/json.ts';
import type { StampClock } from './clock.ts';
import { newEnvelope } from './envelope.ts';
import { createKeyMemo } from './key-memo.ts';
import { readNumericStamp } from './stamps.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;

/** A time in a record. `exact`: as in `Envelope`. */
interface RecordTime {
  time: Millis;
  exact: boolean;
  lacks?: MissingInStamp | undefined;
}

/** Names of the time at which a line was written, the surest first. */
const timeNames: readonly RegExp[] = [
  /^(?:_source_)?_?_?realtime_timestamp$/,
  /^(?:time|timestamp|@timestamp|@time|_time|date|datetime|ts|t|start_time|talos-time|timeunixnano|timegenerated(?: \[utc\])?)$/,
  /(?:time|stamp|date|_ts|^ts_|tsns|^\$date)/,
];
/** Times at which a collector took, stored or changed a record. */
const ofCollector =
  /ingest|receive|observed|index|insert|creat|collect|upload|process|modif|arriv|expire|monotonic|time_?zone|timeout/;
/** The least number that counts as a time; smaller numbers are seconds since the boot. */
const firstYear = Date.UTC(2000, 0) / 1000;
const lastYear = Date.UTC(2100, 0) / 1000;

/** Returns the time that an object gives, by the names of its values and by their size. */
export function timeIn(record: JsonRecord, clock: StampClock): RecordTime | undefined {
  const keys = Object.keys(record);
  const ranks = keys.map(rankOf);
  for (let rank = 0; rank < timeNames.length; rank++) {
    for (let index = ranks.indexOf(rank); index >= 0; index = ranks.indexOf(rank, index + 1)) {
      const found = timeOf(record[keys[index] as string], clock);
      if (found !== undefined) return found;
    }
  }
  // A tuple has no names: Loki's `["1795226670836530000", "line"]`.
  if ('0' in record && '1' in record)
    for (const value of Object.values(record)) {
      const stamp: unknown = Array.isArray(value) ? value[0] : value;
      const found = typeof stamp === 'string' || typeof stamp === 'number' ? timeOf(stamp, clock) : undefined;
      if (found?.exact === true) return found;
    }
  return undefined;
}

/** Returns the index of the first of `timeNames` that the key has; -1 if it names no time. */
const rankOf = createKeyMemo((key) => {
  const name = key.toLowerCase();
  const rank = timeNames.findIndex((names) => names.test(name));
  return rank > 0 && ofCollector.test(name) ? -1 : rank;
});

/** Reads a stamp as text or number, `{"seconds":…,"nanos":…}`, and one value in an object (`{"$date":…}`). */
export function timeOf(stamp: unknown, clock: StampClock): RecordTime | undefined {
  if (typeof stamp === 'number') return ofNumber(stamp, clock);
  if (typeof stamp === 'string') {
    if (/^\d{9,19}(?:\.\d{1,9})?$/.test(stamp)) return ofNumber(Number(stamp), clock);
    const inner = newEnvelope(stamp);
    readNumericStamp(inner, clock);
    return inner.time === undefined
      ? undefined
      : { time: inner.time, exact: inner.timeIsExact, lacks: inner.timeLacks };
  }
  if (typeof stamp !== 'object' || stamp === null) return undefined;
  const seconds = at(stamp, 'seconds') ?? at(stamp, 'sec');
  if (seconds !== undefined) {
    const whole = timeOf(Number(seconds), clock);
    const nanos = Number(at(stamp, 'nanos') ?? at(stamp, 'nsec') ?? 0);
    return whole && { ...whole, time: whole.time + nanos / 1e6 };
  }
  const [only, ...others] = Object.values(stamp);
  return others.length === 0 && typeof only !== 'object' ? timeOf(only, clock) : undefined;
}

/** The size of a number since 1970 shows whether it counts seconds (Fluent Bit), milli-, micro- or nanoseconds. */
function ofNumber(stamp: number, clock: StampClock): RecordTime | undefined {
  for (const unit of [1, 1e3, 1e6, 1e9]) {
    const seconds = stamp / unit;
    if (seconds >= firstYear && seconds < lastYear)
      return { time: unit === 1e9 ? stamp / 1e6 : seconds * 1000, exact: true };
  }
  // dmesg --json has seconds since the boot.
  return stamp > 0 && stamp < firstYear && !Number.isInteger(stamp) ? clock.sinceBoot(stamp) : undefined;
}

const hostNames = [
  '_HOSTNAME',
  'hostname',
  'host',
  'node',
  'nodename',
  'node_name',
  'Computer',
  'host.name',
  'host_name',
];

/** Returns the host that an object names. A collector that runs elsewhere names its own, so names within a line go before. */
export function hostIn(record: JsonRecord): string | undefined {
  for (const name of hostNames) {
    const value = record[name];
    const host = typeof value === 'object' ? (at(value, 'name') ?? at(value, 'hostname')) : value;
    if (typeof host === 'string' && host !== '' && host.length < 256) return host;
  }
  const labels = record['labels'] ?? record['stream'] ?? record['metric'];
  return typeof labels === 'object' && labels !== null ? hostIn(labels as JsonRecord) : undefined;
}

const programNames = ['ident', 'appname', 'app_name', 'programname', 'SYSLOG_IDENTIFIER', 'syslog_identifier'];

/** Returns the program that a collector has taken from a syslog. */
export function programIn(record: JsonRecord): string | undefined {
  for (const name of programNames) {
    const program = record[name];
    if (typeof program === 'string' && program !== '') return program;
  }
  return undefined;
}
