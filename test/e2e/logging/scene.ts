import { randomBytes } from 'node:crypto';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { run } from '../network/command.ts';
import type { KernelLog } from '../network/kernel-log.ts';
import { createNetwork, type Network } from '../network/network.ts';
import type { Backend } from '../network/rules.ts';
import { datagrams } from '../network/sending.ts';
import { nodeShell, type NodeShell } from './node-shell.ts';

export const client = 'shop/web-0';
export const server = 'shop/postgres-0';
export const serverAddresses = { 4: '10.244.1.20', 6: 'fd00:10:244:1::20' } as const;

export interface Scene {
  readonly network: Network;
  readonly node: NodeShell;
  /** The prefix of this scene alone, because other scenes print to the same log, for example `e2e-…-drop`. */
  readonly prefix: string;
}

/**
 * A node with two Pods and no rules of its own. The names of its devices belong to this scene alone: if the test cannot
 * choose the prefix, they distinguish the lines from those of other scenes.
 */
export async function createScene(backend: Backend = 'iptables-nft'): Promise<Scene> {
  const network = await createNetwork({
    backend,
    pods: [
      { namespace: 'shop', name: 'web-0', device: ownDevice(), addresses: ['10.244.1.10', 'fd00:10:244:1::10'] },
      { namespace: 'shop', name: 'postgres-0', device: ownDevice(), addresses: Object.values(serverAddresses) },
    ],
  });
  return { network, node: nodeShell(network), prefix: `e2e-${randomBytes(4).toString('hex')}-drop` };
}

function ownDevice(): string {
  return `cali${randomBytes(6).toString('hex').slice(1)}`;
}

export interface Flood {
  /** The lines that the kernel printed about the flood. */
  readonly lines: readonly string[];
  /** The time from before the first packet until the lines were taken. */
  readonly seconds: number;
}

/**
 * Sends 10,000 datagrams from a namespace. Resolves to the lines with `prefix` that the kernel prints about them: at
 * least one.
 */
export async function sendFlood(namespace: string, address: string, log: KernelLog, prefix: string): Promise<Flood> {
  const started = performance.now();
  await run('ip', ['netns', 'exec', namespace, process.execPath, datagrams, address, '9', '10000']);
  const lines = await log.untilTaken(prefix, 1);
  // Not earlier, because the kernel may still process the last packets after they have been sent.
  return { lines, seconds: (performance.now() - started) / 1000 };
}

const prefixes = createPrefixTable();

/** Parses the line as the agent does; throws if it is not a packet. */
export function readPacket(line: string): PacketObservation {
  const observation = parse(line, prefixes);
  if (observation?.kind !== 'packet') throw new Error(`not read as a packet: ${line}`);
  return observation;
}
