import { type Source, type Timing, systemTiming } from '../source.ts';
import { endOfField } from './export-format.ts';
import { type JournalRecordsOptions, createJournalRecords } from './journal-records.ts';
import { createJournalctlRuns } from './journalctl-runs.ts';
import { type Spawn, journalctlArguments, spawnJournalctl } from './journalctl.ts';

export interface JournalOptions extends Omit<JournalRecordsOptions, 'timing' | 'isStopped'> {
  /** The host's journal, where it is mounted. Default: the journal of this machine, as journalctl finds it. */
  directory?: string;
  timing?: Timing;
  spawn?: Spawn;
}

/** Longest record taken, in bytes. One of the kernel has 8 KiB at most. */
const longestRecord = 1024 * 1024;

/** Limit: if the clock steps back and the journal is emptied before a restart, records older than the last read are missed. */
export function createJournal(options: JournalOptions): Source {
  const { directory, since, listener, timing = systemTiming, spawn = spawnJournalctl } = options;
  const names = options.units?.names ?? [];
  const records = createJournalRecords({ ...options, timing, isStopped: () => runs.state === 'stopped' });
  const blocks = createRecordBlocks({
    longest: longestRecord,
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
        // An unfinished record comes again, whole, after the cursor.
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

export interface RecordBlocksOptions {
  /** Bytes. Longer records are skipped. */
  longest: number;
  /** Whole records; `ends`: where each one ends, and so where the next one begins. Valid during the call only. */
  take: (block: Buffer, ends: readonly number[]) => void;
  tooLong: (bytes: number) => void;
}

export interface RecordBlocks {
  write: (chunk: Buffer) => void;
  reset: () => void;
}

const nothing = Buffer.alloc(0);
/** Bytes of a skipped line that are kept so that its end is found: more than the longest name of a field. */
const keptOfLine = 256;

/** Cuts what comes in chunks of any size after the last whole record, and holds at most one unfinished record. */
function createRecordBlocks({ longest, take, tooLong }: RecordBlocksOptions): RecordBlocks {
  let held: Buffer = nothing;
  /** Bytes of a record that is too long, as far as they were taken; 0 if there is none. */
  let skipped = 0;
  /** The bytes of a value that are still to come. */
  let left = 0;

  return {
    write(chunk) {
      const passed = Math.min(left, chunk.length);
      left -= passed;
      skipped += passed;
      if (passed < chunk.length) cut(held.length === 0 ? chunk.subarray(passed) : Buffer.concat([held, chunk]));
    },
    reset,
  };

  function cut(data: Buffer): void {
    let ends: number[] = [];
    /** The bytes of the records in `ends`, and of the record and field that are not over. */
    let [first, start, at] = [0, 0, 0];
    let field = endOfField(data, at);
    for (; field !== undefined && 'at' in field; field = endOfField(data, at)) {
      at = field.at;
      if (!field.isEmpty) continue;
      if (skipped > 0 || at - start > longest) {
        handOver(data.subarray(first, start), ends);
        tooLong(skipped + at - start);
        [ends, first, skipped] = [[], at, 0];
      } else ends.push(at - first);
      start = at;
    }
    handOver(data.subarray(first, start), ends);
    held = nothing;
    if (skipped > 0 || data.length - start > longest) skip(data, start, at, field?.left ?? 0);
    else if (start < data.length) held = Buffer.from(data.subarray(start));
  }

  function handOver(block: Buffer, ends: readonly number[]): void {
    if (ends.length > 0) take(block, ends);
  }

  /** `at`: where the field begins that is not over. */
  function skip(data: Buffer, start: number, at: number, leftOfValue: number): void {
    const kept = leftOfValue > 0 ? 0 : Math.min(data.length - at, keptOfLine);
    skipped += data.length - kept - start;
    left = leftOfValue;
    held = Buffer.from(data.subarray(at, at + kept));
  }

  function reset(): void {
    held = nothing;
    skipped = 0;
    left = 0;
  }
}
