import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Millis } from '../model/log-line.ts';
import type { StateChange } from '../model/state-change.ts';

const format = 'kube-netfilter-tailer state log';
const version = 1;
const name = /^state-(\d{10})\.log$/;

/** Bytes of one segment that are read at most: what is larger was not written by this program. */
const largest = 256 * 1024 * 1024;

/** A file that batches of changes are appended to. */
export type Segment = ReturnType<typeof segmentOf>;

/** What the segments of a folder hold together. */
export interface Kept {
  /** By key; plain JSON. */
  values: Map<string, unknown>;
  /** Bytes by number, oldest first. */
  segments: Map<number, number>;
  /** When the newest was last written; -Infinity without any. */
  saved: Millis;
  /** Why reading ended before the end; undefined when all was as written, or only the last batch of a segment was cut off. */
  damage: string | undefined;
}

/** Reads all segments, oldest first, up to what is damaged, so the result was true at one moment. Throws when it cannot read. */
export function readSegments(folder: string): Kept {
  const kept: Kept = { values: new Map(), segments: new Map(), saved: -Infinity, damage: undefined };
  for (const number of segmentsIn(folder)) {
    const file = segmentFile(folder, number);
    const { text, modified } = readWhole(file);
    kept.segments.set(number, text.length);
    kept.saved = modified;
    kept.damage ??= replay(text, basename(file), kept.values);
  }
  return kept;
}

/** Makes an empty segment, readable for this user only. Rejects when there is one of that number, or it cannot be made. */
export async function createSegment(folder: string, number: number): Promise<Segment> {
  await mkdir(folder, { recursive: true });
  const file = await open(segmentFile(folder, number), 'ax', 0o600);
  try {
    const header = encode(JSON.stringify({ format, version }));
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

function segmentOf(file: FileHandle, number: number, header: number) {
  let usable = true;
  let end = header;

  return {
    number,
    /** False once half a batch may stand at its end: what comes after it would not be read. */
    get usable(): boolean {
      return usable;
    },
    /** Appends what `encodeBatch` has made. When this resolves, it is on disk; when it rejects, it may be. */
    async append(batch: Buffer): Promise<void> {
      try {
        await file.appendFile(batch);
        await file.datasync();
      } catch (error) {
        usable = false;
        await file.truncate(end);
        usable = true;
        throw error;
      }
      end += batch.length;
    },
    close: (): Promise<void> => file.close(),
  };
}

/** One batch, of changes that are JSON already. */
export function encodeBatch(changes: readonly string[]): Buffer {
  return encode(`[${changes.join(',')}]`);
}

/** One line: eight hexadecimal digits of the CRC-32 of the rest, a space, JSON. The last of a segment may be cut off. */
function encode(body: string): Buffer {
  return Buffer.from(`${checksum(body)} ${body}\n`);
}

/** Applies the batches of one segment. Returns what is wrong with it, if anything but its last line is. */
function replay(text: string, file: string, values: Map<string, unknown>): string | undefined {
  let isHeader = true;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) return undefined;
    const body = text.slice(start + 9, end);
    if (text.slice(start, start + 9) !== `${checksum(body)} `)
      return end + 1 < text.length ? `the batch at character ${start} of ${file} is not as it was written` : undefined;
    const content = JSON.parse(body) as unknown;
    if (isHeader) {
      const header = content as { format?: unknown; version?: unknown };
      if (header.format !== format) return `${file} is no state log of this program`;
      if (header.version !== version)
        return `${file} has version ${String(header.version)}, this program reads version ${version}`;
      isHeader = false;
    } else for (const change of content as StateChange[]) applyChange(change, values);
  }
  return undefined;
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

function segmentsIn(folder: string): number[] {
  try {
    return readdirSync(folder)
      .flatMap((file) => name.exec(file)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => a - b);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Neither waits for a pipe in the file's place, nor reads what is far too large. */
function readWhole(file: string): { text: string; modified: Millis } {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error(`${file} is no regular file`);
    if (stat.size > largest) throw new Error(`${file} is larger than ${largest / 1024 / 1024} MiB`);
    return { text: readFileSync(descriptor, 'utf8'), modified: stat.mtimeMs };
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
