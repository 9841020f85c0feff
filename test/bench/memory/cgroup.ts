import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** The kernel's counts for a group, since it was made. */
export interface GroupCounts {
  peakBytes: number;
  /** Processes that the kernel has killed because of the limit. */
  oomKills: number;
  /** Pages of files that were read again after they had been given up. */
  refaults: number;
}

/** The names of the files in the two versions of cgroups. */
const unified = {
  root: '/sys/fs/cgroup',
  limit: 'memory.max',
  swap: 'memory.swap.max',
  peak: 'memory.peak',
  kills: 'memory.events',
};
const legacy = {
  root: '/sys/fs/cgroup/memory',
  limit: 'memory.limit_in_bytes',
  swap: 'memory.swappiness',
  peak: 'memory.max_usage_in_bytes',
  kills: 'memory.oom_control',
};

const made = new Set<string>();
let number = 0;

// If a signal ended the process, the folders would stay.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.on('exit', () => made.forEach(removeAtOnce));

/**
 * Makes a cgroup with a memory limit in bytes, page cache included, as the kubelet does for `limits.memory`. Throws
 * without root.
 */
export function createCgroup(limit: number) {
  const files = isUnified() ? unified : legacy;
  if (files === unified) passMemoryOn(files.root);
  const folder = createGroup(files.root);
  writeFileSync(join(folder, files.limit), String(limit));
  if (existsSync(join(folder, files.swap))) writeFileSync(join(folder, files.swap), '0');
  return {
    /** A process whose id is written to this file joins the group, as do its later children. */
    processes: join(folder, 'cgroup.procs'),
    read: (): GroupCounts => ({
      peakBytes: Number(read(folder, files.peak)),
      oomKills: field(read(folder, files.kills), 'oom_kill'),
      refaults: field(read(folder, 'memory.stat'), 'workingset_refault_file'),
    }),
    /** To be called when its processes have ended. */
    remove: () => removeGroup(folder),
  };
}

/** Lets groups below this one have a memory limit. */
function passMemoryOn(root: string): void {
  const pass = (): void => writeFileSync(join(root, 'cgroup.subtree_control'), '+memory');
  try {
    pass();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    // The root of a container is an ordinary group of the machine: a group that passes a controller on may have no
    // processes of its own.
    const others = join(root, 'kube-netfilter-tailer-others');
    mkdirSync(others, { recursive: true });
    for (const id of read(root, 'cgroup.procs').split('\n').filter(Boolean)) move(id, others);
    pass();
  }
}

function move(id: string, group: string): void {
  try {
    writeFileSync(join(group, 'cgroup.procs'), id);
  } catch {
    // The process has ended, or is a kernel thread.
  }
}

function isUnified(): boolean {
  const controllers = join(unified.root, 'cgroup.controllers');
  return existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s/).includes('memory');
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
