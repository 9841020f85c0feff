import { type FileHandle, open, opendir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '../model/log-line.ts';
import { canonicalAddress, copy } from './address.ts';

/** Connection tracking tables and their owners, as /proc shows them. Nothing here rejects. */
interface Proc {
  /** Reads the table of the host, or of the network namespace with that inode. */
  conntrack: (netns: number | undefined) => Promise<Conntrack | undefined>;
  topSources: (netns: number | undefined) => Promise<TopSources | undefined>;
  podOf: (netns: number) => Promise<string | undefined>;
}

/** `root`: the host's /proc, wherever it is mounted. */
export function createProc(root = '/proc'): Proc {
  /** Searches under way: questions about one namespace at the same time share one walk through the processes. */
  const searches = new Map<number, Promise<NamespaceOwner | undefined>>();

  return {
    async conntrack(netns) {
      return readConntrack(root, await processFor(netns));
    },
    async topSources(netns) {
      const process = await processFor(netns);
      return process === undefined ? undefined : readTopSources(root, process);
    },
    async podOf(netns) {
      return (await ownerOf(netns))?.pod;
    },
  };

  async function processFor(netns: number | undefined): Promise<string | undefined> {
    return netns === undefined ? hostProcess(root) : (await ownerOf(netns))?.process;
  }

  function ownerOf(netns: number): Promise<NamespaceOwner | undefined> {
    let search = searches.get(netns);
    if (search === undefined) {
      search = findNamespaceOwner(root, netns).finally(() => searches.delete(netns));
      searches.set(netns, search);
    }
    return search;
  }
}

/** `process`: a folder under the root. `pod`: its uid; undefined if the processes are of none, or of several. */
type NamespaceOwner = { process: string; pod: string | undefined };

/** Limits the search; no node has nearly as many processes. */
const processLimit = 32_768;
/** Threads for file access. */
const together = 4;

/**
 * Finds who has the namespace of `table full in netns 4026532317`. Undefined if no visible process is in it: that needs `hostPID`
 * or the host's /proc, and for other users' processes CAP_SYS_PTRACE. The host's own namespace has no owner. Never rejects.
 */
export async function findNamespaceOwner(root: string, inode: number): Promise<NamespaceOwner | undefined> {
  if ((await namespaceOf(root, '1')) === inode) return undefined;
  const inside = await processesIn(root, inode);
  const [process] = inside;
  if (process === undefined) return undefined;
  const pods = new Set<string>();
  for (const one of inside) {
    const pod = podOf(await read(join(root, one, 'cgroup')));
    if (pod !== undefined) pods.add(pod);
  }
  const [pod] = pods;
  return { process, pod: pods.size === 1 ? pod : undefined };
}

async function processesIn(root: string, inode: number): Promise<string[]> {
  const inside: string[] = [];
  let left = processLimit;
  let batch: string[] = [];
  try {
    for await (const { name } of await opendir(root)) {
      if (!/^\d+$/.test(name)) continue;
      if (left-- === 0) break;
      batch.push(name);
      if (batch.length === together) await look();
    }
    await look();
  } catch {
    // A part of the processes is better than none.
  }
  return inside;

  async function look(): Promise<void> {
    const found = await Promise.all(batch.map((process) => namespaceOf(root, process)));
    inside.push(...batch.filter((_, index) => found[index] === inode));
    batch = [];
  }
}

/**
 * The uid of a Pod in a `cgroup` file (cgroups(7), kubernetes/pkg/kubelet/cm/cgroup_manager_linux.go): with cgroupfs
 * `/kubepods/burstable/pod<uid>/…`, with systemd `kubepods-burstable-pod<uid>.slice` with `_` for `-`; of a static Pod 32 digits.
 * In a cgroup namespace `kubepods` may be missing. The outermost counts: a node may itself run in a Pod.
 */
export function podOf(cgroups: string): string | undefined {
  return uid.exec(cgroups)?.[1]?.replaceAll('_', '-');
}

const uid = /[/-]pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?=\.slice|[/\n]|$)/;

/** Returns a folder under `root`: `self`, or `1` (the host's init). Undefined in a Pod without hostNetwork that sees only itself. */
export async function hostProcess(root: string): Promise<'self' | '1' | undefined> {
  if (await isInitial(root)) return 'self';
  const [own, first] = await Promise.all([namespaceOf(root, 'self'), namespaceOf(root, '1')]);
  // A process whose namespace may not be read has more rights, so it is not of this Pod.
  return first !== undefined && first === own ? undefined : '1';
}

/** This setting is writable in the initial network namespace only; its mode shows that even if /proc/sys is mounted read-only. */
async function isInitial(root: string): Promise<boolean> {
  try {
    const { mode } = await stat(join(root, 'sys/net/netfilter/nf_conntrack_buckets'));
    return (mode & 0o200) !== 0;
  } catch {
    return false;
  }
}

/** Returns the inode of a process's network namespace; undefined if that may not be read (ptrace(2), access mode checking). */
export async function namespaceOf(root: string, process: string): Promise<number | undefined> {
  try {
    const [, inode] = /^net:\[(\d+)\]$/.exec(await readlink(join(root, process, 'ns/net'))) ?? [];
    return inode === undefined ? undefined : Number(inode);
  } catch {
    return undefined;
  }
}

/** The entries of a connection tracking table, and how many it takes. */
export interface Conntrack {
  count: number | undefined;
  max: number | undefined;
}

/** Reads the table of the network namespace of `process` (a folder under `root`); without one, only the maximum. Never rejects. */
export async function readConntrack(root: string, process: string | undefined): Promise<Conntrack | undefined> {
  const [count, max] = await Promise.all([
    process === undefined ? undefined : countOf(root, process),
    readNumber(join(root, 'sys/net/netfilter/nf_conntrack_max')),
  ]);
  return count === undefined && max === undefined ? undefined : { count, max };
}

/** Files under `sys/net` show the namespace of their reader, also in the host's /proc. */
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

async function read(file: string): Promise<string> {
  return readFile(file, 'latin1').catch(() => '');
}

/** The addresses that hold most of a connection tracking table. */
interface TopSources {
  top: { address: string; connections: number }[];
  counted: number;
  /** False if a bound was reached: every number is a lower bound, the shares are still about right. */
  complete: boolean;
}

interface TopSourceLimits {
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
  let bytesSoFar = 0;
  let rest = '';
  for (;;) {
    if (counted >= lines || bytesSoFar >= bytes || now() - started >= time)
      return { top: top(connections), counted, complete: false };
    const { bytesRead } = await file.read(block, 0, blockSize, null);
    if (bytesRead === 0) return { top: top(connections), counted, complete: true };
    bytesSoFar += bytesRead;
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

/** Finds them in one pass: a table with a source for every packet would take long to sort. */
function top(connections: ReadonlyMap<string, number>): TopSources['top'] {
  const most: TopSources['top'] = [];
  for (const [source, count] of connections) {
    if (most.length === topLimit && count <= (most.at(-1)?.connections ?? 0)) continue;
    const address = canonicalAddress(source);
    if (address === '') continue;
    const place = most.findIndex(({ connections: less }) => less < count);
    most.splice(place === -1 ? most.length : place, 0, { address, connections: count });
    most.length = Math.min(most.length, topLimit);
  }
  return most;
}
