import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/**
 * Runs a program with `input` on its standard input. Rejects with its error output unless it exits with 0. It is killed
 * after `within` milliseconds, which only a program that hangs takes.
 */
export async function run(
  command: string,
  args: readonly string[],
  input = '',
  within = 180_000,
): Promise<{ stdout: string; stderr: string }> {
  const running = execute(command, args, { timeout: within, killSignal: 'SIGKILL' });
  // The program may end without reading its input.
  running.child.stdin?.on('error', () => {}).end(input);
  try {
    return await running;
  } catch (cause) {
    if (!running.child.killed) throw cause;
    throw new Error(`${[command, ...args].join(' ')}: it has not ended after ${within / 1000} s`, { cause });
  }
}
