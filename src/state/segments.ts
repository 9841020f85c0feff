import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Millis } from '../model/log-line.ts';
import type { StateChange } from '../model/state-change.ts';

const format = 'kube-netfilter-tailer state log';
/** Version 1 had no batches of more than one line, and no `clear`. */
const versions = [1, 2] as readonly unknown[];
const name = /^state-(\d{10})\.log$/;

/** Bytes of one segment that are read at most: what is larger was not written by this program. */
const largest = 256 * 1024 * 1024;

/** `clear` forgets everything before it, as the first change of a batch. JSON is taken as it is. */
export type KeptChange = StateChange | readonly ['clear'] | string;

type Batch = readonly Exclude<KeptChange, string>[];

/** A file that batches of changes are appended to. */
export type Segment = ReturnType<typeof segmentOf>;

/** Bytes of each segment by its number, oldest first; undefined where that is not known. */
export type SegmentSizes = Map<number, number | undefined>;

/** What the segments of a folder hold together. */
export interface Kept {
  /** By key; plain JSON. */
  values: Map<string, unknown>;
  segments: SegmentSizes;
  /** When the newest was last written; -Infinity without any. */
  saved: Millis;
  /** Why reading ended before the end; undefined when all was as written, or only the last batch of a segment was cut off. */
  damage: string | undefined;
}

/** Reads all segments, oldest first, up to what is damaged, so the result was true at one moment. Throws when it cannot read. */
export function readSegments(folder: string): Kept {
  const kept: Kept = { values: new Map(), segments: new Map(), saved: -Infinity, damage: undefined };
  for (const number of numbersOf(namesIn(folder))) {
    const file = segmentFile(folder, number);
    const { text, size, modified } = readWhole(file);
    kept.segments.set(number, size);
    kept.saved = modified;
    replay(text, basename(file), kept);
  }
  return kept;
}

/** Makes an empty segment, readable for this user only. Rejects when there is one of that number, or it cannot be made. */
export async function createSegment(folder: string, number: number): Promise<Segment> {
  await mkdir(folder, { recursive: true });
  const file = await open(segmentFile(folder, number), 'ax', 0o600);
  try {
    const header = encode(JSON.stringify({ format, version: versions.at(-1) }));
    await file.appendFile(header);
    await syncFolder(folder);
    return segmentOf(file, number, header.length);
  } catch (error) {
    await file.close();
    throw error;
  }
}

export async function removeSegment(folder: string, number: number): Promise<void> {
  await rm(segmentFile(folder, number), { force: true });
}

/** Why a folder no longer holds these segments as they were written, for a person; undefined if it does. */
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

/** Numbers of all segments in a folder, whoever made them. */
export async function segmentsIn(folder: string): Promise<number[]> {
  return numbersOf((await readdir(folder).catch(ifMissing)) ?? []);
}

function segmentOf(file: FileHandle, number: number, header: number) {
  let usable = true;
  let size = header;

  return {
    number,
    /** False once half a batch may stand at its end: what comes after it would not be read. */
    get usable(): boolean {
      return usable;
    },
    /** Bytes of all that was appended. */
    get size(): number {
      return size;
    },
    /** Appends what `encodeBatch` makes. When this resolves, it is on disk; when it rejects, it may be. */
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
        await file.truncate(size);
        usable = true;
        throw error;
      }
      size = end;
    },
    close: (): Promise<void> => file.close(),
  };
}

/**
 * One batch in lines of about `lineSize` characters (a millisecond of the event loop), each made when it is asked for. The last
 * line is a list; without it none of the others counts.
 */
export function* encodeBatch(changes: Iterable<KeptChange>, lineSize = 256 * 1024): Generator<Buffer> {
  let line: string[] = [];
  let length = 0;
  for (const change of changes) {
    const text = textOf(change);
    line.push(text);
    length += text.length;
    if (length < lineSize) continue;
    yield encode(`{"continued":[${line.join(',')}]}`);
    [line, length] = [[], 0];
  }
  yield encode(`[${line.join(',')}]`);
}

export function textOf(change: KeptChange): string {
  return typeof change === 'string' ? change : JSON.stringify(change);
}

/** One line: eight hexadecimal digits of the CRC-32 of the rest, a space, JSON. The last of a segment may be cut off. */
function encode(body: string): Buffer {
  return Buffer.from(`${checksum(body)} ${body}\n`);
}

/** Applies the batches of one segment, and notes what is wrong with it, if anything but its last line is. */
function replay(text: string, file: string, kept: Kept): void {
  let continued: Batch = [];
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) return;
    const body = text.slice(start + 9, end);
    if (text.slice(start, start + 9) !== `${checksum(body)} `) {
      if (end + 1 < text.length) kept.damage ??= `the batch at character ${start} of ${file} is not as it was written`;
      return;
    }
    const content = JSON.parse(body) as unknown;
    if (start === 0) {
      const reason = unreadable(content as Record<string, unknown>);
      kept.damage ??= reason && `${file} ${reason}`;
      if (reason !== undefined) return;
    } else if (Array.isArray(content)) {
      applyBatch([...continued, ...(content as Batch)], kept);
      continued = [];
    } else continued = [...continued, ...(content as { continued: Batch }).continued];
  }
}

/** What is wrong with the header of a segment. */
function unreadable({ format: found, version }: Record<string, unknown>): string | undefined {
  if (found !== format) return 'is no state log of this program';
  return versions.includes(version)
    ? undefined
    : `has version ${String(version)}, this program reads ${versions.join(', ')}`;
}

/** After damage nothing counts, up to a batch that builds on nothing before it. */
function applyBatch(batch: Batch, kept: Kept): void {
  for (const change of batch) {
    if (change[0] === 'clear') {
      kept.damage = undefined;
      kept.values.clear();
    } else if (kept.damage === undefined) applyChange(change, kept.values);
  }
}

/** Changes the values by their keys; `change` and what it holds become part of them. */
export function applyChange(change: StateChange, values: Map<string, unknown>): void {
  const [kind, key] = change;
  if (kind === 'set') values.set(key, change[2]);
  else if (kind === 'remove') values.delete(key);
  else if (values.has(key)) {
    const value = values.get(key) as Record<string, unknown>;
    if (kind === 'merge') Object.assign(value, change[2]);
    else {
      const [, , field, from, added] = change;
      value[field] = [...(value[field] as unknown[]).slice(0, from), ...added];
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ifMissing(error) ?? [];
  }
}

function numbersOf(files: readonly string[]): number[] {
  return files
    .flatMap((file) => name.exec(file)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** Throws what is wrong, if it is anything else. */
function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Neither waits for a pipe in the file's place, nor reads what is far too large. */
function readWhole(file: string): { text: string; size: number; modified: Millis } {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new Error(`${file} is no regular file`);
    if (found.size > largest) throw new Error(`${file} is larger than ${largest / 1024 / 1024} MiB`);
    return { text: readFileSync(descriptor, 'utf8'), size: found.size, modified: found.mtimeMs };
  } finally {
    closeSync(descriptor);
  }
}

/** A new name is on disk only after its folder is. */
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

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}
