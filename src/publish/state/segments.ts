import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { StateChange } from '../../base/platform/keyed-changes.ts';

export const format = 'kube-netfilter-tailer state log';
export const version = 1;
const name = /^state-(\d{10})\.log$/;

/** One change in a batch. `clear`, as the first one, forgets everything before it. A string is a change in JSON. */
export type KeptChange = StateChange | readonly ['clear'] | string;

export interface Segment {
  readonly number: number;
  /** False if half a batch may be at the end. Batches after it would never be read. */
  readonly usable: boolean;
  readonly size: number;
  /** Appends a batch. When this resolves, the batch is on disk; when it rejects, it may be. */
  append(batch: Iterable<Buffer>): Promise<void>;
  close: () => Promise<void>;
}

/** The bytes of each segment by its number, oldest first; undefined if the size is not known. */
export type SegmentSizes = Map<number, number | undefined>;

/** Creates an empty segment that only this user can read. Rejects if the number is taken, or the file cannot be created. */
export async function createSegment(folder: string, number: number, writer?: string): Promise<Segment> {
  await mkdir(folder, { recursive: true });
  const file = await open(segmentFile(folder, number), 'ax', 0o600);
  try {
    const header = encode(JSON.stringify({ format, version, writer }));
    await file.appendFile(header);
    await syncFolder(folder);
    return segmentOf(file, number, header.length);
  } catch (error) {
    await file.close();
    throw error;
  }
}

export async function removeSegment(folder: string, number: number): Promise<void> {
  const file = segmentFile(folder, number);
  const isFolder = (await lstat(file).catch(ifMissing))?.isDirectory() === true;
  // The content of a folder must not be removed.
  if (isFolder) await rename(file, asideOf(file, new Date()));
  else await rm(file, { force: true });
}

export function asideOf(file: string, now: Date): string {
  return `${file}.unusable-${now.toISOString().replaceAll(':', '').slice(0, 17)}Z`;
}

export async function lossIn(folder: string, segments: Readonly<SegmentSizes>): Promise<string | undefined> {
  for (const [number, expected] of segments) {
    if (expected === undefined) continue;
    const file = segmentFile(folder, number);
    const size = await stat(file).then((found) => found.size, ifMissing);
    if (size === undefined) return `${file} was removed`;
    if (size !== expected) return `${file} has ${size} bytes, ${expected} were written`;
  }
  return undefined;
}

export async function segmentsIn(folder: string): Promise<number[]> {
  return numbersOf((await readdir(folder).catch(ifMissing)) ?? []);
}

function segmentOf(file: FileHandle, number: number, header: number): Segment {
  let usable = true;
  let size = header;

  return {
    number,
    get usable(): boolean {
      return usable;
    },
    get size(): number {
      return size;
    },
    async append(batch: Iterable<Buffer>): Promise<void> {
      let end = size;
      try {
        for (const line of batch) {
          await file.appendFile(line);
          end += line.length;
        }
        await file.datasync();
      } catch (error) {
        usable = false;
        if (isNoRoom(error)) {
          await file.truncate(size);
          usable = true;
        }
        throw error;
      }
      size = end;
    },
    close: (): Promise<void> => file.close(),
  };
}

/**
 * Splits a batch into lines of about `lineSize` characters, each a millisecond of the event loop. They count only together: the last line,
 * which is a JSON list, completes the batch.
 */
export function* encodeBatch(changes: Iterable<KeptChange>, lineSize = 256 * 1024): Generator<Buffer> {
  let line: string[] = [];
  let length = 0;
  for (const change of changes) {
    const text = textOfChange(change);
    line.push(text);
    length += text.length;
    if (length < lineSize) continue;
    yield encode(`{"continued":[${line.join(',')}]}`);
    [line, length] = [[], 0];
  }
  yield encode(`[${line.join(',')}]`);
}

export function textOfChange(change: KeptChange): string {
  return typeof change === 'string' ? change : JSON.stringify(change);
}

/** Encodes a line: eight hexadecimal digits of the CRC-32 of the rest, a space, JSON. */
function encode(body: string): Buffer {
  return Buffer.from(`${checksum(body)} ${body}\n`);
}

export function numbersOf(files: readonly string[]): number[] {
  return files
    .flatMap((file) => name.exec(file)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** Returns whether the disk or a quota is full. Earlier data is safe then, and there may be room later. */
export function isNoRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

export function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Syncs a folder, because a new file's name is on disk only after that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function segmentFile(folder: string, number: number): string {
  return join(folder, `state-${String(number).padStart(10, '0')}.log`);
}

export function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}
