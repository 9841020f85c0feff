import { type FileHandle, open, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '../model/log-line.ts';
import { canonicalAddress, copy } from './address.ts';

export interface Proc {
  /** Reads the table of the host, or of the network namespace with that inode. */
  conntrack(netns: number | undefined): Promise<Conntrack | undefined>;
  topSources(netns: number | undefined): Promise<TopSources | undefined>;
  podOfNetns(netns: number): Promise<string | undefined>;
}

/** Reads connection tracking tables and their owners. `root`: the host's /proc, wherever it is mounted. No function here rejects. */
export function createProc(root = '/proc'): Proc {
  /** Searches under way, so that simultaneous questions about one namespace share one walk through the processes. */
  const searches = new Map<number, Promise<NamespaceOwner | undefined>>();

  return {
    async conntrack(netns: number | undefined): Promise<Conntrack | undefined> {
      return readConntrack(root, await processFor(netns));
    },
    async topSources(netns: number | undefined): Promise<TopSources | undefined> {
      const process = await processFor(netns);
      return process === undefined ? undefined : readTopSources(root, process);
    },
    async podOfNetns(netns: number): Promise<string | undefined> {
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

/** `process`: a folder under the root. `pod`: the uid of the Pod; undefined if the processes belong to none, or to several. */
type NamespaceOwner = { process: string; pod: string | undefined };

/**
 * Finds the owner of the namespace in `table full in netns 4026532317`. Returns undefined if no visible process is in it: seeing it takes
 * `hostPID` or the host's /proc, and for other users' processes CAP_SYS_PTRACE. The host's own namespace has no owner. Never rejects.
 */
export async function findNamespaceOwner(root: string, inode: number): Promise<NamespaceOwner | undefined> {
  if ((await networkNamespaceOf(root, '1')) === inode) return undefined;
  const inside = await processesIn(root, inode);
  const [process] = inside;
  if (process === undefined) return undefined;
  const pods = new Set<string>();
  for (const one of inside) {
    const pod = podUidIn(await read(join(root, one, 'cgroup')));
    if (pod !== undefined) pods.add(pod);
  }
  const [pod] = pods;
  return { process, pod: pods.size === 1 ? pod : undefined };
}

async function processesIn(root: string, inode: number): Promise<string[]> {
  const inside: string[] = [];
  for (const name of await readdir(root).catch(() => []))
    if (/^\d+$/.test(name) && (await networkNamespaceOf(root, name)) === inode) inside.push(name);
  return inside;
}

/**
 * Returns the uid of a Pod by a `cgroup` file (cgroups(7), kubernetes/pkg/kubelet/cm/cgroup_manager_linux.go). With cgroupfs it is
 * `/kubepods/burstable/pod<uid>/…`, with systemd `kubepods-burstable-pod<uid>.slice` with `_` for `-`. A static Pod has 32 digits. In a
 * cgroup namespace `kubepods` may be missing. The outermost uid counts, because a node may itself run in a Pod.
 */
export function podUidIn(cgroups: string): string | undefined {
  return uid.exec(cgroups)?.[1]?.replaceAll('_', '-');
}

const uid = /[/-]pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?=\.slice|[/\n]|$)/;

/** Returns a folder under `root` of a host's process: `self` or `1` (init). Undefined in a Pod that sees only its own processes. */
export async function hostProcess(root: string): Promise<'self' | '1' | undefined> {
  if (await isInitial(root)) return 'self';
  const [own, first] = await Promise.all([networkNamespaceOf(root, 'self'), networkNamespaceOf(root, '1')]);
  // If the first process's namespace may not be read, it has more rights than this one, so it is not of this Pod.
  return first !== undefined && first === own ? undefined : '1';
}

/** Checks a setting that only the initial network namespace may write. Its mode shows that even if /proc/sys is read-only. */
async function isInitial(root: string): Promise<boolean> {
  try {
    const { mode } = await stat(join(root, 'sys/net/netfilter/nf_conntrack_buckets'));
    return (mode & 0o200) !== 0;
  } catch {
    return false;
  }
}

/** Returns the inode of a process's network namespace; undefined without the right to read it (ptrace(2), access mode checking). */
export async function networkNamespaceOf(root: string, process: string): Promise<number | undefined> {
  try {
    const [, inode] = /^net:\[(\d+)\]$/.exec(await readlink(join(root, process, 'ns/net'))) ?? [];
    return inode === undefined ? undefined : Number(inode);
  } catch {
    return undefined;
  }
}

export interface Conntrack {
  count: number | undefined;
  max: number | undefined;
}

/** `process`: a folder under `root`; without one, only the maximum is read. Never rejects. */
export async function readConntrack(root: string, process: string | undefined): Promise<Conntrack | undefined> {
  const [count, max] = await Promise.all([
    process === undefined ? undefined : countOf(root, process),
    readNumber(join(root, 'sys/net/netfilter/nf_conntrack_max')),
  ]);
  return count === undefined && max === undefined ? undefined : { count, max };
}

/** Reads the count in the process's folder, because `sys/net` shows the namespace of its reader, even in the host's /proc. */
async function countOf(root: string, process: string): Promise<number | undefined> {
  if (process === 'self') return readNumber(join(root, 'sys/net/netfilter/nf_conntrack_count'));
  // The file has a heading, then a line for each processor. Each line begins with the number of entries of the whole table in hexadecimal.
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

interface TopSources {
  top: { address: string; connections: number }[];
  counted: number;
  /** False if a limit was reached. Then every number is a lower bound, but the shares are about right. */
  complete: boolean;
}

interface TopSourceLimits {
  lines?: number;
  bytes?: number;
  /** The time limit: older kernels walk the table again for each 4 KiB, so a large table takes seconds. */
  time?: Millis;
  now?: () => Millis;
}

const topLimit = 3;
const blockSize = 64 * 1024;

/**
 * Reads the table of `process` (a folder under `root`). Its order is by hashes, so a part of it is a fair sample. Undefined if it cannot be
 * read: some kernels lack it (CONFIG_NF_CONNTRACK_PROCFS), and only root may. Never rejects.
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
  let remaining = '';
  for (;;) {
    if (counted >= lines || bytesSoFar >= bytes || now() - started >= time)
      return { top: top(connections), counted, complete: false };
    const { bytesRead } = await file.read(block, 0, blockSize, null);
    if (bytesRead === 0) return { top: top(connections), counted, complete: true };
    bytesSoFar += bytesRead;
    const text = remaining + block.toString('latin1', 0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    // A rest longer than a block is not a line of the kernel.
    remaining = text.length - end > blockSize ? '' : text.slice(end);
    for (const [, source = ''] of text.slice(0, end).matchAll(original)) {
      const known = connections.get(source);
      connections.set(known === undefined ? copy(source) : source, (known ?? 0) + 1);
      if (++counted >= lines) break;
    }
  }
}

/** Matches `ipv4     2 tcp      6 117 SYN_SENT src=… dst=… … [UNREPLIED] src=…`. The first source in a line opened the connection. */
const original = /^ipv[46] .*? src=([0-9a-f.:]{2,45}) .*$/gm;

/** Finds the largest in one pass, because sorting a table with a source for every packet would take long. */
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
