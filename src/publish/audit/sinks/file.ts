import { constants, createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Sink } from '../deliver.ts';
import { thinFile } from './thin-file.ts';

export interface FileSinkOptions {
  /** The path of the current file. Finished files are next to it: `audit-2026-11-21-090000-1.ndjson.gz`. */
  path: string;
  /** The size of one file in MiB. */
  size: number;
  /** The size of all finished files in MiB. */
  total: number;
  now?: () => Millis;
}

const mebibyte = 1024 * 1024;

/** Writes rows as NDJSON, and begins a new file at a certain size and every day. A row in the page cache counts as delivered. */
export function createFileSink({ path, size, total, now = Date.now }: FileSinkOptions): Sink {
  const finished = createFinishedFiles(path, total * mebibyte);
  let handle: FileHandle | undefined;
  let day: string | undefined;

  return {
    name: 'file',
    mostRows: 1000,
    async send(rows) {
      const bytes = Buffer.from(rows.join(''));
      let length = await openFile();
      if (length > 0 && (length + bytes.length > size * mebibyte || day !== dayOf(now()))) {
        await rotate();
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

  /** Opens the file if it is not open, was moved or was removed. Resolves to its length in bytes. */
  async function openFile(): Promise<number> {
    const found = await stat(path).catch(() => undefined);
    if (handle !== undefined && found !== undefined && found.ino === (await handle.stat()).ino) return found.size;
    await closeFile();
    // Opening a pipe without a reader would block one of the four threads for files.
    if (found?.isFile() === false) throw new Error(`${path} is not a file`);
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    handle = await open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o640);
    day = dayOf(found?.mtimeMs ?? now());
    finished.tidy();
    try {
      return await cutTornRow(handle, path);
    } catch (error) {
      // Close the file, because the next attempt must look at it again.
      await closeFile();
      throw error;
    }
  }

  async function rotate(): Promise<void> {
    // Wait, because unpacked files would take the room of packed ones.
    await finished.settled();
    await closeFile();
    await rename(path, await finished.freeNameAt(now()));
    finished.tidy();
  }

  /** Writes all bytes or none: on a full disk the kernel writes a part, and only the next write fails. */
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

const tailLength = mebibyte;
const brace = '{'.charCodeAt(0);

/**
 * Removes part of a row that a killed run left, because the row is written again. Resolves to the length. If the end is not part of a row,
 * the file belongs to another program: rejects, and changes nothing.
 */
async function cutTornRow(file: FileHandle, path: string): Promise<number> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(Math.min(size, tailLength));
  const { bytesRead } = await file.read(tail, 0, tail.length, size - tail.length);
  const end = tail.lastIndexOf(10) + 1;
  if (size === 0 || end === bytesRead) return size;
  // After a power failure, some file systems have zeros where the end of the last row was to be.
  const isTorn = tail[end] === brace || (end > 0 && tail[end] === 0);
  if (!isTorn || (end === 0 && size > tailLength))
    throw new Error(`${path} is not a file of records: its last line is not a record`);
  const length = size - bytesRead + end;
  await file.truncate(length);
  return length;
}

/** After thinning, the remaining files may take half of the room, in this many files. */
const mostSmall = 1000;

function createFinishedFiles(path: string, mostBytes: number) {
  const folder = dirname(path);
  const extension = extname(path);
  const stem = basename(path, extension);
  let running: Promise<void> | undefined;
  let again = false;

  return {
    async freeNameAt(time: Millis): Promise<string> {
      const stamp = new Date(time).toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
      const taken = new Set(await readdir(folder));
      let number = 1;
      while (taken.has(nameOf(stamp, number)) || taken.has(`${nameOf(stamp, number)}.gz`)) number++;
      return join(folder, nameOf(stamp, number));
    },
    /** Packs files, and removes the oldest ones above `mostBytes` of all, in the background. */
    tidy(): void {
      again = true;
      running ??= run();
    },
    settled: async (): Promise<void> => running,
  };

  function nameOf(stamp: string, number: number): string {
    return `${stem}-${stamp}-${number}${extension}`;
  }

  async function run(): Promise<void> {
    while (again) {
      again = false;
      // After a failure, such as a full disk, it is tried again with the next file.
      await packAll().catch(() => undefined);
      await removeOldest().catch(() => undefined);
    }
    running = undefined;
  }

  async function packAll(): Promise<void> {
    const names = await namesOf();
    for (const name of names) {
      if (name.endsWith('.gz')) continue;
      // An earlier run may have packed it, and been killed before it removed it.
      if (!names.includes(`${name}.gz`)) await pack(join(folder, name), partOf());
      await rm(join(folder, name), { force: true });
    }
  }

  /** Thins large files, and deletes files that it does not thin. */
  async function removeOldest(): Promise<void> {
    const names = await namesOf();
    const files = await Promise.all(names.map(async (name) => ({ name, size: await sizeOf(name) })));
    let over = sumOf(files) - mostBytes;
    for (const { name, size, isSmall } of inOrderOfRemoval(files, mostBytes)) {
      if (over <= 0) return;
      const isThinned = !isSmall && (await thinFile(join(folder, name), partOf()).catch(() => false));
      if (!isThinned) await rm(join(folder, name), { force: true });
      over -= size - (isThinned ? await sizeOf(name) : 0);
    }
  }

  async function sizeOf(name: string): Promise<number> {
    return (await stat(join(folder, name))).size;
  }

  function partOf(): string {
    return join(folder, `.${stem}.part`);
  }

  /** Returns the names, oldest first. The number after the stamp has no fixed width. */
  async function namesOf(): Promise<string[]> {
    const names = (await readdir(folder)).filter((name) => isOurs(name));
    return names.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  function isOurs(name: string): boolean {
    const ending = name.startsWith(`${stem}-`) ? name.slice(stem.length + 1) : '';
    const end = ending.endsWith('.gz') ? ending.slice(0, -'.gz'.length) : ending;
    return end.endsWith(extension) && /^\d{4}-\d\d-\d\d-\d{6}-\d+$/.test(end.slice(0, end.length - extension.length));
  }
}

interface PackedFile {
  name: string;
  size: number;
}

function sumOf(files: readonly PackedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Small files are deleted last unless there are too many: they are the rest of thinned large files, and may reach far back. */
function inOrderOfRemoval(files: readonly PackedFile[], mostBytes: number): (PackedFile & { isSmall: boolean })[] {
  const largest = Math.max(...files.map(({ size }) => size));
  const all = files.map(({ name, size }) => ({ name, size, isSmall: size < largest / 2 }));
  const small = all.filter(({ isSmall }) => isSmall);
  const isFull = sumOf(small) > mostBytes / 2 || small.length > mostSmall;
  return isFull ? all : [...all.filter(({ isSmall }) => !isSmall), ...small];
}

/** Packs into the hidden name `part` until it is complete, so that readers find only complete files. */
async function pack(path: string, part: string): Promise<void> {
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(part, { mode: 0o640 }));
    await rename(part, `${path}.gz`);
  } finally {
    // After a failure, such as a full disk, a part would take room that rows need.
    await rm(part, { force: true });
  }
}
