/**
 * What Felix made of generated clusters. `felix-verdicts.json.gz` has a line for each cluster with its objects and, for
 * each connection, two characters: whether ingress and egress are admitted (1), denied (0), or do not concern a Pod
 * (-). They were recorded from Felix's calculation graph (projectcalico/calico 87c1590: update processors, validation
 * filter, calculation graph, FilterRuleToIPVersion). A program fed the objects to it, and took the verdicts from its
 * tiers, rules and sets of addresses.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type {
  End,
  Labels,
  NamedPort,
  Namespace,
  PolicyFlow,
  PolicyPod,
} from '../../../../src/explain/policies/policies.ts';
import { pod } from '../objects.ts';

export interface FelixScene {
  readonly objects: object[];
  readonly namespaces: Namespace[];
  readonly pods: { labels: Labels; ports: NamedPort[]; serviceAccount: string }[];
  readonly verdicts: string;
}

export const felixFile = join(import.meta.dirname, 'felix-verdicts.json.gz');

export function readFelixScenes(): FelixScene[] {
  const lines = gunzipSync(readFileSync(felixFile)).toString().trim().split('\n');
  return lines.map((line) => JSON.parse(line) as FelixScene);
}

const machines = [
  { namespace: 'x', name: 'one', addresses: ['10.0.0.1'] },
  { namespace: 'x', name: 'two', addresses: ['10.0.0.2'] },
  { namespace: 'y', name: 'one', addresses: ['10.0.0.9'] },
  { namespace: 'x', name: 'six', addresses: ['fd00::1'] },
  { namespace: 'y', name: 'six', addresses: ['fd00::2'] },
];
const outside = ['192.0.2.7', '2001:db8::1'];

export function felixPods({ pods }: Pick<FelixScene, 'pods'>): PolicyPod[] {
  return machines.map((machine, index) => pod({ ...machine, node: 'node-a', ...pods[index] }));
}

/** Connections from each Pod to each other one of its address family, in the order of the verdicts. */
export function felixFlows(pods: readonly PolicyPod[]): PolicyFlow[] {
  const ends: End[] = [
    ...pods.map((each): End => ({ kind: 'pod', pod: each, address: each.addresses[0] })),
    ...outside.map((address): End => ({ kind: 'external', address })),
  ];
  return ends.flatMap((source) =>
    ends
      .filter((end) => end !== source && end.address?.includes(':') === source.address?.includes(':'))
      .flatMap((destination) =>
        ['TCP', 'UDP', 'SCTP', source.address?.includes(':') ? 'ICMPv6' : 'ICMP'].flatMap((protocol) =>
          (protocol.startsWith('ICMP') ? [undefined] : [80, 81, 443]).map((port): PolicyFlow => ({
            source,
            destination,
            protocol,
            port,
          })),
        ),
      ),
  );
}
