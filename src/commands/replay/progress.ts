import type { Input } from '../../sources/framing/input.ts';

/** A file is worth a progress bar from here. */
const worthwhile = 32 * 1024 * 1024;
const width = 30;

/** Draws how far one input has been read, on a terminal only; the returned function draws, `done` wipes. */
export function createProgress(
  input: Input,
  stream: NodeJS.WriteStream,
  enabled: boolean,
): { step: () => void; done: () => void } {
  const { size, name } = input;
  if (!enabled || !stream.isTTY || size === undefined || size < worthwhile) return { step: () => {}, done: () => {} };
  let shown = -1;
  return {
    step() {
      const percent = Math.floor((input.bytesRead() / size) * 100);
      if (percent === shown) return;
      shown = percent;
      const filled = Math.round((percent / 100) * width);
      stream.write(`\r${name} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${percent}%`);
    },
    done: () => {
      if (shown >= 0) stream.write('\r\x1b[K');
    },
  };
}
