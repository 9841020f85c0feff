/** Addresses that hold most of a connection tracking table. */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalAddress, copy } from './address.ts';
import type { Millis } from '../model/log-line.ts';

export interface TopSource {
  address: string;
  connections: number;
}

export interface TopSources {
  top: TopSource[];
  counted: number;
  /** False where a bound was reached: every number is a lower bound, the shares are still about right. */
  complete: boolean;
}

export interface TopSourceLimits {
  lines?: number;
  bytes?: number;
  /** Older kernels walk the table again for each 4 KiB: a large one takes seconds. */
  time?: Millis;
  now?: () => Millis;
}

const topLimit = 3;
const blockSize = 64 * 1024;

/**
 * The table of `process` (a folder under `root`) is in the order of its hashes, so that a part of it is a fair sample. Undefined
 * where it cannot be read: not all kernels have it (CONFIG_NF_CONNTRACK_PROCFS), and only root may. Never rejects.
 */
export async function readTopSources(
  root: string,
  process: string,
  limits: TopSourceLimits = {},
): Promise<TopSources | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(root, process, 'net/nf_conntrack'));
    return await countSources(file, limits);
  } catch {
    return undefined;
  } finally {
    await file?.close().catch(() => undefined);
  }
}

async function countSources(
  file: FileHandle,
  { lines = 65_536, bytes = 8 << 20, time = 500, now = () => performance.now() }: TopSourceLimits,
): Promise<TopSources> {
  const started = now();
  const block = Buffer.allocUnsafe(blockSize);
  const connections = new Map<string, number>();
  let counted = 0;
  let read = 0;
  let rest = '';
  for (;;) {
    if (counted >= lines || read >= bytes || now() - started >= time)
      return { top: top(connections), counted, complete: false };
    const { bytesRead } = await file.read(block, 0, blockSize, null);
    if (bytesRead === 0) return { top: top(connections), counted, complete: true };
    read += bytesRead;
    const text = rest + block.toString('latin1', 0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    // No line of the kernel's is as long as a block.
    rest = text.length - end > blockSize ? '' : text.slice(end);
    for (const [, source = ''] of text.slice(0, end).matchAll(original)) {
      const known = connections.get(source);
      connections.set(known === undefined ? copy(source) : source, (known ?? 0) + 1);
      if (++counted >= lines) break;
    }
  }
}

/** `ipv4     2 tcp      6 117 SYN_SENT src=… dst=… … [UNREPLIED] src=…`: the first source of a line is whoever began. */
const original = /^ipv[46] .*? src=([0-9a-f.:]{2,45}) .*$/gm;

/** One pass: a table that every packet has its own source in would take long to sort. */
function top(connections: ReadonlyMap<string, number>): TopSource[] {
  const most: TopSource[] = [];
  for (const [source, count] of connections) {
    if (most.length === topLimit && count <= (most.at(-1) as TopSource).connections) continue;
    const address = canonicalAddress(source);
    if (address === '') continue;
    const place = most.findIndex(({ connections: less }) => less < count);
    most.splice(place === -1 ? most.length : place, 0, { address, connections: count });
    most.length = Math.min(most.length, topLimit);
  }
  return most;
}
