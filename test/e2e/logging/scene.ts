import { randomBytes } from 'node:crypto';
import { createNetwork, type Network } from '../network/network.ts';
import type { Backend } from '../network/rules.ts';
import { nodeShell, type NodeShell } from './node-shell.ts';

export const client = 'shop/web-0';
export const server = 'shop/postgres-0';
export const serverAddresses = { 4: '10.244.1.20', 6: 'fd00:10:244:1::20' } as const;

export interface Scene {
  readonly network: Network;
  readonly node: NodeShell;
  /** The prefix of this scene alone, because other scenes print to the same log: `e2e-…-drop`. */
  readonly prefix: string;
}

/**
 * A node with two Pods and no rules of its own. The names of their devices are of this scene alone: they distinguish its lines from those of
 * other scenes where the prefix is not ours to choose.
 */
export async function createScene(backend: Backend = 'iptables-nft'): Promise<Scene> {
  const network = await createNetwork({
    backend,
    pods: [
      { namespace: 'shop', name: 'web-0', device: ownDevice(), addresses: ['10.244.1.10', 'fd00:10:244:1::10'] },
      { namespace: 'shop', name: 'postgres-0', device: ownDevice(), addresses: Object.values(serverAddresses) },
    ],
  });
  return { network, node: nodeShell(network, client), prefix: `e2e-${randomBytes(4).toString('hex')}-drop` };
}

function ownDevice(): string {
  return `cali${randomBytes(6).toString('hex').slice(1)}`;
}
