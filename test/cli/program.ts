import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { subjectsOf } from '../subject.ts';

/** The file that node runs as the program. */
export const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Returns the subjects of the problems of a wrong command line, from standard error. */
export function subjectsIn(err: string): string[] {
  const lines = err.split('\n').filter((line) => line.startsWith('kube-netfilter-tailer: '));
  return subjectsOf(lines.map((line) => line.slice('kube-netfilter-tailer: '.length)));
}

/** Returns the subjects of the notes on inputs: a file, or `FILE:LINE`. */
export function notedIn(err: string): string[] {
  const lines = err.split('\n').slice(0, -1);
  return subjectsOf(lines.map((line) => line.replace(/^kube-netfilter-tailer: /, '')));
}

/** The path of a file in samples/. */
export function sample(name: string): string {
  return fileURLToPath(new URL(`../../samples/${name}`, import.meta.url));
}

export interface Outcome {
  status: number | null;
  out: string;
  err: string;
}

export interface Surroundings {
  /** The content of standard input. A generator is read no faster than the program reads its input. */
  stdin?: string | Buffer | Iterable<Buffer>;
  /** Closes the pipe behind standard output after the first bytes, as `head` does. */
  readsOnlyTheStart?: boolean;
  env?: Record<string, string>;
}

/** In milliseconds. A program that hangs is then killed. A test runs up to six programs (vitest.config.ts). */
const timeout = 60_000;

/** Runs the program as a user does. If it hangs, it is killed after a while. */
export async function program(
  args: readonly string[],
  { stdin = '', readsOnlyTheStart = false, env = {} }: Surroundings = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    // Long, because on a busy machine it takes many seconds just to start Node.js.
    timeout: timeout,
    killSignal: 'SIGKILL',
  });
  const outcome: Outcome = { status: null, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    outcome.out += text;
    if (readsOnlyTheStart) child.stdout.destroy();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    outcome.err += text;
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject).on('close', (status) => {
      outcome.status = status;
      resolve();
    });
  });
  // A program that has failed reads no more.
  await pipeline(Readable.from(stdin), child.stdin).catch(() => {});
  await ended;
  return outcome;
}

/** `replay`, at a time when the samples are a few hours old. */
export async function replay(args: readonly string[], surroundings?: Surroundings): Promise<Outcome> {
  return await program(['replay', '--now', '2026-11-21T20:00:00Z', ...args], surroundings);
}
