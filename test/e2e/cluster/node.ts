import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Paths } from '../control-plane/build.ts';
import { lastLines } from '../control-plane/running.ts';
import { type Outcome, outcomeOf, outcomeWith } from '../outcome.ts';
import { until } from '../until.ts';
import type { Lan } from './lan.ts';
import { type Machine, startMachine } from './machine.ts';
import { CGROUPS, makeGroup, ownSnapshotter, podNetwork, writeConfiguration } from './node-configuration.ts';

/** A real node: containerd, runc, the CNI plug-in `ptp`, and a kubelet that has a kubelet's identity. Plain data. */
export interface NodeData {
  readonly name: string;
  readonly address: string;
  readonly machine: Machine;
  readonly binaries: Paths<'kubelet' | 'containerd' | 'ctr' | 'runc'>;
  readonly kubeconfig: string;
  /** The PATH of its programs. The PATH of a test is gone when the test has ended. */
  readonly path: string;
}

export type Node = ReturnType<typeof connectNode>;

const SOCKET = '/run/containerd/containerd.sock';

const emptyRun = `
# Some are hidden by the machine's own /run, and cannot be taken away.
awk '$2 ~ "^/run/" { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount -l 2> /dev/null || true
find /run -mindepth 1 -maxdepth 1 -not -name log -not -name lock -exec rm -rf {} +
`;

/**
 * `folder`: the node's own folder is made in it. Resolves when containerd answers and the kubelet has been started;
 * there is no Pod network yet.
 */
