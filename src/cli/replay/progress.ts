import { printable } from '../../base/platform/printable.ts';

export interface Progress {
  step(length: number): void;
  done: () => void;
}

/** Shows on a terminal how much of a large file has been read. */
export function createProgress(name: string, terminal: NodeJS.WriteStream | undefined): Progress {
  const interval = 16 * 1024 * 1024;
  let bytes = 0;
  return {
    step(length: number): void {
      const before = Math.floor(bytes / interval);
      bytes += length;
      if (Math.floor(bytes / interval) > before)
        terminal?.write(`\r${printable(name)}: ${Math.floor(bytes / 2 ** 20)} MiB read\x1b[K`);
    },
    done: (): void => void (bytes >= interval && terminal?.write('\r\x1b[K')),
  };
}
