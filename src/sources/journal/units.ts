import type { LogLine, Millis } from '../../model.ts';
import { createRecordJoiner, type JoinedRecord, opensBlock, type RecordJoiner } from '../programs/record-joiner.ts';
import type { Schedule } from '../schedule.ts';
import type { Json, Position } from '../source.ts';

export interface UnitsOptions {
  /** Whose records are read: `k3s.service`. */
  names: readonly string[];
  /** `position` of an earlier run. */
  saved: Json | undefined;
  onLine: (line: LogLine) => void;
  /** As in `createRecordJoiner`. */
  patience?: Millis;
  now: () => Millis;
  schedule: Schedule;
}

/** What units wrote into the journal, which has a record for each line. */
export interface Units {
  /** What `saved` is to be: the records that wait, by unit. Undefined if there are none. */
  readonly position: Position | undefined;
  /**
   * True if it is a record of one of the units, as `journalctl -o json` prints it (latin1): that is taken. `hasWords`: whether
   * some of the words that matter stand in it, asked for records of these units alone.
   */
  take: (record: string, number: number, hasWords: () => boolean) => boolean;
  start: () => void;
  stop: () => void;
}

/**
 * Stands in every record of a unit, and in none of the kernel's. journald sets it by the cgroup of who writes; nobody can write it
 * into a message, where quotes are escaped.
 */
export const unitMark = '"_SYSTEMD_UNIT":"';

/** At the end of a message: what matters may stand in the next records. */
const opensMore = `${opensBlock}"`;

export function createUnits({ names, saved, onLine, patience, now, schedule }: UnitsOptions): Units {
  const earlier = (saved ?? {}) as Position;
  const joiners = new Map<string, RecordJoiner>();
  const hosts = new Map<string, string | undefined>();
  for (const name of names) {
    const options = { saved: earlier[name], now, schedule, ...(patience !== undefined && { patience }) };
    joiners.set(name, createRecordJoiner({ ...options, onRecord: (record) => onLine(lineOf(name, record)) }));
  }

  return {
    get position() {
      const open = [...joiners].filter(([, { isOpen }]) => isOpen);
      return open.length === 0 ? undefined : Object.fromEntries(open.map(([name, { position }]) => [name, position]));
    },
    take(record, number, hasWords) {
      if (joiners.size === 0) return false;
      const name = unitOf(record);
      const joiner = joiners.get(name);
      if (joiner === undefined) return false;
      const isTelling = hasWords() || record.includes(opensMore);
      if (!isTelling && !joiner.isOpen) return true;
      const fields = fieldsOf(record);
      const text = textOf(fields['MESSAGE']);
      if (text === undefined) return true;
      const host = fields['_HOSTNAME'];
      hosts.set(name, typeof host === 'string' && host !== '' ? host : undefined);
      const micros = Number(fields['__REALTIME_TIMESTAMP']);
      joiner.take({ text, time: micros > 0 ? micros / 1000 : undefined, number }, isTelling);
      return true;
    },
    start: () => joiners.forEach((joiner) => joiner.start()),
    stop: () => joiners.forEach((joiner) => joiner.stop()),
  };

  function lineOf(name: string, { text, time, number }: JoinedRecord): LogLine {
    const timeIsExact = time !== undefined;
    const program = name.replace(/\.service$/, '');
    return { source: 'journal', line: number, text, time: time ?? now(), timeIsExact, host: hosts.get(name), program };
  }
}

/** '' if it is of none. Backslashes are escaped, as in `my\x2dproxy.service`; quotes are in no name of a unit. */
function unitOf(record: string): string {
  const at = record.indexOf(unitMark);
  if (at < 0) return '';
  const start = at + unitMark.length;
  return record.slice(start, record.indexOf('"', start)).replaceAll('\\\\', '\\');
}

function fieldsOf(record: string): { readonly [key: string]: Json } {
  try {
    // JSON is UTF-8, the record so far one character a byte.
    return JSON.parse(Buffer.from(record, 'latin1').toString('utf8')) as { readonly [key: string]: Json };
  } catch {
    return {};
  }
}

/** Bytes that are no UTF-8 come as an array of numbers. */
function textOf(message: Json | undefined): string | undefined {
  if (typeof message === 'string') return message;
  if (!Array.isArray(message) || !message.every((byte) => typeof byte === 'number')) return undefined;
  return Buffer.from(message).toString('utf8');
}
