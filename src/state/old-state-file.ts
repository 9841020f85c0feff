import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Millis } from '../model/log-line.ts';
import { reasonOf } from '../platform/system-error.ts';

const format = 'kube-netfilter-tailer state';
/** Those that were written so; the log of changes in `segments.ts` came after them. */
const versions = [1, 2, 4] as readonly unknown[];
/** What the first ones called otherwise, wherever it stands; the rest is the same. */
const names = new Map([
  ['story', 'details'],
  ['culprit', 'failingPod'],
  ['talkers', 'topSources'],
  ['untold', 'unpublished'],
  ['endUntold', 'endUnpublished'],
  ['pointed', 'notifiedPods'],
  ['told', 'reported'],
  ['tells', 'reportsFailures'],
  ['troubled', 'unhealthy'],
]);

/** Bytes. Thousands of problems take 10 MB; reading what is far larger would cost more memory than the Pod may have. */
const largest = 64 * 1024 * 1024;

/** What is in a state file as it was before the log of changes: all of the state, each time. */
export type StateFile =
  | { kind: 'state'; state: unknown; saved: Millis }
  | { kind: 'none' }
  /** Not what this program has written. */
  | { kind: 'unusable'; reason: string }
  /** It may be there, but cannot be read. */
  | { kind: 'unreadable'; reason: string };

/** Reads a state file, two lines of JSON, the first with the SHA-256 of the second, and leaves it as it is. Never throws. */
export function readState(file: string): StateFile {
  let descriptor: number | undefined;
  try {
    // A pipe without a writer would be waited for.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return { kind: 'unreadable', reason: 'it is a folder' };
    if (!stat.isFile()) return refuse('it is no regular file');
    if (stat.size > largest) return refuse(`it is larger than ${largest / 1024 / 1024} MiB`);
    return parse(readFileSync(descriptor, 'utf8'), stat.mtimeMs);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' };
    return { kind: 'unreadable', reason: reasonOf(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function parse(text: string, saved: Millis): StateFile {
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  try {
    const header = JSON.parse(text.slice(0, end < 0 ? undefined : end)) as Record<string, unknown> | null;
    if (header?.['format'] !== format) return refuse('it is no state file of this program');
    if (!versions.includes(header['version']))
      return refuse(`it has version ${String(header['version'])}, this program reads ${versions.join(', ')}`);
    if (header['sha256'] !== hash('sha256', body)) return refuse('it is damaged: its checksum is another');
    return { kind: 'state', state: JSON.parse(body, renamed), saved };
  } catch {
    return refuse('it is no state file of this program');
  }
}

/** A reviver for `JSON.parse`: gives the fields of an object their names of today. */
function renamed(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [names.get(name) ?? name, each]));
}

function refuse(reason: string): StateFile {
  return { kind: 'unusable', reason };
}
