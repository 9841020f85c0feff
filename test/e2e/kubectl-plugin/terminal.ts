import { spawn } from 'node:child_process';
import { join } from 'node:path';
import xterm from '@xterm/headless';
import { until as untilFound } from '../until.ts';

export type Terminal = ReturnType<typeof openTerminal>;

/** A program in a pseudo-terminal, and what a terminal shows of it. */
export function openTerminal(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  { columns, lines }: { columns: number; lines: number },
) {
  const child = spawn(
    'python3',
    ['-B', join(import.meta.dirname, 'in_terminal.py'), String(columns), String(lines), ...command],
    { env: { TERM: 'xterm-256color', ...env }, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const screen = new xterm.Terminal({ cols: columns, rows: lines, allowProposedApi: true, scrollback: 0 });
  let written = '';
  let status: number | undefined;
  child.stdin.on('error', () => {});
  child.stdout.on('data', (bytes: Buffer) => {
    written += bytes.toString();
    screen.write(bytes);
  });
  child.on('close', (code) => (status = code ?? -1));
  const shown = (): string[] =>
    Array.from({ length: screen.rows }, (_, line) =>
      (screen.buffer.active.getLine(line)?.translateToString() ?? '').trimEnd(),
    );

  const problem = (): string => `[terminal] not as expected; ended with ${status}. It shows:\n${shown().join('\n')}`;

  return {
    /** Waits until the lines on the screen, without trailing spaces, match; rejects after a minute with the screen. */
    until: (matches: (lines: string[]) => boolean): Promise<string[]> =>
      untilFound(() => {
        if (matches(shown())) return shown();
        if (status !== undefined) throw new Error(problem());
        return undefined;
      }, problem),
    type: (keys: string) => void child.stdin.write(keys),
    /** Makes the terminal larger by ten columns and five lines. */
    grow(): void {
      screen.resize(screen.cols + 10, screen.rows + 5);
      child.kill('SIGUSR1');
    },
    /** Whether any cell has a colour. */
    hasColours: () =>
      Array.from({ length: screen.rows }, (_, line) => line).some((line) =>
        Array.from({ length: screen.cols }, (_, column) => column).some((column) => {
          const cell = screen.buffer.active.getLine(line)?.getCell(column);
          return cell !== undefined && !cell.isFgDefault();
        }),
      ),
    /** The second screen of a terminal, which leaves the first as it was. */
    isOnSecondScreen: () => screen.buffer.active.type === 'alternate',
    /** All that was written, with its control characters. */
    written: () => written,
    /** Resolves with the exit status of the program; 128 and more: killed by a signal. */
    untilExit: () => untilFound(() => status, problem),
  };
}
