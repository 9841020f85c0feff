import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Millis } from '../model/log-line.ts';
import type { StateChange } from '../platform/keyed-changes.ts';
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

/** Larger segments were not written by this program. */
const largest = 256 * 1024 * 1024;

type Batch = readonly Exclude<KeptChange, string>[];

export interface Kept {
  values: Map<string, unknown>;
  /** Changes of another agent that uses the folder are left out. */
  writer: unknown;
  segments: SegmentSizes;
  /** The time of the last write to the newest; -Infinity without any. */
  saved: Millis;
  /** Why reading ended early; undefined if all was as written, or only the last batch of a segment was cut off. */
  damage: string | undefined;
}

/** Reads all segments, oldest first, up to damage, so the result was true at one moment. Throws if it cannot read. */
export function readSegments(folder: string): Kept {
  const kept: Kept = { values: new Map(), writer: undefined, segments: new Map(), saved: -Infinity, damage: undefined };
  for (const number of numbersOf(namesIn(folder))) {
    const file = segmentFile(folder, number);
    const { text, size, modified } = readWhole(file);
    kept.segments.set(number, size);
    kept.saved = modified;
    replay(text, basename(file), kept);
  }
  return kept;
}

/** Damage is anything wrong but a last line that is cut off. */
function replay(text: string, file: string, kept: Kept): void {
  let continued: Batch = [];
  let writer: unknown;
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

function unreadable(header: Record<string, unknown>): string | undefined {
  if (header['format'] !== format) return 'is no state log of this program';
  if (header['version'] === version) return undefined;
  return `has version ${String(header['version'])}, this program reads ${version}`;
}

/** After damage nothing counts before a batch that builds on nothing. */
function applyBatch(batch: Batch, writer: unknown, kept: Kept): void {
  for (const change of batch) {
    if (change[0] === 'clear') {
      kept.damage = undefined;
      kept.writer = writer;
      kept.values.clear();
    } else if (kept.damage === undefined && kept.writer === writer) applyChange(change, kept.values);
  }
}

/** `change` and what it holds become part of the values. */
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

/** Reads a file, but neither waits for a pipe nor reads a file that is too large. */
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
