import type { LogLine } from '../../../base/model/log-line.ts';
import { createRecordJoiner, isFatal, opensBlock, type RecordJoiner, type RecordLine } from '../records/joiner.ts';
import type { JsonValue, Position, Timing } from '../source.ts';
import type { JournalFields } from './export-format.ts';

interface UnitsOptions {
  names: readonly string[];
  saved: JsonValue | undefined;
  take: (line: LogLine) => void;
  timing: Timing;
}

/** Every record of a unit has it, because journald sets it by cgroup. A record with this text only in its message is read and ignored. */
export const unitMark = '_SYSTEMD_UNIT=';

/** Records of journald itself contain this. When journald starts or suppresses messages, the beginning of a line may be lost. */
export const driverMark = '_TRANSPORT=driver';

export interface JournalUnits {
  /** The state to save: records that wait, by unit, and `streams` of `createLineStarts`. */
  readonly position: Position | undefined;
  /** Takes a record of a unit; returns false for other records. `hasWords`: whether the record contains words that matter. */
  take(record: JournalFields, number: number, hasWords: () => boolean): boolean;
  forget: () => void;
  start: () => void;
  stop: () => void;
}

/** Reads the output of units in the journal, which has one record for each line. */
export function createUnits({ names, saved, take, timing }: UnitsOptions): JournalUnits {
  const earlier = (saved ?? {}) as Position;
  const joiners = new Map<string, RecordJoiner>();
  const counts = { cut: 0, dangling: 0 };
  // The first record of a stream may be the rest of a line.
  const starts = createLineStarts(earlier['streams'], false);
  for (const name of names) {
    const onRecord = (record: RecordLine): void => take(lineOf(name, record));
    joiners.set(name, createRecordJoiner({ saved: earlier[name], onRecord, timing, counts }));
  }

  return {
    get position(): Position | undefined {
      const open = [...joiners].filter(([, { isOpen }]) => isOpen);
      const records = open.map(([name, { position }]): [string, JsonValue] => [name, position]);
      const { position: streams } = starts;
      if (streams !== undefined) records.push(['streams', streams]);
      return records.length === 0 ? undefined : Object.fromEntries(records);
    },
    take(record: JournalFields, number: number, hasWords: () => boolean): boolean {
      if (joiners.size === 0) return false;
      if (record['_TRANSPORT'] === 'driver') starts.forget();
      const name = record['_SYSTEMD_UNIT'] ?? '';
      const joiner = joiners.get(name);
      if (joiner === undefined) return false;
      // The rest of a line is not trusted: the kubelet quotes what containers write, so anybody may have written it.
      if (!starts.take(record)) return true;
      const { MESSAGE: message, _HOSTNAME: host = '', __REALTIME_TIMESTAMP: stamp } = record;
      if (message === undefined) return true;
      // The part that matters may come in the next records.
      const matters = hasWords() || isFatal(message) || message.endsWith(opensBlock);
      if (!matters && !joiner.isOpen) return true;
      const micros = Number(stamp);
      const time = micros > 0 ? micros / 1000 : undefined;
      const text = Buffer.from(message, 'latin1').toString('utf8');
      joiner.take({ text, time, number, host }, false, matters);
      return true;
    },
    forget: (): void => starts.forget(),
    start: (): void => joiners.forEach((joiner) => joiner.start()),
    stop: (): void => joiners.forEach((joiner) => joiner.stop()),
  };

  function lineOf(name: string, { text, time, number, host }: RecordLine): LogLine {
    const [timeIsExact, program] = [time !== undefined, name.replace(/\.service$/, '')];
    const stamp = time ?? timing.wall();
    return { source: 'journal', line: number, text, time: stamp, timeIsExact, host: host || undefined, program };
  }
}

/** A service has one stream for each of its starts. If a stream is forgotten, its next record is lost. */
const maxStreams = 64;

export interface LineStarts {
  readonly position: JsonValue | undefined;
  /** Returns whether this record begins a line. Call it for every record, in order. */
  take(record: JournalFields): boolean;
  /** Forgets all streams, because records may have been missed. */
  forget: () => void;
}

/**
 * Knows which records of a service's standard output begin a line. journald also ends a record at a NUL byte, at LineMax=, and where
 * another process continues the line. Such a record has `_LINE_BREAK` (systemd.journal-fields(7); since systemd 235, `pid-change` since
 * 246). The *next* record of the same `_STREAM_ID` then begins inside a line, where the quoted text may be anybody's. `ifUnknown`: the
 * answer for the first record of a stream.
 */
export function createLineStarts(saved: JsonValue | undefined, ifUnknown: boolean): LineStarts {
  const streams = Array.isArray(saved) ? (saved as JsonValue[]) : [];
  /** Whether the next record of each stream begins a line. The stream that wrote last is at the end. */
  const begins = new Map(streams.filter((id) => typeof id === 'string').map((id) => [id, true]));

  return {
    get position(): JsonValue | undefined {
      const whole = [...begins].filter(([, isWhole]) => isWhole).map(([id]) => id);
      return whole.length === 0 ? undefined : whole;
    },
    take(record: JournalFields): boolean {
      const stream = record['_STREAM_ID'];
      if (stream === undefined) return true;
      const isBeginning = begins.get(stream) ?? ifUnknown;
      begins.delete(stream);
      begins.set(stream, record['_LINE_BREAK'] === undefined);
      for (const oldest of begins.keys()) {
        if (begins.size <= maxStreams) break;
        begins.delete(oldest);
      }
      return isBeginning;
    },
    forget: (): void => begins.clear(),
  };
}

export const streamMark = '"_STREAM_ID":"';
const lineBreakMark = '"_LINE_BREAK":"';

/** Reads the fields that `createLineStarts` needs from a record in JSON. */
export function streamFieldsOf(json: string): JournalFields {
  const stream = json.startsWith('{') ? valueOf(json, streamMark) : undefined;
  if (stream === undefined) return {};
  const lineBreak = valueOf(json, lineBreakMark);
  return { _STREAM_ID: stream, ...(lineBreak !== undefined && { _LINE_BREAK: lineBreak }) };
}

/** Reads a field whose value has no quotes. Nothing else in a record looks like it, because quotes inside values are escaped. */
function valueOf(record: string, key: string): string | undefined {
  const start = record.indexOf(key);
  if (start < 0) return undefined;
  const end = record.indexOf('"', start + key.length);
  return end < 0 ? undefined : record.slice(start + key.length, end);
}
