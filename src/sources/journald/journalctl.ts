import { spawn as spawnProcess } from 'node:child_process';
import type { Millis } from '../../model/log-line.ts';

export interface Child {
  /** Not there when the system has no more descriptors: an `error` follows. */
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
  destroy: () => unknown;
}

export type Spawn = (command: string, args: readonly string[]) => Child;

export type Ending = { error: Error } | { code: number | null; signal: string | null };

export interface JournalctlListener {
  onOutput: (chunk: Buffer) => void;
  onErrorOutput: (chunk: Buffer) => void;
  /** Once, after all output. */
  onEnd: (ending: Ending) => void;
}

/** Where to begin: with the record that has this cursor, or the nearest after it if there is none; or with this time. */
export type Beginning = { cursor: string } | { since: Millis };

/** All that `readEnvelope` and `createUnits` ask for; cursor and time always come with it. */
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
    '--output=json',
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

export const spawnJournalctl: Spawn = (command, args) =>
  spawnProcess(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Returns how to end it at once, in silence. Should this process be killed, journalctl notices its closed output, and ends. */
export function runJournalctl(spawn: Spawn, args: readonly string[], listener: JournalctlListener): () => void {
  let isOver = false;
  const over = (ending: Ending): void => {
    if (isOver) return;
    isOver = true;
    listener.onEnd(ending);
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
  for (const [output, heard] of [
    [child.stdout, listener.onOutput],
    [child.stderr, listener.onErrorOutput],
  ] as const) {
    output?.on('data', (chunk) => {
      if (!isOver) heard(chunk);
    });
    // What matters is that it ends.
    output?.on('error', () => {});
  }
  return () => {
    if (isOver) return;
    isOver = true;
    // It only reads: there is nothing that it would have to tidy up.
    child.kill('SIGKILL');
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.unref();
  };
}
