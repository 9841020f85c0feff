import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a program with `input` on its standard input. Rejects with its error output unless it exits with 0. */
export async function run(
  command: string,
  args: readonly string[],
  input = '',
): Promise<{ stdout: string; stderr: string }> {
  const running = execute(command, args);
  // The program may end without reading its input.
  running.child.stdin?.on('error', () => {}).end(input);
  return running;
}
