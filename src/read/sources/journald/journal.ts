import { isUtf8 } from 'node:buffer';
import type { LogLine, Millis } from '../../../base/model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import type { Origin } from '../envelopes/envelope.ts';
import { readJournalFields } from '../envelopes/read-envelope.ts';
import { createNeedleSearch } from '../framing/needles.ts';
import { type Position, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';
import { createRecordBlocks, type JournalFields, readFields } from './export-format.ts';
import { createJournalctlRuns } from './journalctl-runs.ts';
import { journalctlArguments, type Spawn, spawnJournalctl } from './journalctl.ts';
import { createUnits, driverMark, unitMark } from './units.ts';

export interface JournalOptions extends Omit<JournalRecordsOptions, 'timing' | 'isStopped'> {
  /** The host's journal if it is mounted. Default: the journal that journalctl finds on this machine. */
  directory?: string;
  timing?: Timing;
  spawn?: Spawn;
}

/** If the clock is set back and the journal is emptied before a restart, records older than the last one read are missed. */
export function createJournal(options: JournalOptions): Source {
  const { directory, since, listener, timing = systemTiming, spawn = spawnJournalctl } = options;
  const names = options.units?.names ?? [];
  const records = createJournalRecords({ ...options, timing, isStopped: () => runs.state === 'stopped' });
  const blocks = createRecordBlocks({
    take(block, ends) {
      if (records.take(block, ends)) runs.succeeded();
    },
    tooLong: records.tooLong,
  });
  const runs = createJournalctlRuns({
    spawn,
    schedule: timing.schedule,
    listener,
    reader: {
      begin() {
        const cursor = records.resume();
        return journalctlArguments(directory, cursor === undefined ? { since } : { cursor }, names);
      },
      take: blocks.write,
      end(errorLines) {
        // journalctl repeats an unfinished record from the cursor on.
        blocks.reset();
        const isGone = errorLines.some((line) => line.includes('Failed to seek to cursor: Invalid argument'));
        return isGone && records.forgetPlace();
      },
    },
  });

  return {
    name: 'journal',
    get state() {
      return runs.state;
    },
    get position() {
      return records.position;
    },
    counts: records.counts,
    start() {
      records.start();
      runs.start();
    },
    stop() {
      records.stop();
      runs.stop();
    },
  };
}

interface JournalRecordsOptions {
  saved: Position | undefined;
  /** Without a saved position, older records than this are skipped. */
  since: Millis;
  listener: SourceListener;
  /** As in `createScanner`, for the kernel's records. */
  needles: readonly string[];
  /** Units (`k3s.service`) whose records are read, too, if they contain one of these needles. */
  units?: { names: readonly string[]; needles: readonly string[] };
  timing: Timing;
  isStopped: () => boolean;
}

const tooLongText = 'A record of the journal is longer than 1 MiB and was skipped; further ones are only counted';

const placeUnknownText = 'The journal does not know the place where it was read last: what came after it may be lost';
const recordGoneText = 'The journal no longer has the record that was read last: what came after it may be lost';

function createJournalRecords(options: JournalRecordsOptions) {
  const { saved, listener, timing, isStopped } = options;
  const names = options.units?.names ?? [];
  // The words of programs are searched only in records of units. A search in all records would make reading the kernel's a tenth slower.
  const search = createNeedleSearch([...options.needles, ...(names.length === 0 ? [] : [unitMark, driverMark])]);
  const hasWords = createWordSearch(options.units?.needles ?? []);
  let cursor = typeof saved?.['cursor'] === 'string' ? saved['cursor'] : undefined;
  const handOver = createHandOver(options, cursor === undefined);
  const units = createUnits({ names, saved: saved?.['units'], take: handOver.line, timing });
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  /** The cursor that journalctl was started with. Undefined once its first record has come, which an earlier run has already taken. */
  let resumedAt: string | undefined;

  return {
    counts,
    get position(): Position | undefined {
      return cursor === undefined ? undefined : { cursor, ...(units.position && { units: units.position }) };
    },
    resume: () => (resumedAt = cursor),
    take: takeRecords,
    tooLong(this: void, bytes: number): void {
      counts.lines++;
      counts.bytes += bytes;
      counts.tooLong++;
      units.forget();
      if (counts.tooLong === 1 && !isStopped()) listener.notice({ level: 'warn', key: 'too-long', text: tooLongText });
    },
    /** Notes that the journal has no record with the cursor of `resume`. Returns false if no such record is expected. */
    forgetPlace(): boolean {
      if (resumedAt === undefined) return false;
      cursor = undefined;
      lost(placeUnknownText);
      return true;
    },
    start: units.start,
    stop: units.stop,
  };

  /** Takes whole records, as in `createRecordBlocks`. Returns whether any of them is new. */
  function takeRecords(block: Buffer, ends: readonly number[]): boolean {
    if (isStopped()) return false;
    let start = resumedAt === undefined ? 0 : takeFirst(block, ends[0] as number, resumedAt);
    search.reset();
    let found = search.next(block, start, block.length);
    let isAny = false;
    for (const end of start === 0 ? ends : ends.slice(1)) {
      if (isStopped()) break;
      counts.lines++;
      counts.bytes += end - start;
      const matters = found >= 0 && found < end;
      if (matters) found = search.next(block, end, block.length);
      if (matters || end === block.length) {
        const fields = readFields(block, start, end);
        cursor = fields['__CURSOR'] ?? cursor;
        isAny = true;
        const from = start;
        if (!units.take(fields, counts.lines, () => hasWords(block, from, end)) && matters)
          handOver.record(fields, counts.lines);
      }
      start = end;
    }
    return isAny;
  }

  /** Skips the first record if an earlier run has taken it. Returns where the next record begins. */
  function takeFirst(block: Buffer, end: number, expected: string): number {
    const first = readFields(block, 0, end)['__CURSOR'];
    if (first === undefined) return 0;
    resumedAt = undefined;
    const isTaken = isSameRecord(first, expected);
    if (!isTaken) lost(recordGoneText);
    return isTaken ? end : 0;
  }

  function lost(reason: string): void {
    units.forget();
    listener.lost({ count: undefined, unit: 'records', time: timing.wall(), reason });
  }
}

function createWordSearch(literals: readonly string[]): (block: Buffer, start: number, end: number) => boolean {
  const search = createNeedleSearch(literals);
  return (block, start, end) => {
    search.reset();
    return search.next(block, start, end) >= 0;
  };
}

function createHandOver({ listener, since, timing, isStopped }: JournalRecordsOptions, isFirstRun: boolean) {
  return {
    record(fields: JournalFields, number: number): void {
      const read = readRecord(fields, number, timing.wall());
      if (read === undefined) {
        const text = `journalctl printed what is no record of the journal: ${JSON.stringify(fields).slice(0, 80)}`;
        return listener.notice({ level: 'warn', key: 'unreadable', text });
      }
      // `--since` compares the time when journald read the record, which may be later.
      if (isFirstRun && read.line.time < since) return;
      listener.take(read.line, read.origin);
    },
    line(this: void, line: LogLine): void {
      if (!isStopped() && !(isFirstRun && line.time < since)) listener.take(line, 'program');
    },
  };
}

const noClock = createClock({ latest: 0, boot: 0 });

const notAscii = /[\x80-\xff]/;

function readRecord(
  fields: JournalFields,
  number: number,
  present: Millis,
): { line: LogLine; origin: Origin } | undefined {
  const { MESSAGE: message, __CURSOR: cursor } = fields;
  if (message === undefined || cursor === undefined) return undefined;
  const { text, time, timeIsExact, host, program, origin } = readJournalFields(
    { ...fields, MESSAGE: textOfMessage(message) },
    noClock,
  );
  const isExact = time !== undefined && timeIsExact;
  return {
    line: { source: 'journal', line: number, text, time: time ?? present, timeIsExact: isExact, host, program },
    origin,
  };
}

function textOfMessage(value: string): string {
  if (!notAscii.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** Compares two cursors. In `s=…;i=…;b=…;m=…;t=…;x=…`, the first two parts (file and number) change when records move from /run to /var. */
function isSameRecord(cursor: string, other: string): boolean {
  return contentOf(cursor) === contentOf(other);
}

function contentOf(cursor: string): string {
  return /;b=.*/s.exec(cursor)?.[0] ?? cursor;
}
