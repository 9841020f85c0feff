/**
 * Clusters with random policies, and the rules that enforce these in the networks of their Pods, by a literal reading
 * of the API.
 */
import fc from 'fast-check';
import {
  clusterPolicies,
  labelSets,
  namedPorts,
  namespaceLists,
  namespaceName,
  networkPolicies,
} from '../../explain/policies/arbitraries.ts';
import { literalVerdict } from '../../explain/policies/literal.ts';
import { pod } from '../../explain/policies/objects.ts';
import type { Namespace, PolicyPod } from '../../../src/explain/policies/policies.ts';
import { ports, randomPods } from './random-pods.ts';

/** A connection of the first Pod to the second, by their places in `randomPods`. */
export interface RandomConnection {
  from: number;
  to: number;
  address: string;
  port: number;
  localPort: number;
  /** What the policies say. `any`: both, because policies of the same priority disagree; the packet is dropped. */
  verdict: 'admits' | 'denies' | 'any';
}

export interface Round {
  policies: readonly object[];
  namespaces: readonly Namespace[];
  pods: readonly PolicyPod[];
  connections: readonly RandomConnection[];
  /** Rules for nft, in the network of each Pod. */
  rules: readonly string[];
}

const directions = ['ingress', 'egress'] as const;
const policyCount = { minLength: 8, maxLength: 8 };
const policies = fc.oneof({ arbitrary: networkPolicies, weight: 5 }, { arbitrary: clusterPolicies, weight: 1 });
const clusters = fc.record({
  policies: fc.array(policies, policyCount).map((all) => all.flatMap(named)),
  namespaces: namespaceLists,
  pods: fc.tuple(
    ...randomPods.map(({ address, address6 }, index) =>
      fc
        .record({ namespace: namespaceName, labels: labelSets, ports: namedPorts })
        .map((given) => Object.assign(pod(given), { name: `pod-${index}`, addresses: [address, address6] })),
    ),
  ),
  isSix: fc.boolean(),
});

type Cluster = typeof clusters extends fc.Arbitrary<infer T> ? T : never;

/** Makes this many rounds, of eight policies and ninety connections each. */
export function randomRounds(count: number, seed: number): Round[] {
  return fc.sample(clusters, { numRuns: count, seed }).map(roundOf);
}

function roundOf({ isSix, policies: all, namespaces, pods }: Cluster, round: number): Round {
  const cluster = { policies: all, namespaces, pods };
  const pairs = randomPods.flatMap((_, from) =>
    randomPods.flatMap(({ address, address6 }, to) =>
      from === to ? [] : [{ from, to, at: isSix ? address6 : address }],
    ),
  );
  const count = pairs.length * ports.length;
  const connections = pairs.flatMap(({ from, to, at }, pair) =>
    ports.map((port, place): RandomConnection => {
      const localPort = 10_000 + ((round * count + pair * ports.length + place) % 20_000);
      return { from, to, address: at, port, localPort, verdict: verdictOf(cluster, { from, to, address: at, port }) };
    }),
  );
  return { ...cluster, connections, rules: randomPods.map((_, index) => rulesOf(index, connections)) };
}

interface Policy {
  kind: string;
  metadata: { name: string };
}

/** Otherwise two of them would be the same object. Only one baseline may exist. */
function named(policy: object, index: number, all: readonly object[]): object[] {
  const { metadata, ...others } = policy as Policy;
  const { kind } = others;
  if (kind !== 'BaselineAdminNetworkPolicy') return [{ ...others, metadata: { ...metadata, name: `policy-${index}` } }];
  return all.findIndex((each) => (each as Policy).kind === kind) === index ? [policy] : [];
}

function verdictOf(
  cluster: Pick<Round, 'policies' | 'namespaces' | 'pods'>,
  { from, to, address, port }: Pick<RandomConnection, 'from' | 'to' | 'address' | 'port'>,
): RandomConnection['verdict'] {
  const end = (index: number, at: string) =>
    ({ kind: 'pod', pod: cluster.pods[index] as PolicyPod, address: at }) as const;
  const { address: own = '', address6 = '' } = randomPods[from] ?? {};
  const source = end(from, address.includes(':') ? address6 : own);
  const flow = { source, destination: end(to, address), protocol: 'TCP', port };
  const verdicts = new Set(directions.map((direction) => literalVerdict(cluster, flow, direction)));
  return verdicts.has('denies') ? 'denies' : verdicts.has('any') ? 'any' : 'admits';
}

/** The rules are on the Pod that receives the packet, as on another node. */
function rulesOf(index: number, connections: readonly RandomConnection[]): string {
  const drops = connections.flatMap(({ from, to, address, port, verdict }) => {
    const isSix = address.includes(':');
    const source = isSix ? randomPods[from]?.address6 : randomPods[from]?.address;
    return to === index && verdict !== 'admits' ? `${isSix ? 'ip6' : 'ip'} saddr ${source} tcp dport ${port} drop` : [];
  });
  return [
    'flush ruleset',
    'table inet t {',
    'chain c {',
    'type filter hook input priority 0;',
    ...drops,
    '}',
    '}',
    '',
  ].join('\n');
}
