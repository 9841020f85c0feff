import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Millis } from '../../model/log-line.ts';
import type { Sink } from '../sink.ts';
import { createFinishedFiles } from './finished-files.ts';

export interface FileSinkOptions {
  /** The file that is written; older ones lie beside it as `NAME-STAMP-N.ndjson.gz`. */
  path: string;
  /** MiB of one file before it is followed by another one, and of all finished ones together. */
  size: number;
  total: number;
  now?: () => Millis;
}

const mebibyte = 1024 * 1024;

/** NDJSON in files that are followed by another one when they are full or a day old. A write is in the page cache when it is confirmed. */
export function createFileSink({ path, size, total, now = Date.now }: FileSinkOptions): Sink {
  const finished = createFinishedFiles(path, total * mebibyte);
  let handle: FileHandle | undefined;
  let day = '';

  return {
    name: 'file',
    most: 1000,
    async send(rows) {
      const bytes = Buffer.from(rows.join(''));
      let length = await openFile();
      if (length > 0 && (length + bytes.length > size * mebibyte || day !== dayOf(now()))) {
        await followUp();
        length = await openFile();
      }
      await append(bytes, length);
      return 0;
    },
    async close() {
      await closeFile();
      await finished.settled();
    },
  };

  /** Opens it unless it is open, and again where it was moved away or removed meanwhile. Resolves to its length. */
  async function openFile(): Promise<number> {
    const found = await stat(path).catch(() => undefined);
    if (handle !== undefined && found !== undefined && found.ino === (await handle.stat()).ino) return found.size;
    await closeFile();
    // To open a pipe that has no reader would hold one of the four threads for files.
    if (found?.isFile() === false) throw new Error(`${path} is no file`);
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    handle = await open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o640);
    day = dayOf(found?.mtimeMs ?? now());
    finished.tidy();
    return cutTornRow(handle, path);
  }

  async function followUp(): Promise<void> {
    // Files that were not packed yet would take the room of packed ones.
    await finished.settled();
    await closeFile();
    await rename(path, await finished.nameAt(now()));
    // Packs it; meanwhile the next file is written.
    finished.tidy();
  }

  /** All of it or nothing: on a full disk the kernel writes a part, and only the next attempt fails. */
  async function append(bytes: Buffer, length: number): Promise<void> {
    const file = handle as FileHandle;
    try {
      for (let done = 0; done < bytes.length;) done += (await file.write(bytes, done)).bytesWritten;
    } catch (error) {
      await file.truncate(length).catch(() => undefined);
      await closeFile();
      throw error;
    }
  }

  async function closeFile(): Promise<void> {
    const file = handle;
    handle = undefined;
    await file?.close().catch(() => undefined);
  }
}

function dayOf(time: Millis): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** No row is as long as this. */
const tailLength = mebibyte;

/** Removes what a run that was killed in a write has left of a row, which is written again whole. Resolves to the length that remains. */
async function cutTornRow(file: FileHandle, path: string): Promise<number> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(Math.min(size, tailLength));
  const { bytesRead } = await file.read(tail, 0, tail.length, size - tail.length);
  const end = tail.lastIndexOf(10, bytesRead - 1) + 1;
  if (size === 0 || end === bytesRead) return size;
  if (end === 0 && size > tailLength) throw new Error(`${path} is no file of records: it has no lines`);
  const length = size - bytesRead + end;
  await file.truncate(length);
  return length;
}
