import type { LogLine } from '../../model/log-line.ts';
import { createRecordJoiner, type RecordJoiner, type RecordLine } from '../records/joiner.ts';
import { isFatal, opensBlock } from '../records/record-kinds.ts';
import type { Json, Position, Timing } from '../source.ts';
import { createLineStarts } from './line-starts.ts';
import type { Fields } from './export-format.ts';

export interface UnitsOptions {
  /** The unit whose records are read: `k3s.service`. */
  names: readonly string[];
  saved: Json | undefined;
  take: (line: LogLine) => void;
  timing: Timing;
}

/** Reads what units wrote into the journal, which has a record for each line. */
export interface Units {
  /** The state to be saved: the records that wait, by unit, and `streams`, as in `createLineStarts`. Undefined if there are none. */
  readonly position: Position | undefined;
  /** Takes a record of a unit and returns true. `hasWords`: some that matter stand in it. */
  take: (record: Fields, number: number, hasWords: () => boolean) => boolean;
  forget: () => void;
  start: () => void;
  stop: () => void;
}

/** Stands in every record of a unit, because journald sets it by cgroup. A record that has it only in its message is read in vain. */
export const unitMark = '_SYSTEMD_UNIT=';

/** journald was started, or suppressed messages of a service: either way it may have thrown the beginning of a line away. */
export const driverMark = '_TRANSPORT=driver';

interface UnitLine extends RecordLine {
  host: string;
}

export function createUnits({ names, saved, take, timing }: UnitsOptions): Units {
  const earlier = (saved ?? {}) as Position;
  const joiners = new Map<string, RecordJoiner<UnitLine>>();
  const counts = { cut: 0, dangling: 0 };
  // Before the first record of a stream may have been the beginning of its line.
  const starts = createLineStarts(earlier['streams'], false);
  for (const name of names) {
    const onRecord = (record: UnitLine): void => take(lineOf(name, record));
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
      if (record['_TRANSPORT'] === 'driver') starts.forget();
      const name = record['_SYSTEMD_UNIT'] ?? '';
      const joiner = joiners.get(name);
      if (joiner === undefined) return false;
      // The rest of a line is as good as anybody's: the kubelet quotes what containers write.
      if (!starts.take(record)) return true;
      const { MESSAGE: message, _HOSTNAME: host = '', __REALTIME_TIMESTAMP: stamp } = record;
      if (message === undefined) return true;
      // The next records may have the important part.
      const matters = hasWords() || isFatal(message) || message.endsWith(opensBlock);
      if (!matters && !joiner.isOpen) return true;
      const micros = Number(stamp);
      const time = micros > 0 ? micros / 1000 : undefined;
      const text = Buffer.from(message, 'latin1').toString('utf8');
      joiner.take({ text, time, number, host }, false, matters);
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
