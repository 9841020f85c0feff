import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { run } from '../network/command.ts';
import { createNetwork, type Network } from '../network/network.ts';
import { sendEchoRequests } from '../network/sending.ts';
import { admittedEchoSet, admittedSet } from './nft-compiler.ts';
import type { Probe } from './prober.ts';

export interface Machine {
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
}

/** A connection to be tried; ICMP has no port. */
export interface Attempt {
  readonly from: Machine;
  readonly to: Machine;
  readonly protocol: 'TCP' | 'UDP' | 'ICMP';
  readonly port: number | undefined;
}

/** A node whose kernel enforces a ruleset, and machines that send packets over it. */
export interface KernelJudge {
  /** Which of the attempts the kernel lets through, in their order. */
  readonly judge: (ruleset: string, attempts: readonly Attempt[]) => Promise<boolean[]>;
  readonly destroy: () => Promise<void>;
}

interface Sender {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
}

const firstSourcePort = 1024;
const sourcePorts = 64_000;

export async function createKernelJudge(machines: readonly Machine[]): Promise<KernelJudge> {
  const network = await createNetwork({
    backend: 'iptables-nft',
    pods: machines.map(({ namespace, name, address }) => ({ namespace, name, addresses: [address] })),
  });
  const senders = new Map<string, Sender>();
  for (const machine of machines) senders.set(machine.address, await startSender(network, machine));
  let taken = 0;

  return {
    async judge(ruleset, attempts) {
      await nft(network, ['-f', '-'], ruleset);
      const probes = attempts.map(({ from, to, protocol, port }) => ({
        protocol,
        source: from.address,
        // Another one each time: what was let through before is a connection that is known.
        sourcePort: firstSourcePort + (taken++ % sourcePorts),
        destination: to.address,
        port,
      }));
      await Promise.all(
        [...senders].map(([address, sender]) =>
          send(
            sender,
            probes.filter((probe): probe is Probe => probe.source === address && probe.protocol !== 'ICMP'),
          ),
        ),
      );
      for (const { from, to, protocol } of attempts)
        if (protocol === 'ICMP')
          await sendEchoRequests(network.namespaceOf(`${from.namespace}/${from.name}`), to.address, 1);
      const admitted = new Set(await elements(network, admittedSet));
      const echoes = new Set(await elements(network, admittedEchoSet));
      return probes.map(({ protocol, source, sourcePort, destination }) =>
        protocol === 'ICMP'
          ? echoes.has(`${source} ${destination}`)
          : admitted.has(`${protocol.toLowerCase()} ${sourcePort}`),
      );
    },
    async destroy() {
      for (const { child } of senders.values()) child.kill();
      await network.destroy();
    },
  };
}

async function startSender(network: Network, { namespace, name }: Machine): Promise<Sender> {
  const args = ['netns', 'exec', network.namespaceOf(`${namespace}/${name}`), process.execPath];
  const child = spawn('ip', [...args, join(import.meta.dirname, 'prober.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await nextLine(lines);
  return { child, lines };
}

async function send({ child, lines }: Sender, probes: readonly Probe[]): Promise<void> {
  child.stdin?.write(`${JSON.stringify(probes)}\n`);
  await nextLine(lines);
}

async function nextLine(lines: AsyncIterator<string>): Promise<void> {
  if ((await lines.next()).done === true) throw new Error('[policies] a sender has ended');
}

/** Elements of a set of pairs, each as `first second`. */
async function elements(network: Network, name: string): Promise<string[]> {
  const output = await nft(network, ['-j', 'list', 'set', 'ip', 'judge', name]);
  const { nftables } = JSON.parse(output) as { nftables: { set?: { elem?: { concat: unknown[] }[] } }[] };
  return nftables.flatMap(({ set }) => set?.elem ?? []).map(({ concat }) => concat.join(' '));
}

async function nft(network: Network, args: readonly string[], input = ''): Promise<string> {
  return (await run('ip', ['netns', 'exec', network.node, 'nft', ...args], input)).stdout;
}
