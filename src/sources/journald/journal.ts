import { journalctlArguments, type Spawn, spawnJournalctl } from './journalctl.ts';
import { createJournalctlRuns } from './journalctl-runs.ts';
import { createJournalRecords, type JournalRecordsOptions } from './journal-records.ts';
import { createRecordBlocks } from './record-blocks.ts';
import { type Source, systemTiming, type Timing } from '../source.ts';

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
    onRecords(block, ends) {
      if (records.take(block, ends)) runs.succeeded();
    },
    onTooLong: records.tooLong,
  });
  const runs = createJournalctlRuns({
    spawn,
    schedule: timing.schedule,
    onNotice: listener.onNotice,
    argumentsOf() {
      const cursor = records.resume();
      return journalctlArguments(directory, cursor === undefined ? { since } : { cursor }, names);
    },
    onOutput: blocks.write,
    onEnd(errorLines) {
      // An unfinished record comes again, whole, after the cursor.
      blocks.reset();
      const isGone = errorLines.some((line) => line.includes('Failed to seek to cursor: Invalid argument'));
      return isGone && records.forgetPlace();
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
