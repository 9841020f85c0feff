import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Millis } from '../../base/model/log-line.ts';
import type { StateChange } from '../../base/platform/keyed-changes.ts';
import {
  checksum,
  format,
  ifMissing,
  type KeptChange,
  numbersOf,
  segmentFile,
  type SegmentSizes,
  version,
} from './segments.ts';

/** The largest segment that is read, because this program writes no larger ones. */
const largest = 256 * 1024 * 1024;

type Batch = readonly Exclude<KeptChange, string>[];

export interface SegmentContents {
  values: Map<string, unknown>;
  /** The agent whose changes count, because another agent may have used the same folder. */
  writer: unknown;
  segments: SegmentSizes;
  /** Folders and the like that have the name of a segment. */
  noFiles: string[];
  /** When the newest segment was last written; -Infinity without one. */
  saved: Millis;
  /** Why reading ended early. Undefined if everything was read, or only the last batch of a segment was cut off. */
  damage: string | undefined;
}

/** Reads all segments, oldest first, up to the first damage. So the result was true at one moment. Throws if it cannot read. */
export function readSegments(folder: string): SegmentContents {
  const kept: SegmentContents = {
    values: new Map(),
    writer: undefined,
    segments: new Map(),
    noFiles: [],
    saved: -Infinity,
    damage: undefined,
  };
  for (const number of numbersOf(namesIn(folder))) {
    const file = segmentFile(folder, number);
    const read = readWhole(file);
    if (read === undefined) {
      kept.noFiles.push(file);
      kept.damage ??= `${basename(file)} is not a regular file`;
      continue;
    }
    kept.segments.set(number, read.size);
    kept.saved = read.modified;
    replay(read.text, basename(file), kept);
  }
  return kept;
}

/** Any error is damage, except an unwritten end: after a power cut, it may contain zeros or other bytes. */
function replay(text: string, file: string, kept: SegmentContents): void {
  let continued: Batch = [];
  let writer: unknown;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) return;
    const body = text.slice(start + 9, end);
    if (text.slice(start, start + 9) !== `${checksum(body)} `) {
      const remaining = text.slice(end + 1);
      if (start === 0 ? remaining !== '' : hasBatch(remaining))
        kept.damage ??= `the batch at character ${start} of ${file} is not as it was written`;
      return;
    }
    const content = JSON.parse(body) as unknown;
    if (start === 0) {
      const header = content as Record<string, unknown>;
      const reason = unreadable(header);
      ({ writer } = header);
      kept.writer ??= writer;
      kept.damage ??= reason && `${file} ${reason}`;
      if (reason !== undefined) return;
    } else if (Array.isArray(content)) {
      applyBatch([...continued, ...(content as Batch)], writer, kept);
      continued = [];
    } else continued = [...continued, ...(content as { continued: Batch }).continued];
  }
}

function hasBatch(text: string): boolean {
  return text.split('\n').some((line) => line.length > 9 && line.startsWith(`${checksum(line.slice(9))} `));
}

function unreadable(header: Record<string, unknown>): string | undefined {
  if (header['format'] !== format) return 'is not a state log of this program';
  if (header['version'] === version) return undefined;
  return `has version ${String(header['version'])}, this program reads ${version}`;
}

/** After damage, batches do not count until one of them begins with `clear`. */
function applyBatch(batch: Batch, writer: unknown, kept: SegmentContents): void {
  for (const change of batch) {
    if (change[0] === 'clear') {
      kept.damage = undefined;
      kept.writer = writer;
      kept.values.clear();
    } else if (kept.damage === undefined && kept.writer === writer) applyChange(change, kept.values);
  }
}

/** Applies a change. `change` and its contents become part of the values. */
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

/** Returns undefined if it is not a file. Does not wait for a pipe, and does not read a file that is too large. */
function readWhole(file: string): { text: string; size: number; modified: Millis } | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return undefined;
    if (found.size > largest) throw new Error(`${file} is larger than ${largest / 1024 / 1024} MiB`);
    return { text: readFileSync(descriptor, 'utf8'), size: found.size, modified: found.mtimeMs };
  } finally {
    closeSync(descriptor);
  }
}
