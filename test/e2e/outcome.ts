import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { inTime } from './until.ts';

export interface Outcome {
  /** -1 if a signal ended the program. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Waits for the end of a program, however it ends. Must be called at once, or what the program prints before is lost.
 */
export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => (printed[name] += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, ...printed };
}

/** The same, with `input` on its standard input, which it may leave unread. It is killed after `within` milliseconds. */
export async function outcomeWith(child: ChildProcess, input: string, within = 600_000): Promise<Outcome> {
  child.stdin?.on('error', () => {}).end(input);
  const problem = (): string => {
    child.kill('SIGKILL');
    return `${child.spawnargs.join(' ')}: it has not ended after ${within / 1000} s`;
  };
  return await inTime(outcomeOf(child), problem, within);
}
