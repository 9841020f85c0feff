/** The progress bar of `replay`. */
import type { Input } from '../../sources/framing/input.ts';

/** Smaller files have no progress bar. */
const worthwhile = 32 * 1024 * 1024;
const width = 30;

/** Draws on a terminal how far one input has been read; `done` wipes it. */
export function createProgress(
  input: Input,
  terminal: NodeJS.WriteStream | undefined,
): { step: () => void; done: () => void } {
  const { size, name } = input;
  if (!terminal?.isTTY || size === undefined || size < worthwhile) return { step: () => {}, done: () => {} };
  let shown = -1;
  return {
    step() {
      const percent = Math.floor((input.bytesRead() / size) * 100);
      if (percent === shown) return;
      shown = percent;
      const filled = Math.round((percent / 100) * width);
      terminal.write(`\r${name} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${percent}%`);
    },
    done: () => {
      if (shown >= 0) terminal.write('\r\x1b[K');
    },
  };
}
