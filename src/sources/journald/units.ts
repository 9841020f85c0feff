import type { LogLine } from '../../model/log-line.ts';
import { createRecordJoiner, type RecordJoiner, type RecordLine } from '../records/joiner.ts';
import { opensBlock } from '../records/record-kinds.ts';
import type { Json, Position, Timing } from '../source.ts';
import { createLineStarts } from './line-starts.ts';
import { valueOf } from './record.ts';

export interface UnitsOptions {
  /** Whose records are read: `k3s.service`. */
  names: readonly string[];
  saved: Json | undefined;
  onLine: (line: LogLine) => void;
  timing: Timing;
}

/** What units wrote into the journal, which has a record for each line. */
export interface Units {
  /** What `saved` is to be: the records that wait, by unit, and `streams`, as in `createLineStarts`. Undefined if there are none. */
  readonly position: Position | undefined;
  /** Takes a record of a unit (`journalctl -o json`, latin1) and returns true. `hasWords`: some that matter stand in it. */
  take: (record: string, number: number, hasWords: () => boolean) => boolean;
  forget: () => void;
  start: () => void;
  stop: () => void;
}

/** In every record of a unit, and in none of the kernel's: journald sets it by cgroup, and in a message quotes are escaped. */
export const unitMark = '"_SYSTEMD_UNIT":"';

/** journald was started, or suppressed messages of a service: either way it may have thrown the beginning of a line away. */
export const driverMark = '"_TRANSPORT":"driver"';

/** At the end of a message: what matters may stand in the next records. */
const opensMore = `${opensBlock}"`;

interface UnitLine extends RecordLine {
  host: string;
}

export function createUnits({ names, saved, onLine, timing }: UnitsOptions): Units {
  const earlier = (saved ?? {}) as Position;
  const joiners = new Map<string, RecordJoiner<UnitLine>>();
  const counts = { cut: 0, dangling: 0 };
  // Before the first record of a stream may have been the beginning of its line.
  const starts = createLineStarts(earlier['streams'], false);
  for (const name of names) {
    const onRecord = (record: UnitLine): void => onLine(lineOf(name, record));
    joiners.set(name, createRecordJoiner({ saved: earlier[name], onRecord, timing, counts }));
  }

  return {
    get position() {
      const open = [...joiners].filter(([, { isOpen }]) => isOpen);
      const records = open.map(([name, { position }]): [string, Json] => [name, position]);
      const { position: streams } = starts;
      if (streams !== undefined) records.push(['streams', streams]);
      return records.length === 0 ? undefined : Object.fromEntries(records);
    },
    take(record, number, hasWords) {
      if (joiners.size === 0) return false;
      if (record.includes(driverMark)) starts.forget();
      const name = unitOf(record);
      const joiner = joiners.get(name);
      if (joiner === undefined) return false;
      // The rest of a line is as good as anybody's: the kubelet quotes what containers write.
      if (!starts.take(record)) return true;
      const matters = hasWords() || record.includes(opensMore);
      if (!matters && !joiner.isOpen) return true;
      const fields = fieldsOf(record);
      const text = textOf(fields['MESSAGE']);
      if (text === undefined) return true;
      const host = fields['_HOSTNAME'];
      const micros = Number(fields['__REALTIME_TIMESTAMP']);
      const time = micros > 0 ? micros / 1000 : undefined;
      joiner.take({ text, time, number, host: typeof host === 'string' ? host : '' }, false, matters);
      return true;
    },
    forget: () => starts.forget(),
    start: () => joiners.forEach((joiner) => joiner.start()),
    stop: () => joiners.forEach((joiner) => joiner.stop()),
  };

  function lineOf(name: string, { text, time, number, host }: UnitLine): LogLine {
    const [timeIsExact, program] = [time !== undefined, name.replace(/\.service$/, '')];
    const stamp = time ?? timing.wall();
    return { source: 'journal', line: number, text, time: stamp, timeIsExact, host: host || undefined, program };
  }
}

/** '' if it is of none. Backslashes are escaped, as in `my\x2dproxy.service`; quotes are in no name of a unit. */
function unitOf(record: string): string {
  return valueOf(record, '_SYSTEMD_UNIT')?.replaceAll('\\\\', '\\') ?? '';
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
