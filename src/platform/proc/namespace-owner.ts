/** The Pod that a network namespace belongs to. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { read } from './conntrack.ts';
import { namespaceOf } from './host-namespace.ts';

export interface NamespaceOwner {
  /** A process in the namespace: a folder under the root. */
  process: string;
  /** Uid of the Pod; undefined where the processes are of none, or of several. */
  pod: string | undefined;
}

/** Far more than one node runs; it only bounds the time. */
const processLimit = 32_768;
/** As many as the thread pool works on at once; more would only wait in it. */
const together = 4;

/**
 * Who has the namespace of `table full in netns 4026532317`. Undefined where no visible process is in it: that needs `hostPID`
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
