import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The machine of a node: mounts, processes, network and host name of its own, on the kernel of this machine. Plain data. */
export interface Machine {
  readonly name: string;
  /** A folder with its /var, and with files for it. */
  readonly folder: string;
  /** The id in /etc/machine-id. */
  readonly id: string;
  /** The beginning of a command line that runs a program on the machine as root, started from outside. */
  readonly enter: readonly string[];
  /** Whether it has a kernel of its own, and so a whole kernel log. */
  readonly hasKernel: boolean;
}

/**
 * Runs as the first process of the machine. It ends with its standard input, at the latest when the process ends that
 * started it. Then the kernel ends all other processes of the machine and removes its mounts.
 */
const boot = `
set -eu
read -r pid rest < /proc/self/stat
# The kubelet and the runtime pass mounts on to containers.
mount --make-rshared /
mount -t proc proc /proc
hostname "$1"
mount --bind "$2/var" /var
mount --bind "$2/machine-id" /etc/machine-id
# No name is looked up outside.
mount --bind "$2/resolv.conf" /etc/resolv.conf
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/lock
echo "$pid"
# It has no child of its own, so that it outlives all other processes (node.ts), and reaps them: bash does so while it reads.
while read -r line; do :; done
`;

/** `folder`: an empty folder. `end` kills all processes of the machine and removes its mounts. Needs root. */
export async function startMachine(
  name: string,
  network: string,
  folder: string,
): Promise<{ readonly machine: Machine; readonly end: () => Promise<void> }> {
  for (const each of ['log/pods', 'lib', 'tmp']) mkdirSync(join(folder, 'var', each), { recursive: true });
  const id = randomBytes(16).toString('hex');
  writeFileSync(join(folder, 'machine-id'), `${id}\n`);
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
  const unshare = ['unshare', '--mount', '--propagation', 'private', '--uts', '--pid', '--fork', '--kill-child'];
  // Not by `ip netns exec`, which hides /sys/fs/cgroup.
  const args = [`--net=/run/netns/${network}`, ...unshare, 'bash', '-c', boot, 'bash', name, folder];
  const first = spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(first, 'exit');
  const { value, done } = await createInterface({ input: first.stdout })[Symbol.asyncIterator]().next();
  if (done === true) throw new Error(`[cluster] the machine ${name} did not start: its error output is above`);
  const enter = ['nsenter', `--target=${value}`, '--mount', '--uts', '--net', '--pid', '--'];
  return {
    machine: { name, folder, id, enter, hasKernel: false },
    async end() {
      first.stdin.end();
      await ended;
    },
  };
}
