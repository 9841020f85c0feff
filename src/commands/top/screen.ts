/** A terminal as one page that is drawn again and again, and its keys. Ends as it was found, however the program ends. */
import { emitKeypressEvents } from 'node:readline';
import type { Key } from './keys.ts';
import type { Size } from './view.ts';

export interface Screen {
  readonly size: () => Size;
  readonly draw: (lines: readonly string[]) => void;
  readonly stop: () => void;
}

export interface ScreenOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly write: (text: string) => void;
  readonly onKey: (key: Key) => void;
  readonly onResize: () => void;
}

const escape = '\u001B[';
/** The other screen, so that what stood on the terminal is there again afterwards; without a cursor, and no line is wrapped. */
const enter = `${escape}?1049h${escape}?25l${escape}?7l`;
const leave = `${escape}?7h${escape}?25h${escape}?1049l`;

export function openScreen({ input, output, write, onKey, onResize }: ScreenOptions): Screen {
  let isOpen = true;
  const onPress = (_: string | undefined, key: Key): void => onKey(key);
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.on('keypress', onPress).resume();
  output.on('resize', onResize);
  process.once('exit', stop);
  write(enter);
  return {
    size: () => ({ columns: output.columns || 80, lines: output.rows || 24 }),
    draw(lines) {
      if (isOpen) write(`${escape}H${lines.map((line) => `${line}${escape}K`).join('\r\n')}${escape}J`);
    },
    stop,
  };

  function stop(): void {
    if (!isOpen) return;
    isOpen = false;
    process.off('exit', stop);
    output.off('resize', onResize);
    input.off('keypress', onPress).pause();
    try {
      input.setRawMode(false);
      write(leave);
    } catch {
      // The terminal is gone.
    }
  }
}
