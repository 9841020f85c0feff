import type { Millis } from '../../../base/model/log-line.ts';
import { printable } from '../../../base/platform/printable.ts';
import { createBackOff } from '../../../base/platform/rates.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Schedule } from '../../../base/platform/timer.ts';
import type { Notice, Source, SourceListener } from '../source.ts';
import { type RunEnd, type Spawn, runJournalctl } from './journalctl.ts';

interface JournalctlRunsOptions {
  spawn: Spawn;
  schedule: Schedule;
  reader: JournalReader;
  listener: Pick<SourceListener, 'notice'>;
}

interface JournalReader {
  /** Returns arguments for journalctl that continue after the last run. */
  begin: () => string[];
  take: (chunk: Buffer) => void;
  /** Called after a run. Returns true if its end needs no notice. */
  end: (errorLines: readonly string[]) => boolean;
}

/** One agent reads one journal, so its pauses need no random part. */
const pauses = { first: 1000, longest: 60_000 };
/** A run that lasts this long counts as successful, even if there was nothing to read. */
const settled: Millis = 5000;

export interface JournalctlRuns {
  readonly state: 'failed' | 'waiting' | 'reading' | 'stopped';
  start: () => void;
  succeeded(): void;
  stop(): void;
}

export function createJournalctlRuns(options: JournalctlRunsOptions): JournalctlRuns {
  const { spawn, schedule, reader, listener } = options;
  let state: Source['state'] = 'waiting';
  const backOff = createBackOff(pauses, () => 1);
  let isWell = false;
  let published: string | undefined;
  /** The end of this run's standard error. */
  let errors = '';
  let kill: (() => void) | undefined;
  let cancelRun: (() => void) | undefined;
  let cancelSettling: (() => void) | undefined;

  return {
    get state() {
      return state;
    },
    start: run,
    succeeded(): void {
      if (!isWell && state !== 'stopped') well();
    },
    stop(): void {
      state = 'stopped';
      cancelRun?.();
      cancelSettling?.();
      kill?.();
    },
  };

  function run(): void {
    isWell = false;
    if (published === undefined) state = 'reading';
    const args = reader.begin();
    cancelSettling = schedule(well, settled);
    const errorOutput = (chunk: Buffer): void => {
      errors = (errors + chunk.toString('utf8')).slice(-longest);
      if (isWell) complain();
    };
    kill = runJournalctl(spawn, args, { output: reader.take, errorOutput, ended }, schedule);
  }

  function ended(ending: RunEnd): void {
    cancelSettling?.();
    const errorLines = linesOf(errors);
    errors = '';
    cancelRun = schedule(run, backOff.next());
    if (reader.end(errorLines)) return;
    state = isOwnDoing(ending) && !isWell ? 'failed' : 'waiting';
    const notice = noticeOf(ending, errorLines.at(-1));
    if (published === notice.text) return;
    published = notice.text;
    listener.notice(notice);
  }

  function well(): void {
    cancelSettling?.();
    isWell = true;
    backOff.reset();
    state = 'reading';
    if (published !== undefined) {
      published = undefined;
      listener.notice({ level: 'info', key: 'well', text: 'The journal is read now' });
    }
    complain();
  }

  /** journalctl skips files of the journal that it cannot read, so its latest error is reported while it runs. */
  function complain(): void {
    const line = linesOf(errors).at(-1);
    if (line !== undefined) listener.notice({ level: 'warn', key: 'complaint', text: `journalctl says: ${line}` });
  }
}

export function noticeOf(ending: RunEnd, lastError: string | undefined): Notice {
  if ('error' in ending) {
    if ((ending.error as NodeJS.ErrnoException).code === 'ENOENT')
      return failed(
        'this image has no journalctl. Use the image variant that has it, or SOURCES=kernel, or SOURCES=file:PATH',
      );
    return failed(`journalctl cannot be started: ${reasonOf(ending.error)}. ${retry}`);
  }
  const { code, signal } = ending;
  if (isOwnDoing(ending))
    return failed(
      `journalctl ended with code ${code}: ${lastError?.replace(/\.$/, '') ?? 'it did not say why'}${adviceOn(lastError)}. ${retry}`,
    );
  const how = signal === null ? 'ended' : `was ended by ${signal}`;
  return { level: 'warn', key: 'ended', text: `journalctl ${how} and is started again` };
}

function isOwnDoing(ending: RunEnd): boolean {
  return 'error' in ending || (ending.code !== null && ending.code !== 0);
}

const retry = 'It is tried again once a minute or more often';

function failed(why: string): Notice {
  return { level: 'error', key: 'failed', text: `The journal cannot be read: ${why}` };
}

function adviceOn(lastError = ''): string {
  if (/permission/i.test(lastError)) return ' (it takes root, or a group that may read the journal)';
  if (/No such file or directory/.test(lastError)) return " (is the node's journal mounted there?)";
  return '';
}

/** The most characters of the error output that are kept, the latest ones. */
const longest = 2000;
const longestLine = 300;

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => printable(line.trim()).slice(0, longestLine))
    .filter((line) => line !== '');
}