export async function startNode(
  name: string,
  folder: string,
  lan: Lan,
  kubelet: Pick<NodeData, 'binaries' | 'kubeconfig'>,
): Promise<{ readonly data: NodeData; readonly end: () => Promise<void> }> {
  const own = join(folder, name);
  mkdirSync(own);
  const { network, address } = await lan.join();
  const { machine, end: endMachine } = await startMachine(name, network, own);
  makeGroup(network);
  const end = async (): Promise<void> => {
    await endMachine();
    removeGroups(CGROUPS, network);
  };
  try {
    writeConfiguration(machine, {
      group: `/${network}`,
      containers: join(own, 'containerd'),
      snapshotter: ownSnapshotter(),
      // Otherwise the kubelet looks at a Pod that ends only every ten seconds.
      syncFrequency: '5s',
    });
    return { data: await bootMachine(machine, address, kubelet), end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Turns a machine that has its configuration into a node; resolves as startNode does. */
export async function bootMachine(
  machine: Machine,
  address: string,
  kubelet: Pick<NodeData, 'binaries' | 'kubeconfig'>,
): Promise<NodeData> {
  const { runc, containerd } = kubelet.binaries;
  const path = [dirname(runc), dirname(containerd), process.env['PATH']].join(':');
  const data = { name: machine.name, address, machine, path, ...kubelet };
  await boot(data);
  return data;
}

/** The functions that go with a node, for a process that did not start it itself. */
export function connectNode(data: NodeData) {
  const { name, machine, binaries } = data;
  const [program = '', ...args] = machine.enter;
  /** Runs a program on it as root; resolves to its outcome, whatever that is. */
  const outcome = (command: readonly string[], input = ''): Promise<Outcome> =>
    outcomeWith(spawn(program, [...args, ...command], { stdio: 'pipe' }), input);
  /** The same, but resolves to the output, and rejects unless the status is 0. */
  const run = async (command: readonly string[], input = ''): Promise<string> => {
    const { code, stdout, stderr } = await outcome(command, input);
    if (code !== 0) throw new Error(`[cluster] ${command.join(' ')} on ${name}: ${code} ${stdout}${stderr}`);
    return stdout;
  };
  return {
    ...data,
    /** The beginning of a command line that runs a program on it as root, started from outside. */
    enter: machine.enter,
    /** Runs a line of shell on it as root: what `ssh NODE …` does. */
    shell: (line: string, input?: string) => outcome(['bash', '-c', line], input),
    outcome,
    run,
    /** Configures the network of its Pods, once their addresses are known; until then the Node is not ready. */
    async writePodNetwork(range: string): Promise<void> {
      // A program of the node writes it: the kernel of a guest does not notice writes from outside.
      await run(['tee', join(machine.folder, 'cni/10-pods.conflist')], JSON.stringify(podNetwork(range)));
    },
    /** Puts the images of an archive into the store of containerd. */
    async importImages(archive: string): Promise<void> {
      await run([binaries.ctr, '--address', SOCKET, '--namespace', 'k8s.io', 'images', 'import', archive]);
    },
    /** Gives an image of that store another name. */
    async tagImage(reference: string, other: string): Promise<void> {
      await run([binaries.ctr, '--address', SOCKET, '--namespace', 'k8s.io', 'images', 'tag', reference, other]);
    },
    /**
     * Kills all processes of the node, empties /run except for the journal, and starts what a boot starts. The kernel
     * keeps running.
     */
    async reboot(): Promise<void> {
      if (machine.hasKernel) throw new Error(`[cluster] ${name} has a kernel of its own, which would have to boot`);
      // The shell also kills itself, so its status says nothing.
      await outcome(['sh', '-c', 'kill -KILL -1']);
      await run(['sh', '-ec', emptyRun]);
      await boot(data);
    },
  };
}

/** Starts containerd, the kubelet and journald, or the stand-in for journald and rsyslog. */
async function boot(node: NodeData): Promise<void> {
  const { name, address, machine, binaries, kubeconfig } = node;
  const { folder } = machine;
  startService(node, 'kernel-log', machine.hasKernel ? ['/lib/systemd/systemd-journald'] : ownKernelLog(machine));
  startService(node, 'containerd', [binaries.containerd, '--config', join(folder, 'containerd.toml')]);
  // A kubelet exits if the runtime does not answer.
  await untilAnswers(node);
  const names = [`--hostname-override=${name}`, `--node-ip=${address}`];
  const files = [`--config=${join(folder, 'kubelet.json')}`, `--kubeconfig=${kubeconfig}`];
  startService(node, 'kubelet', [binaries.kubelet, ...files, ...names]);
}

/** The command that writes this node's part of the log of the machine's kernel. */
function ownKernelLog({ name, id }: Machine): readonly string[] {
  const program = join(import.meta.dirname, 'kernel-log.ts');
  return [process.execPath, program, name, id, `/run/log/journal/${id}`, '/var/log/kern.log'];
}

/**
 * Starts a program that outlives this process and ends with the machine. Its output goes to `<program>.log` in the
 * machine's folder.
 */
export function startService(
  { machine, path }: Pick<NodeData, 'machine' | 'path'>,
  program: string,
  command: readonly string[],
): void {
  const log = openSync(join(machine.folder, `${program}.log`), 'a');
  const [nsenter = '', ...args] = [...machine.enter, ...command];
  const env = { ...process.env, PATH: path };
  spawn(nsenter, args, { env, detached: true, stdio: ['ignore', log, log] }).unref();
  closeSync(log);
}

async function untilAnswers({ machine, binaries }: NodeData): Promise<void> {
  const [program = '', ...args] = machine.enter;
  const command = [...args, binaries.ctr, '--address', SOCKET, 'version'];
  const answers = async (): Promise<boolean> => (await outcomeOf(spawn(program, command))).code === 0;
  const log = (): string => lastLines(join(machine.folder, 'containerd.log'), 15);
  await until(answers, () => `[cluster] containerd does not answer:\n${log()}`);
}

/** Control groups outlive their processes. A group can be removed when it has no groups below it. */
function removeGroups(parent: string, name: string): void {
  for (const folder of foldersIn(parent)) {
    if (folder.endsWith(`/${name}`)) removeGroup(folder);
    else if (parent === CGROUPS) removeGroups(folder, name);
  }
}

function removeGroup(folder: string): void {
  for (const inner of foldersIn(folder)) removeGroup(inner);
  rmdirSync(folder);
}

function foldersIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
