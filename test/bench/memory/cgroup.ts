import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** The kernel's counts of a group. Bytes and pages are since it was made. */
export interface GroupCounts {
  peakBytes: number;
  /** Processes that the kernel has killed because of the limit. */
  oomKills: number;
  /** Pages of files that were read again after they had been given up. */
  refaults: number;
}

/** A cgroup of its own with a limit of memory, page cache included, as the kubelet makes it of `limits.memory`. */
export interface Cgroup {
  /** A process whose id is written into it is in the group, with all its later children. */
  readonly processes: string;
  readonly read: () => GroupCounts;
  /** When its processes are gone. */
  readonly remove: () => Promise<void>;
}

const unified = '/sys/fs/cgroup';
const legacy = '/sys/fs/cgroup/memory';
const made = new Set<string>();
let number = 0;

// Ended by a signal, the folders would stay for good.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.on('exit', () => made.forEach(removeAtOnce));

/** Throws without root. `limit` in bytes. */
export function createCgroup(limit: number): Cgroup {
  return isUnified() ? createUnified(limit) : createLegacy(limit);
}

function isUnified(): boolean {
  const controllers = join(unified, 'cgroup.controllers');
  return existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s/).includes('memory');
}

function createUnified(limit: number): Cgroup {
  writeFileSync(join(unified, 'cgroup.subtree_control'), '+memory');
  const folder = createGroup(unified);
  writeFileSync(join(folder, 'memory.max'), String(limit));
  if (existsSync(join(folder, 'memory.swap.max'))) writeFileSync(join(folder, 'memory.swap.max'), '0');
  return {
    processes: join(folder, 'cgroup.procs'),
    read: () => ({
      peakBytes: Number(read(folder, 'memory.peak')),
      oomKills: field(read(folder, 'memory.events'), 'oom_kill'),
      refaults: field(read(folder, 'memory.stat'), 'workingset_refault_file'),
    }),
    remove: () => removeGroup(folder),
  };
}

function createLegacy(limit: number): Cgroup {
  const folder = createGroup(legacy);
  writeFileSync(join(folder, 'memory.limit_in_bytes'), String(limit));
  writeFileSync(join(folder, 'memory.swappiness'), '0');
  return {
    processes: join(folder, 'cgroup.procs'),
    read: () => ({
      peakBytes: Number(read(folder, 'memory.max_usage_in_bytes')),
      oomKills: field(read(folder, 'memory.oom_control'), 'oom_kill'),
      refaults: field(read(folder, 'memory.stat'), 'workingset_refault_file'),
    }),
    remove: () => removeGroup(folder),
  };
}

function createGroup(parent: string): string {
  const folder = join(parent, `kube-netfilter-tailer-bench-${process.pid}-${++number}`);
  mkdirSync(folder);
  made.add(folder);
  return folder;
}

/** The kernel takes a moment to let go of the last process. */
async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      rmdirSync(folder);
      made.delete(folder);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || attempt === 100) throw error;
      await delay(50);
    }
  }
}

function removeAtOnce(folder: string): void {
  for (const id of read(folder, 'cgroup.procs').split('\n').filter(Boolean)) kill(Number(id), 'SIGKILL');
  for (const deadline = Date.now() + 5000; existsSync(folder) && Date.now() < deadline;) {
    try {
      rmdirSync(folder);
    } catch {
      // Their end takes a moment, in which nothing else can be done here.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
}
