import { createHash } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const format = 'kube-netfilter-tailer state';
const version = 1;

/** What was found when a run began. */
export type Loaded =
  | { kind: 'restored'; state: unknown }
  /** Nothing there: the first run here. */
  | { kind: 'none' }
  /** It cannot be used; it lies at `aside` now, if that is defined, and nothing is in its place. */
  | { kind: 'unusable'; reason: string; aside: string | undefined }
  /** It may be there, but cannot be read. */
  | { kind: 'unreadable'; reason: string };

/**
 * Reads a state file: two lines of JSON, the first with the SHA-256 of the second. Whatever is not exactly what was written is
 * set aside as `FILE.unusable-TIME`. Never throws.
 */
export function loadState(file: string, now: Date): Loaded {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' };
    return { kind: 'unreadable', reason: (error as Error).message };
  }
  const found = parse(text);
  if (found.reason === undefined) return { kind: 'restored', state: found.state };
  return { kind: 'unusable', reason: found.reason, aside: setAside(file, now) };
}

/** Moves a state file out of the way. Returns where it is now; undefined if it could not be moved. */
export function setAside(file: string, now: Date): string | undefined {
  const aside = `${file}.unusable-${now.toISOString().replaceAll(':', '').slice(0, 17)}Z`;
  try {
    renameSync(file, aside);
    return aside;
  } catch {
    return undefined;
  }
}

function parse(text: string): { state: unknown; reason: undefined } | { state: undefined; reason: string } {
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  try {
    const header = JSON.parse(text.slice(0, end < 0 ? undefined : end)) as Record<string, unknown> | null;
    if (header?.['format'] !== format) return refuse('it is no state file of this program');
    if (header['version'] !== version)
      return refuse(`it has version ${String(header['version'])}, this program writes ${version}`);
    if (header['sha256'] !== digest(body)) return refuse('it is damaged: its checksum is another');
    return { state: JSON.parse(body), reason: undefined };
  } catch {
    return refuse('it is no state file of this program');
  }
}

/** Writes a state file in one step: whoever reads it sees all of the old or all of the new, also after a power cut. Rejects when it cannot. */
export async function writeState(file: string, body: string): Promise<void> {
  const next = `${file}.next`;
  const header = JSON.stringify({ format, version, sha256: digest(body) });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(next, `${header}\n${body}`, { flush: true, mode: 0o600 });
  await rename(next, file);
}

function refuse(reason: string): { state: undefined; reason: string } {
  return { state: undefined, reason };
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}
