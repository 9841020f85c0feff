import { spawn as spawnProcess } from 'node:child_process';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import type { Millis } from '../../model/log-line.ts';
import type { Schedule } from '../../platform/timer.ts';
import { createPace } from '../source.ts';

export interface Child {
  /** Missing if the system has no more descriptors: an `error` follows. */
  stdout: Output | undefined;
  stderr: Output | undefined;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number | null, signal: string | null) => void): unknown;
  kill: (signal: 'SIGKILL') => unknown;
  unref: () => unknown;
}

interface Output {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  pause: () => unknown;
  resume: () => unknown;
  destroy: () => unknown;
}

export type Spawn = (command: string, args: readonly string[]) => Child;

export type Ending = { error: Error } | { code: number | null; signal: string | null };

export interface JournalctlListener {
  output: (chunk: Buffer) => void;
  errorOutput: (chunk: Buffer) => void;
  /** Called once, after all output. */
  ended: (ending: Ending) => void;
}

/** The start: the record that has this cursor, or the nearest after it if there is none; or this time. */
export type Beginning = { cursor: string } | { since: Millis };

/** All that `readJournalFields` and `createUnits` ask for; cursor and time always come with it. */
const fields = [
  'MESSAGE',
  '_SOURCE_MONOTONIC_TIMESTAMP',
  '_TRANSPORT',
  'SYSLOG_FACILITY',
  'SYSLOG_IDENTIFIER',
  '_HOSTNAME',
  '_SYSTEMD_UNIT',
  '_STREAM_ID',
  '_LINE_BREAK',
];

/**
 * `--follow` alone reads this boot and ten records: `--merge` and `--no-tail` undo that. `--after-cursor` skips a record that was
 * never read when the one with the cursor is gone (seen in systemd 252), so `--cursor` it is.
 */
export function journalctlArguments(
  directory: string | undefined,
  from: Beginning,
  units: readonly string[] = [],
): string[] {
  return [
    '--output=export',
    `--output-fields=${fields.join(',')}`,
    '--all',
    '--merge',
    '--follow',
    '--no-tail',
    '--no-pager',
    ...(directory === undefined ? [] : [`--directory=${directory}`]),
    'cursor' in from ? `--cursor=${from.cursor}` : `--since=@${(from.since / 1000).toFixed(3)}`,
    '_TRANSPORT=kernel',
    '+',
    // The journal's own words, such as `Missed 12 kernel messages`. No other writer can have this transport.
    '_TRANSPORT=driver',
    ...units.flatMap((unit) => ['+', `_SYSTEMD_UNIT=${unit}`]),
  ];
}

/**
 * Bytes a look, and the time between looks: journalctl prints 4 KiB at a time, each of which would wake this process. A pipe holds 64 KiB: with
 * an aim as high, looks at a pipe that is full would never come sooner. The first Event comes a second after its packet in any case.
 */
const pacing = { aim: 48 * 1024, shortest: 1, longest: 1000 };

/** A stream that is paused reads on until it holds so much as this mark: with the usual one, 16 more times. */
export const spawnJournalctl: Spawn = (command, args) => {
  const usual = getDefaultHighWaterMark(false);
  setDefaultHighWaterMark(false, 1);
  try {
    return spawnProcess(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  } finally {
    setDefaultHighWaterMark(false, usual);
  }
};

/**
 * Returns how to end it at once, in silence. Should this process be killed, journalctl notices its closed output, and ends. Its output is
 * taken in batches: until the next look it waits in the pipe, and when that is full journalctl waits, too.
 */
export function runJournalctl(
  spawn: Spawn,
  args: readonly string[],
  listener: JournalctlListener,
  schedule: Schedule,
): () => void {
  let isOver = false;
  let stopReading: (() => void) | undefined;
  const over = (ending: Ending): void => {
    if (isOver) return;
    isOver = true;
    stopReading?.();
    listener.ended(ending);
  };

  let child: Child;
  try {
    child = spawn('journalctl', args);
  } catch (error) {
    over({ error: error as Error });
    return () => {};
  }
  child.on('error', (error) => over({ error }));
  child.on('close', (code, signal) => over({ code, signal }));
  const hear = (heard: (chunk: Buffer) => void) => (chunk: Buffer) => {
    if (!isOver) heard(chunk);
  };
  if (child.stdout !== undefined) stopReading = readInBatches(child.stdout, hear(listener.output), schedule);
  child.stderr?.on('data', hear(listener.errorOutput));
  // An error of a pipe is ignored, because the end of the process is noticed anyway.
  for (const output of [child.stdout, child.stderr]) output?.on('error', () => {});
  return () => {
    if (isOver) return;
    isOver = true;
    stopReading?.();
    // It only reads: there is nothing that it would have to tidy up.
    child.kill('SIGKILL');
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.unref();
  };
}

/** Takes all that is there, and then pauses for a time that follows from how much it was. Returns how to call that off. */
function readInBatches(output: Output, take: (chunk: Buffer) => void, schedule: Schedule): () => void {
  const pace = createPace(pacing);
  let taken = 0;
  let cancel: (() => void) | undefined;

  output.on('data', (chunk) => {
    if (taken === 0) {
      cancel?.();
      cancel = schedule(pause, 0);
    }
    taken += chunk.length;
    take(chunk);
  });
  return () => cancel?.();

  function pause(): void {
    output.pause();
    cancel = schedule(() => void output.resume(), pace.next(taken));
    taken = 0;
  }
}
