import { type ChildProcess, spawn as spawnProcess } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { getDefaultHighWaterMark, type Readable, setDefaultHighWaterMark } from 'node:stream';
import type { Millis } from '../../../base/model/log-line.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Schedule } from '../../../base/platform/timer.ts';
import { createPace } from '../source.ts';

export type Spawn = (command: string, args: readonly string[]) => Child;

/** `stdout` and `stderr` are missing if the system has no more descriptors. An `error` then follows. */
export type Child = Pick<ChildProcess, 'on' | 'kill' | 'unref' | 'stdout' | 'stderr'>;

export type RunEnd = { error: Error } | { code: number | null; signal: string | null };

interface JournalctlListener {
  output: (chunk: Buffer) => void;
  errorOutput: (chunk: Buffer) => void;
  ended: (ending: RunEnd) => void;
}

/** Where to begin: at the record with this cursor, or else the nearest one after it; or at this time. */
type Beginning = { cursor: string } | { since: Millis };

/** journalctl always adds cursor and time. */
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
 * Follows the kernel's records and those of `units`. By itself, `--follow` reads only this boot and the last ten records, so `--merge` and
 * `--no-tail` are needed. `--after-cursor` is not used: if the record with the cursor is gone, it also skips a record that was never read
 * (seen in systemd 252).
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
    // journald's own messages, such as `Missed 12 kernel messages`. No other writer can have this transport.
    '_TRANSPORT=driver',
    ...units.flatMap((unit) => ['+', `_SYSTEMD_UNIT=${unit}`]),
  ];
}

/**
 * How many bytes one read should find, and the shortest and longest time between reads (ms). journalctl prints 4 KiB at a time, and each
 * print would wake this process. A pipe holds 64 KiB, so the aim must be less: otherwise reads of a full pipe would never become more
 * frequent.
 */
const pacing = { aim: 48 * 1024, shortest: 1, longest: 1000 };

/** A paused stream reads on up to its high-water mark, so it is the lowest: the default mark would mean 16 more reads. */
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
 * Runs journalctl. Returns a function that ends it at once, without a call of the listener. If this process is killed, journalctl notices
 * the closed output and ends. Between two reads, the output waits in the pipe; when the pipe is full, journalctl waits.
 */
export function runJournalctl(
  spawn: Spawn,
  args: readonly string[],
  listener: JournalctlListener,
  schedule: Schedule,
): () => void {
  let isOver = false;
  let stopReading: (() => void) | undefined;
  const over = (ending: RunEnd): void => {
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
  const unlessOver = (heard: (chunk: Buffer) => void) => (chunk: Buffer) => {
    if (!isOver) heard(chunk);
  };
  if (child.stdout) stopReading = readInBatches(child.stdout, unlessOver(listener.output), schedule);
  child.stderr?.on('data', unlessOver(listener.errorOutput));
  // Errors of a pipe are ignored, because the end of the process is noticed anyway.
  for (const output of [child.stdout, child.stderr]) output?.on('error', () => {});
  return () => {
    if (isOver) return;
    isOver = true;
    stopReading?.();
    // journalctl only reads, so it has nothing to clean up.
    child.kill('SIGKILL');
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.unref();
  };
}

/** Reads everything available, then pauses for a time that depends on the amount. Returns a function that stops it. */
function readInBatches(output: Readable, take: (chunk: Buffer) => void, schedule: Schedule): () => void {
  const pace = createPace(pacing);
  let taken = 0;
  let cancel: (() => void) | undefined;

  output.on('data', (chunk: Buffer) => {
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

/** Where journald keeps its files: the first folder survives reboots, the second does not. */
const usualDirectories = ['/var/log/journal', '/run/log/journal'];
const machineId = /^[0-9a-f]{32}$/;

/** Returns the directory with the latest write, because journald may leave files of an earlier configuration in the other one. */
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
