import type { Millis } from '../../model/log-line.ts';
import type { Schedule } from '../../platform/timer.ts';
import type { Source, SourceListener } from '../source.ts';
import { isOwnDoing, noticeOf } from './ending.ts';
import { createErrorOutput } from './error-output.ts';
import { type Ending, runJournalctl, type Spawn } from './journalctl.ts';

export interface JournalctlRunsOptions {
  spawn: Spawn;
  schedule: Schedule;
  argumentsOf: () => string[];
  onOutput: (chunk: Buffer) => void;
  /** A run is over. Returns true if its last lines of error output say what is dealt with here and needs no notice. */
  onEnd: (errorLines: readonly string[]) => boolean;
  onNotice: SourceListener['onNotice'];
}

export interface JournalctlRuns {
  readonly state: Source['state'];
  start: () => void;
  /** A record has come: this run is well. */
  succeeded: () => void;
  stop: () => void;
}

/** Before journalctl is started again: at first, doubling, and at most. */
const shortestWait: Millis = 1000;
const longestWait: Millis = 60_000;
/** A run of this length is well, even if there was nothing to read. */
const settled: Millis = 5000;

export function createJournalctlRuns(options: JournalctlRunsOptions): JournalctlRuns {
  const { spawn, schedule, onNotice } = options;
  const errors = createErrorOutput();
  let state: Source['state'] = 'waiting';
  let wait = shortestWait;
  let isWell = false;
  let published: string | undefined;
  let kill: (() => void) | undefined;
  let cancelRun: (() => void) | undefined;
  let cancelSettling: (() => void) | undefined;

  return {
    get state() {
      return state;
    },
    start: run,
    succeeded() {
      if (!isWell && state !== 'stopped') well();
    },
    stop() {
      state = 'stopped';
      cancelRun?.();
      cancelSettling?.();
      kill?.();
    },
  };

  function run(): void {
    isWell = false;
    if (published === undefined) state = 'reading';
    const args = options.argumentsOf();
    cancelSettling = schedule(well, settled);
    const onErrorOutput = (chunk: Buffer): void => {
      errors.add(chunk);
      if (isWell) publishErrors();
    };
    kill = runJournalctl(spawn, args, { onOutput: options.onOutput, onErrorOutput, onEnd: ended }, schedule);
  }

  function ended(ending: Ending): void {
    cancelSettling?.();
    const errorLines = errors.takeAll();
    cancelRun = schedule(run, wait);
    wait = Math.min(2 * wait, longestWait);
    if (options.onEnd(errorLines)) return;
    state = isOwnDoing(ending) && !isWell ? 'failed' : 'waiting';
    const notice = noticeOf(ending, errorLines.at(-1));
    if (published === notice.text) return;
    published = notice.text;
    onNotice(notice);
  }

  function well(): void {
    cancelSettling?.();
    isWell = true;
    wait = shortestWait;
    state = 'reading';
    if (published !== undefined) {
      published = undefined;
      onNotice({ level: 'info', key: 'well', text: 'The journal is read now' });
    }
    publishErrors();
  }

  /** It goes on without the files of the journal that it cannot read. */
  function publishErrors(): void {
    for (const line of errors.takeNew()) {
      if (state === 'stopped') return;
      onNotice({ level: 'warn', key: 'complaint', text: `journalctl says: ${line}` });
    }
  }
}
