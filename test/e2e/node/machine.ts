import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createNamespaceGroup } from '../network/namespaces.ts';
import { joinPod, prepareNode } from '../network/topology.ts';
import { type Outcome, outcomeWith } from '../outcome.ts';

/** The machine under a Node: namespaces of its own (mounts, processes, network, host name), a journald, and folders that stand for /var/log and /run/log. */
export interface Machine {
  /** Its address in its own network, which the Pods reach; nothing outside does. */
  readonly address: string;
  /** Its name. */
  readonly name: string;
  /** Where a folder below /var of the machine is. */
  readonly outside: (path: string) => string;
  /** Begins a command that is run on it from outside. */
  readonly enter: readonly string[];
  /** Starts a program on the machine, as root. It ends with the machine at the latest. */
  readonly start: (command: readonly string[], env?: NodeJS.ProcessEnv) => ChildProcess;
  /** Runs a program to its end, whatever that is. */
  readonly run: (command: readonly string[], input?: string) => Promise<Outcome>;
  /** A network namespace for a Pod, joined as Calico does: the device's name, its address. Returns its path on the machine. */
  readonly addNetwork: (device: string, address: string) => Promise<string>;
  readonly destroy: () => Promise<void>;
}

/**
 * The first process of the machine. It ends with its standard input, so with the process that started it at the latest; then the
 * kernel ends all others of the machine and takes its mounts away. New network namespaces are seen within (--propagation slave).
 */
const boot = `
set -eu
# As it is seen from outside, where this /proc is from.
read -r pid rest < /proc/self/stat
mount -t proc proc /proc
hostname "$1"
mount --bind "$2/var/log" /var/log
# crun refuses a mixture of both versions, even where containers have no group of their own.
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
mkdir -p /run/systemd /run/log
mount -t tmpfs tmpfs /run/systemd
mount -t tmpfs tmpfs /run/log
mkdir -p /run/systemd/journal "/run/log/journal/$(cat /etc/machine-id)"
"$(ls /usr/lib/systemd/systemd-journald /lib/systemd/systemd-journald 2> /dev/null | head -n 1)" < /dev/null > /dev/null 2>&1 &
until [ -S /run/systemd/journal/socket ]; do sleep 0.05; done
echo "$pid"
cat > /dev/null
`;

/** `folder`: for its files; `extraAddresses`: that the machine answers to beside its own. Needs root. */
export async function startMachine(
  name: string,
  address: string,
  folder: string,
  extraAddresses: readonly string[],
): Promise<Machine> {
  mkdirSync(join(folder, 'var/log/pods'), { recursive: true });
  mkdirSync(join(folder, 'var/lib'));
  const group = await createNamespaceGroup();
  const network = await group.add('machine');
  await prepareNode(network);
  const unshare = ['unshare', '--mount', '--propagation', 'slave', '--uts', '--pid', '--fork', '--kill-child'];
  const args = [`--net=/run/netns/${network}`, ...unshare, 'sh', '-c', boot, 'sh', name, folder];
  const first = spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(first, 'exit');
  const { value: pid, done } = await createInterface({ input: first.stdout })[Symbol.asyncIterator]().next();
  if (done === true) {
    await group.remove();
    throw new Error('[node] the machine did not start: its error output is above');
  }

  const enter = ['nsenter', `--target=${pid}`, '--mount', '--uts', '--net', '--pid', '--'] as const;
  const start: Machine['start'] = (command, env = process.env) => {
    const [program, ...rest] = [...enter, ...command];
    return spawn(program, rest, { env, stdio: 'pipe' });
  };
  const run: Machine['run'] = (command, input = '') => outcomeWith(start(command), input);
  const destroy: Machine['destroy'] = async () => {
    first.stdin.end();
    await ended;
    await group.remove();
  };
  for (const each of [address, ...extraAddresses]) {
    const { code, stderr } = await run(['ip', 'address', 'add', each, 'dev', 'lo']);
    if (code === 0) continue;
    await destroy();
    throw new Error(`[node] no address ${each}: ${stderr}`);
  }
  return {
    name,
    address,
    outside: (path) => join(folder, path),
    enter,
    start,
    run,
    async addNetwork(device, podAddress) {
      const pod = await group.add(device);
      await joinPod(network, pod, device, [podAddress]);
      return `/run/netns/${pod}`;
    },
    destroy,
  };
}
