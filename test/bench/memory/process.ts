import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Used, usedBy } from '../used.ts';
import { createCgroup } from './cgroup.ts';
import type { Image } from './image.ts';

/** Since the start of the process. */
export type ProcessCounts = Pick<Used, 'cpuSeconds' | 'majorFaults' | 'residentBytes' | 'anonymousBytes'>;

export type LimitedProcess = ReturnType<typeof startLimited>;

/**
 * Puts a Pod's credentials where the kubelet mounts them, also in memory. Only this process does not see the machine's
 * /run.
 */
const enter = `
echo $$ > "$1"
mount -t tmpfs tmpfs /run
if [ -n "$2" ]; then mkdir -p /run/secrets/kubernetes.io && cp -r "$2" /run/secrets/kubernetes.io/serviceaccount; fi
shift 2
exec "$@"`;

/** A program of an image, alone in a cgroup with a limit. `account`: a folder with a token and ca.crt. `limit` in bytes. Needs root. */
export function startLimited(
  image: Image,
  args: readonly string[],
  { limit, account = '', env }: { limit: number; account?: string; env: Readonly<Record<string, string>> },
) {
  image.evict();
  const group = createCgroup(limit);
  const command = [group.processes, account, ...image.command, ...args];
  // Each of these programs executes the next, so the process id stays the same. The process never outlives this one.
  const wrapped = ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', 'sh', '-c', enter, 'sh', ...command];
  const child = spawn('setpriv', wrapped, {
    env: { PATH: process.env['PATH'] ?? '', ...image.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  let ended = false;
  const exited = new Promise<number | undefined>((resolve) => {
    child.once('exit', (code) => {
      ended = true;
      resolve(code ?? undefined);
    });
  });
  let last: ProcessCounts = { cpuSeconds: 0, majorFaults: 0, residentBytes: 0, anonymousBytes: 0 };
  // The kernel forgets the counts of a process that has ended.
  const timer = setInterval(() => void (last = countsOf(child.pid ?? 0) ?? last), 100);
  return {
    /** The first line of its standard output that `pick` accepts; rejects if the process ends before. */
    printed: <T>(pick: (line: string) => T | undefined): Promise<T> =>
      new Promise((resolve, reject) => {
        lines.on('line', (line) => {
          const picked = pick(line);
          if (picked !== undefined) resolve(picked);
        });
        void exited.then((code) => reject(new Error(`it ended with ${code ?? 'a signal'}`)));
      }),
    /** Reads the counts while the process lives; afterwards returns the last ones. */
    counts: () => (last = countsOf(child.pid ?? 0) ?? last),
    group: group.read,
    /** Resolves to the exit status, undefined when a signal has ended it. */
    exited,
    ended: () => ended,
    /** Kills it, and removes its group. */
    async dispose(): Promise<void> {
      clearInterval(timer);
      child.kill('SIGKILL');
      await exited;
      await group.remove();
    },
  };
}

/** Undefined when the process is gone. */
function countsOf(pid: number): ProcessCounts | undefined {
  try {
    return usedBy(pid);
  } catch {
    return undefined;
  }
}
