import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { reasonOf } from '../../platform/system-error.ts';

export interface FindJournalOptions {
  /** Default: where journald keeps a journal over reboots, and where until the next one. */
  directories?: readonly string[];
  /** PATH as in the environment. */
  searchPath: string;
}

const usualDirectories = ['/var/log/journal', '/run/log/journal'];
const machineId = /^[0-9a-f]{32}$/;

/** Returns the directory that was written to last, because journald leaves files of another set-up behind. The reason is for a person. */
export function findJournal({
  directories = usualDirectories,
  searchPath,
}: FindJournalOptions): { directory: string } | { reason: string } {
  if (!searchPath.split(delimiter).some((folder) => isAccessible(join(folder, 'journalctl'), constants.X_OK)))
    return { reason: 'there is no journalctl in this image' };
  const reasons: string[] = [];
  let latest: { directory: string; written: number } | undefined;
  for (const directory of directories) {
    const found = newestIn(directory);
    if ('reason' in found) reasons.push(`${directory}: ${found.reason}`);
    else if (latest === undefined || found.written > latest.written) latest = { directory, written: found.written };
  }
  return latest === undefined ? { reason: reasons.join('; ') } : { directory: latest.directory };
}

function newestIn(directory: string): { written: number } | { reason: string } {
  try {
    const folders = readdirSync(directory).filter((name) => machineId.test(name));
    const files = [directory, ...folders.map((name) => join(directory, name))].flatMap(journalsIn);
    if (files.length === 0) return { reason: 'there is no journal' };
    const readable = files.filter((file) => isAccessible(file, constants.R_OK));
    if (readable.length === 0) return { reason: 'the journal may not be read: it takes root, or its group' };
    return { written: Math.max(...readable.map((file) => statSync(file).mtimeMs)) };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function journalsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.journal'))
    .map((name) => join(folder, name));
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
