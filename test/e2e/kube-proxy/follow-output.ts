import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { inTime, until } from '../until.ts';

/** Follows what a running program prints on its standard error. */
export function followErrors(name: string, child: ChildProcess) {
  const lines: string[] = [];
  if (child.stderr === null) throw new Error(`[${name}] it has no standard error`);
  // Else it would stand still as soon as the pipe is full.
  child.stdout?.resume();
  createInterface(child.stderr).on('line', (line) => lines.push(line));
  const closed = once(child, 'close');
  return {
    /** All that it has printed. */
    lines,
    /**
     * Resolves to the number of the first line that matches, from `from` on (default: the next one); rejects after a
     * minute.
     */
    untilLine: (pattern: RegExp, from = lines.length): Promise<number> =>
      until(
        () => {
          const found = lines.findIndex((line, index) => index >= from && pattern.test(line));
          return found >= 0 && found;
        },
        () => `[${name}] no line with ${pattern}. It printed last:\n${lines.slice(-20).join('\n')}`,
      ),
    async stop(): Promise<void> {
      child.kill('SIGKILL');
      await inTime(closed, () => `[${name}] it was killed, and something that it started still holds its output`);
    },
  };
}
