import { spawn as spawnProcess } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
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

interface JournalctlListener {
  output: (chunk: Buffer) => void;
  errorOutput: (chunk: Buffer) => void;
  ended: (ending: Ending) => void;
}

/** Where to begin: at the record that has this cursor, or the nearest after it if there is none; or at this time. */
type Beginning = { cursor: string } | { since: Millis };

/** All that `readJournalFields` and `createUnits` ask for; cursor and time always come with them. */
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
 * `--follow` alone reads this boot and ten records: `--merge` and `--no-tail` undo that. `--after-cursor` is not used, because it skips
 * a record that was never read when the one with the cursor is gone (seen in systemd 252).
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
 * Bytes for each look, and the time between looks: journalctl prints 4 KiB at a time, each of which would wake this process. A pipe holds
 * 64 KiB: with an aim as high, looks at a full pipe would never come sooner.
 */
const pacing = { aim: 48 * 1024, shortest: 1, longest: 1000 };

/** A paused stream reads on until it holds as much as its high-water mark: with the usual one, 16 more times. */
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
 * Returns how to end it at once, without a call of the listener. If this process is killed, journalctl notices its closed output, and ends.
 * Until the next look the output waits in the pipe; when that is full, journalctl waits, too.
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

/** Takes all that is there, and then pauses for a time that follows from how much it was. Returns how to stop. */
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

interface FindJournalOptions {
  directories?: readonly string[];
  searchPath: string;
}

/** Where journald keeps a journal over reboots, and where it does until the next one. */
const usualDirectories = ['/var/log/journal', '/run/log/journal'];
const machineId = /^[0-9a-f]{32}$/;

/** Returns the directory that was written to last, because journald leaves files of an earlier set-up behind; or why there is none. */
export function findJournal({
  directories = usualDirectories,
  searchPath,
}: FindJournalOptions): { directory: string } | { reason: string } {
  if (!searchPath.split(delimiter).some((folder) => isAccessible(join(folder, 'journalctl'), constants.X_OK)))
    return { reason: 'there is no journalctl in this image' };
  const reasons: string[] = [];
  let latest: { directory: string; written: number } | undefined;
  for (const directory of directories) {
    const found = newestIn(directory);
    if ('reason' in found) reasons.push(`${directory}: ${found.reason}`);
    else if (latest === undefined || found.written > latest.written) latest = { directory, written: found.written };
  }
  return latest === undefined ? { reason: reasons.join('; ') } : { directory: latest.directory };
}

function newestIn(directory: string): { written: number } | { reason: string } {
  try {
    const folders = readdirSync(directory).filter((name) => machineId.test(name));
    const files = [directory, ...folders.map((name) => join(directory, name))].flatMap(journalsIn);
    if (files.length === 0) return { reason: 'there is no journal' };
    const readable = files.filter((file) => isAccessible(file, constants.R_OK));
    if (readable.length === 0) return { reason: 'the journal may not be read: it takes root, or its group' };
    return { written: Math.max(...readable.map((file) => statSync(file).mtimeMs)) };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function journalsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.journal'))
    .map((name) => join(folder, name));
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
