import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Millis } from '../../model/log-line.ts';

/** Files of the audit that are no longer written, beside the one that is. */
export interface FinishedFiles {
  /** A free name for a file that is finished at that time. */
  nameAt: (time: Millis) => Promise<string>;
  /** Packs what is not packed, and removes the oldest past the total; in the background, one at a time. */
  tidy: () => void;
  /** Resolves when nothing is under way any more. */
  settled: () => Promise<void>;
}

/** `most`: bytes of all of them together. */
export function createFinishedFiles(path: string, most: number): FinishedFiles {
  const folder = dirname(path);
  const extension = extname(path);
  const stem = basename(path, extension);
  let running: Promise<void> | undefined;
  let again = false;

  return {
    async nameAt(time) {
      const stamp = new Date(time).toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
      const taken = new Set(await readdir(folder));
      let number = 1;
      while (taken.has(nameOf(stamp, number)) || taken.has(`${nameOf(stamp, number)}.gz`)) number++;
      return join(folder, nameOf(stamp, number));
    },
    tidy() {
      again = true;
      running ??= run();
    },
    settled: async () => running,
  };

  function nameOf(stamp: string, number: number): string {
    return `${stem}-${stamp}-${number}${extension}`;
  }

  async function run(): Promise<void> {
    while (again) {
      again = false;
      // What fails, as on a full disk, is tried again with the next file.
      await packAll().catch(() => undefined);
      await removeOldest().catch(() => undefined);
    }
    running = undefined;
  }

  async function packAll(): Promise<void> {
    const names = await namesOf();
    for (const name of names) {
      if (name.endsWith('.gz')) continue;
      // A run that was killed in between had packed it.
      if (!names.includes(`${name}.gz`)) await pack(join(folder, name), join(folder, `.${stem}.part`));
      await rm(join(folder, name), { force: true });
    }
  }

  async function removeOldest(): Promise<void> {
    const names = await namesOf();
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
    let sum = sizes.reduce((a, b) => a + b, 0);
    for (const [index, name] of names.entries()) {
      if (sum <= most) return;
      await rm(join(folder, name), { force: true });
      sum -= sizes[index] ?? 0;
    }
  }

  /** Oldest first: the stamp sorts as text, the number after it does not. */
  async function namesOf(): Promise<string[]> {
    const names = (await readdir(folder)).filter((name) => isOurs(name));
    return names.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  function isOurs(name: string): boolean {
    const rest = name.startsWith(`${stem}-`) ? name.slice(stem.length + 1) : '';
    const end = rest.endsWith('.gz') ? rest.slice(0, -'.gz'.length) : rest;
    return end.endsWith(extension) && /^\d{4}-\d\d-\d\d-\d{6}-\d+$/.test(end.slice(0, end.length - extension.length));
  }
}

/** Into `part`, a hidden name, until it is whole: a reader of the folder finds complete files only. */
async function pack(path: string, part: string): Promise<void> {
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(part, { mode: 0o640 }));
    await rename(part, `${path}.gz`);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
