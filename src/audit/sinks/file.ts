import { mkdirSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import type { RotatingFileStream } from 'rotating-file-stream';
import type { Sink } from '../sink.ts';

export interface FileSinkOptions {
  /** The file that is written; older ones lie beside it as `NAME-STAMP-N.ndjson.gz`. */
  path: string;
  /** MiB of one file before it is packed, and of all packed ones together. */
  size: number;
  total: number;
}

/** NDJSON in files that are followed by another one when they are full or a day old. A write is in the page cache when it is confirmed. */
export function createFileSink({ path, size, total }: FileSinkOptions): Sink {
  let stream: RotatingFileStream | undefined;

  return {
    name: 'file',
    most: 1000,
    async send(rows) {
      stream ??= await open();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const current = stream;
      const fail = (error: Error): void => {
        stream = undefined;
        reject(error);
      };
      current.once('error', fail);
      current.write(rows.join(''), (error) => (error ? fail(error) : resolve()));
      await promise.finally(() => current.off('error', fail));
      return 0;
    },
    async close() {
      const current = stream;
      if (current === undefined) return;
      await new Promise<void>((resolve) => void current.end(resolve));
    },
  };

  async function open(): Promise<RotatingFileStream> {
    // Most agents have no audit and need not hold it in memory.
    const { createStream } = await import('rotating-file-stream');
    mkdirSync(dirname(path), { recursive: true });
    const [file, extension] = [basename(path), extname(path)];
    const name = (time: Date | number | null, index = 0): string =>
      time === null ? file : `${basename(file, extension)}-${stampOf(new Date(time))}-${index}${extension}.gz`;
    const opened = createStream(name, {
      path: dirname(path),
      size: `${size}M`,
      maxSize: `${total}M`,
      interval: '1d',
      intervalUTC: true,
      compress: 'gzip',
      // Which packed files there are; hidden, because a reader of the folder must find records only.
      history: `.${file}.list`,
    });
    // A fault between two writes, as while a file is packed, shows again at the next write.
    opened.on('error', () => (stream = undefined));
    return opened;
  }
}

function stampOf(time: Date): string {
  return time.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
}
