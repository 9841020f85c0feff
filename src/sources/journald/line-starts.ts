import type { Json } from '../source.ts';
import type { Fields } from './export-format.ts';

/** Knows which records of a service's standard output begin a line of it. */
export interface LineStarts {
  /** The state to be saved: the streams whose next record begins a line; undefined if there are none. */
  readonly position: Json | undefined;
  /** Whether this record begins a line. To be asked for every record, in order. */
  take: (record: Fields) => boolean;
  /** Records may have been missed: how the last one of each stream has ended is no longer known. */
  forget: () => void;
}

/** A service has one stream for each of its starts. What is forgotten costs the first record of a stream. */
const maxStreams = 64;

/**
 * journald ends a record of a stream also at a NUL byte, at LineMax=, and where another process goes on with the line. Then the
 * record has `_LINE_BREAK` (systemd.journal-fields(7); since systemd 235, `pid-change` since 246), and the *next* one of the same
 * `_STREAM_ID` begins within a line, where who is quoted may have written anything. Only what is sent line by line has a stream.
 * `ifUnknown`: the answer for the first record of a stream, before which may have been anything.
 */
export function createLineStarts(saved: Json | undefined, ifUnknown: boolean): LineStarts {
  const streams = Array.isArray(saved) ? (saved as Json[]) : [];
  /** Whether the next record begins a line, by stream, the one that wrote last at the end. */
  const begins = new Map(streams.filter((id) => typeof id === 'string').map((id) => [id, true]));

  return {
    get position() {
      const whole = [...begins].filter(([, isWhole]) => isWhole).map(([id]) => id);
      return whole.length === 0 ? undefined : whole;
    },
    take(record) {
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
    forget: () => begins.clear(),
  };
}

/** Stands in every saved record of a stream: how one has ended decides on the next. */
export const streamMark = '"_STREAM_ID":"';

/** Gives `take` the fields of a record that was saved with `journalctl -o json`. */
export function streamFieldsOf(json: string): Fields {
  const [stream, lineBreak] = [valueOf(json, '_STREAM_ID'), valueOf(json, '_LINE_BREAK')];
  return {
    ...(stream !== undefined && { _STREAM_ID: stream }),
    ...(lineBreak !== undefined && { _LINE_BREAK: lineBreak }),
  };
}

/** A field whose value has no quotes. Quotes inside a value are escaped, so that nothing else in a record can look like one. */
function valueOf(record: string, field: string): string | undefined {
  const key = `"${field}":"`;
  const start = record.indexOf(key);
  if (start < 0) return undefined;
  const end = record.indexOf('"', start + key.length);
  return end < 0 ? undefined : record.slice(start + key.length, end);
}
