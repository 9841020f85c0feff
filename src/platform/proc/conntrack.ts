/** Size and limit of a connection tracking table. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How full a connection tracking table is: entries, and how many it takes. */
export interface Conntrack {
  count: number | undefined;
  max: number | undefined;
}

/** Of the network namespace of `process` (a folder under `root`), without which only the maximum is read. Never rejects. */
export async function readConntrack(root: string, process: string | undefined): Promise<Conntrack | undefined> {
  const [count, max] = await Promise.all([
    process === undefined ? undefined : countOf(root, process),
    readNumber(join(root, 'sys/net/netfilter/nf_conntrack_max')),
  ]);
  return count === undefined && max === undefined ? undefined : { count, max };
}

/** What is under `sys/net` shows the namespace of whoever reads it, also in the host's /proc. */
async function countOf(root: string, process: string): Promise<number | undefined> {
  if (process === 'self') return readNumber(join(root, 'sys/net/netfilter/nf_conntrack_count'));
  // A heading, then a line for each processor that begins with the entries of the whole table, hexadecimal.
  const [, entries] =
    /^entries[^\n]*\n([0-9a-f]{1,8})\b/.exec(await read(join(root, process, 'net/stat/nf_conntrack'))) ?? [];
  return entries === undefined ? undefined : Number.parseInt(entries, 16);
}

async function readNumber(file: string): Promise<number | undefined> {
  const text = (await read(file)).trim();
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export async function read(file: string): Promise<string> {
  return readFile(file, 'latin1').catch(() => '');
}
