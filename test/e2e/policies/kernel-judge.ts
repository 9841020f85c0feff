import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { run } from '../network/command.ts';
import { createNetwork, type Network } from '../network/network.ts';
import type { Probe } from '../network/prober.ts';
import { initSender, prober, sendEchoRequests } from '../network/sending.ts';
import { admittedEchoSets, admittedSet } from './nft-compiler.ts';

export interface Machine {
  readonly namespace: string;
  readonly name: string;
  /** An address of IPv4, and one of IPv6. */
  readonly addresses: readonly [string, string];
}

export type Family = 4 | 6;

/** A connection to be tried; ICMP has no port. */
export interface Attempt {
  readonly from: Machine;
  readonly to: Machine;
  readonly family: Family;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP' | 'ICMP';
  readonly port: number | undefined;
}

export type KernelJudge = Awaited<ReturnType<typeof createKernelJudge>>;

/** Node.js has no raw sockets, which SCTP takes where the kernel does not have it. */
const programs = [
  { file: prober, with: process.execPath, sends: (protocol: string) => protocol === 'tcp' || protocol === 'udp' },
  { file: initSender, with: 'python3', sends: (protocol: string) => protocol === 'sctp' },
];

interface Sender {
  readonly machine: Machine;
  readonly sends: (protocol: string) => boolean;
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
}

const firstSourcePort = 1024;
const sourcePorts = 64_000;

/** A node whose kernel enforces a ruleset, and machines that send packets over it. */
export async function createKernelJudge(machines: readonly Machine[]) {
  const network = await createNetwork({ backend: 'iptables-nft', pods: machines });
  const senders: Sender[] = [];
  for (const machine of machines)
    for (const program of programs) senders.push(await startSender(network, machine, program));
  let taken = 0;

  return {
    /** Returns which of the attempts the kernel lets through, in their order. */
    async judge(ruleset: string, attempts: readonly Attempt[]): Promise<boolean[]> {
      await nft(network, ['-f', '-'], ruleset);
      const probes = attempts.map(({ from, to, family, protocol, port }) => ({
        protocol: protocol.toLowerCase(),
        source: addressOf(from, family),
        // Another one each time: what was let through before is a connection that is known.
        sourcePort: firstSourcePort + (taken++ % sourcePorts),
        destination: addressOf(to, family),
        port,
      }));
      await Promise.all(
        senders.map((sender) =>
          send(
            sender,
            probes.filter(
              (probe): probe is Probe =>
                sender.machine.addresses.includes(probe.source) && sender.sends(probe.protocol),
            ),
          ),
        ),
      );
      for (const { from, to, family, protocol } of attempts)
        if (protocol === 'ICMP')
          await sendEchoRequests(network.namespaceOf(`${from.namespace}/${from.name}`), addressOf(to, family), 1);
      const admitted = new Set(await elements(network, admittedSet));
      const echoes = new Set((await Promise.all(admittedEchoSets.map((set) => elements(network, set)))).flat());
      return probes.map(({ protocol, source, sourcePort, destination }) =>
        protocol === 'icmp' ? echoes.has(`${source} ${destination}`) : admitted.has(`${protocol} ${sourcePort}`),
      );
    },
    async destroy(): Promise<void> {
      for (const { child } of senders) child.kill();
      await network.destroy();
    },
  };
}

export function addressOf({ addresses }: Machine, family: Family): string {
  return addresses[family === 4 ? 0 : 1];
}

async function startSender(
  network: Network,
  machine: Machine,
  { file, with: program, sends }: (typeof programs)[number],
): Promise<Sender> {
  const args = ['netns', 'exec', network.namespaceOf(`${machine.namespace}/${machine.name}`), program];
  const child = spawn('ip', [...args, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await nextLine(lines);
  return { machine, sends, child, lines };
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
  const output = await nft(network, ['-j', 'list', 'set', 'inet', 'judge', name]);
  const { nftables } = JSON.parse(output) as { nftables: { set?: { elem?: { concat: unknown[] }[] } }[] };
  return nftables.flatMap(({ set }) => set?.elem ?? []).map(({ concat }) => concat.join(' '));
}

async function nft(network: Network, args: readonly string[], input = ''): Promise<string> {
  return (await run('ip', ['netns', 'exec', network.node, 'nft', ...args], input)).stdout;
}
