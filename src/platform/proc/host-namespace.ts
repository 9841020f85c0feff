/** Network namespaces of processes, and the way to the host's. */
import { readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder under `root`: `self`, or `1`, the host's init. Undefined in a Pod without hostNetwork that sees only itself. */
export async function hostProcess(root: string): Promise<'self' | '1' | undefined> {
  if (await isInitial(root)) return 'self';
  const [own, first] = await Promise.all([namespaceOf(root, 'self'), namespaceOf(root, '1')]);
  // A process whose namespace may not be read has more rights, so it is not of this Pod.
  return first !== undefined && first === own ? undefined : '1';
}

/** Only in the initial network namespace may this one be written; the mode shows it also where /proc/sys is mounted read-only. */
async function isInitial(root: string): Promise<boolean> {
  try {
    const { mode } = await stat(join(root, 'sys/net/netfilter/nf_conntrack_buckets'));
    return (mode & 0o200) !== 0;
  } catch {
    return false;
  }
}

/** Inode of the network namespace of a process; undefined where it may not be looked at (ptrace(2), access mode checking). */
export async function namespaceOf(root: string, process: string): Promise<number | undefined> {
  try {
    const [, inode] = /^net:\[(\d+)\]$/.exec(await readlink(join(root, process, 'ns/net'))) ?? [];
    return inode === undefined ? undefined : Number(inode);
  } catch {
    return undefined;
  }
}
