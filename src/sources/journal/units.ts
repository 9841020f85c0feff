import type { LogLine, Millis } from '../../model.ts';
import { createRecordJoiner, type JoinedRecord, type RecordJoiner } from '../programs/record-joiner.ts';
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
  /** Some record waits for its other lines. */
  readonly isOpen: boolean;
  /** What `saved` is to be: the records that wait, by unit. Undefined if there are none. */
  readonly position: Position | undefined;
  /** True if it is a record of a unit, as `journalctl -o json` prints it (latin1): that is taken. `matters`: as in `RecordJoiner`. */
  take: (record: string, number: number, matters: boolean) => boolean;
  start: () => void;
  stop: () => void;
}

/** journald sets it by the cgroup of who writes; nobody can write it into a message, where quotes are escaped. */
const unitKey = /"_SYSTEMD_UNIT":"([^"\\]{1,256})"/;

export function createUnits({ names, saved, onLine, patience, now, schedule }: UnitsOptions): Units {
  const earlier = (saved ?? {}) as Position;
  const joiners = new Map<string, RecordJoiner>();
  const hosts = new Map<string, string | undefined>();
  for (const name of names) {
    const options = { saved: earlier[name], now, schedule, ...(patience !== undefined && { patience }) };
    joiners.set(name, createRecordJoiner({ ...options, onRecord: (record) => onLine(lineOf(name, record)) }));
  }

  return {
    get isOpen() {
      return openOnes().length > 0;
    },
    get position() {
      const open = openOnes();
      return open.length === 0 ? undefined : Object.fromEntries(open.map(([name, { position }]) => [name, position]));
    },
    take(record, number, matters) {
      if (joiners.size === 0) return false;
      const name = unitKey.exec(record)?.[1] ?? '';
      const joiner = joiners.get(name);
      if (joiner === undefined || (!matters && !joiner.isOpen)) return joiner !== undefined;
      const fields = fieldsOf(record);
      const text = textOf(fields['MESSAGE']);
      if (text === undefined) return true;
      const host = fields['_HOSTNAME'];
      hosts.set(name, typeof host === 'string' && host !== '' ? host : undefined);
      const micros = Number(fields['__REALTIME_TIMESTAMP']);
      joiner.take({ text, time: micros > 0 ? micros / 1000 : undefined, number }, matters);
      return true;
    },
    start: () => joiners.forEach((joiner) => joiner.start()),
    stop: () => joiners.forEach((joiner) => joiner.stop()),
  };

  function openOnes(): [string, RecordJoiner][] {
    return [...joiners].filter(([, { isOpen }]) => isOpen);
  }

  function lineOf(name: string, { text, time, number }: JoinedRecord): LogLine {
    const timeIsExact = time !== undefined;
    const program = name.replace(/\.service$/, '');
    return { source: 'journal', line: number, text, time: time ?? now(), timeIsExact, host: hosts.get(name), program };
  }
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
