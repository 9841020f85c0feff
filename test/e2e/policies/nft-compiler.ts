/**
 * Network policies as rules of nftables, in the plainest way there is: selectors become lists of addresses, and each Pod has a chain for each
 * direction and tier. Shares nothing with the evaluator that it judges.
 */
import type { Cluster } from '../../policies/literal.ts';
import { labelsSelected } from '../../policies/literal.ts';
import type { Pod } from '../../../src/policies/policies.ts';

type Any = any; // oxlint-disable-line typescript/no-explicit-any -- objects as they are in JSON
type Direction = 'ingress' | 'egress';

/** Sets of the table that hold what was let through. */
export const admittedSet = 'admitted';
export const admittedEchoSets = ['admitted_echo', 'admitted_echo6'] as const;

/** A ruleset for `nft -f` that replaces the one before. `logPrefix`: what is dropped is logged with it. */
export function compileToNft(cluster: Cluster, pods: readonly Pod[], logPrefix: string | undefined): string {
  const drop = `${logPrefix === undefined ? '' : `log prefix "${logPrefix}" `}drop`;
  const chains = pods.flatMap((pod, index) =>
    (['egress', 'ingress'] as const).flatMap((direction) =>
      podChains(cluster, pods, pod, direction, `${direction}_${index}`, drop),
    ),
  );
  const jumps = (side: 'saddr' | 'daddr', direction: Direction): string[] =>
    pods.flatMap((pod, index) =>
      matchAddresses(side, pod.addresses).map((match) => `${match} jump ${direction}_${index}`),
    );
  return `add table inet judge
delete table inet judge
table inet judge {
  set ${admittedSet} { type inet_proto . inet_service; flags dynamic; size 65535; }
  set ${admittedEchoSets[0]} { type ipv4_addr . ipv4_addr; flags dynamic; size 1024; }
  set ${admittedEchoSets[1]} { type ipv6_addr . ipv6_addr; flags dynamic; size 1024; }
  chain done { }
${chains.join('\n')}
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    ${[...jumps('saddr', 'egress'), ...jumps('daddr', 'ingress')].join('\n    ')}
    meta l4proto { tcp, udp, sctp } add @${admittedSet} { meta l4proto . th sport }
    icmp type echo-request add @${admittedEchoSets[0]} { ip saddr . ip daddr }
    icmpv6 type echo-request add @${admittedEchoSets[1]} { ip6 saddr . ip6 daddr }
    accept
  }
}
`;
}

function familyOf(address: string): 'ip' | 'ip6' {
  return address.includes(':') ? 'ip6' : 'ip';
}

/** One match for each family that there is. */
function matchAddresses(side: 'saddr' | 'daddr', addresses: readonly string[]): string[] {
  return (['ip', 'ip6'] as const).flatMap((family) => {
    const found = addresses.filter((address) => familyOf(address) === family);
    return found.length === 0 ? [] : [`${family} ${side} { ${found.join(', ')} }`];
  });
}

function podChains(
  cluster: Cluster,
  pods: readonly Pod[],
  pod: Pod,
  direction: Direction,
  name: string,
  drop: string,
): string[] {
  const of = (kind: string): Any[] => cluster.policies.filter((each) => (each as Any).kind === kind);
  const clusterWide = of('ClusterNetworkPolicy');
  const matcher = createMatcher(cluster, pods, pod, direction);
  const tier = (policies: Any[], next: string): string[] =>
    policies
      .filter(({ spec }) => matcher.subject(spec.subject))
      .toSorted((a, b) => (a.spec.priority ?? 1e6) - (b.spec.priority ?? 1e6))
      .flatMap(({ spec }) =>
        (spec[direction] ?? []).flatMap((rule: Any) => {
          const verdict = { Pass: `goto ${next}`, Deny: drop }[rule.action as string] ?? 'goto done';
          return matcher.clusterRule(rule).map((match) => `${match} ${verdict}`);
        }),
      );
  const isolating = of('NetworkPolicy').filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      labelsSelected(spec.podSelector ?? {}, pod.labels ?? {}) &&
      (spec.policyTypes?.length > 0
        ? spec.policyTypes.includes(direction === 'ingress' ? 'Ingress' : 'Egress')
        : direction === 'ingress' || spec.egress?.length > 0),
  );
  const admitting = isolating.flatMap(({ metadata, spec }) =>
    (spec[direction] ?? []).flatMap((rule: Any) => matcher.networkPolicyRule(rule, metadata.namespace)),
  );
  const admin = tier(
    [...clusterWide.filter(({ spec }) => spec.tier === 'Admin'), ...of('AdminNetworkPolicy')],
    `${name}_np`,
  );
  const baseline = tier(
    [...clusterWide.filter(({ spec }) => spec.tier === 'Baseline'), ...of('BaselineAdminNetworkPolicy')],
    'done',
  );
  return [
    chain(`${name}_base`, baseline),
    chain(
      `${name}_np`,
      isolating.length > 0 ? [...admitting.map((match) => `${match} goto done`), drop] : [`goto ${name}_base`],
    ),
    chain(name, [...admin, `goto ${name}_np`]),
  ];
}

function chain(name: string, rules: readonly string[]): string {
  return `  chain ${name} {\n${rules.map((rule) => `    ${rule}\n`).join('')}  }`;
}

function createMatcher(cluster: Cluster, pods: readonly Pod[], pod: Pod, direction: Direction) {
  const side = direction === 'ingress' ? 'saddr' : 'daddr';
  const namespaceLabels = (name: string): Record<string, string> => ({
    ...cluster.namespaces.find((each) => each.name === name)?.labels,
    'kubernetes.io/metadata.name': name,
  });
  const subject = ({ namespaces, pods: namespaced }: Any, of: Pod = pod): boolean =>
    labelsSelected(namespaces ?? namespaced.namespaceSelector, namespaceLabels(of.namespace)) &&
    labelsSelected(namespaced?.podSelector ?? {}, of.labels ?? {});
  const addresses = (selected: (each: Pod) => boolean): string[] =>
    matchAddresses(
      side,
      pods.filter(selected).flatMap((each) => each.addresses),
    );
  const block = (cidr: string, except: string[] = []): string[] => [
    `${familyOf(cidr)} ${side} ${cidr}${except.map((each) => ` ${familyOf(each)} ${side} != ${each}`).join('')}`,
  ];

  /** Ports of that name, each with the Pod that has it. */
  const named = (name: string, protocol: string | undefined): string[] =>
    (direction === 'ingress' ? [pod] : pods).flatMap((each) =>
      (each.ports ?? [])
        .filter((port) => port.name === name && (protocol === undefined || port.protocol === protocol))
        .flatMap((port) =>
          matchAddresses('daddr', each.addresses).map(
            (match) => `${match} ${port.protocol.toLowerCase()} dport ${port.port}`,
          ),
        ),
    );

  return {
    subject: (given: Any) => subject(given),
    clusterRule(rule: Any): string[] {
      const peers = (rule.from ?? rule.to).flatMap((peer: Any) =>
        peer.networks ? peer.networks.flatMap((cidr: string) => block(cidr)) : addresses((each) => subject(peer, each)),
      );
      const given: Any[] | undefined = rule.protocols ?? rule.ports;
      return product(peers, given?.flatMap(clusterPort));
    },
    networkPolicyRule(rule: Any, namespace: string): string[] {
      const peers = ((direction === 'ingress' ? rule.from : rule.to) ?? []).flatMap((peer: Any) => {
        if (peer.ipBlock) return block(peer.ipBlock.cidr, peer.ipBlock.except);
        return addresses(
          (each) =>
            (peer.namespaceSelector
              ? labelsSelected(peer.namespaceSelector, namespaceLabels(each.namespace))
              : each.namespace === namespace) && labelsSelected(peer.podSelector ?? {}, each.labels ?? {}),
        );
      });
      const restricts = ((direction === 'ingress' ? rule.from : rule.to) ?? []).length > 0;
      const ports = rule.ports?.length > 0 ? rule.ports.flatMap(networkPolicyPort) : undefined;
      return product(restricts ? peers : [''], ports);
    },
  };

  function clusterPort(port: Any): string[] {
    const name = port.destinationNamedPort ?? port.namedPort;
    if (name !== undefined) return named(name, undefined);
    for (const protocol of ['tcp', 'udp', 'sctp']) {
      const wanted = port[protocol]?.destinationPort;
      if (wanted) return [`${protocol} dport ${wanted.number ?? `${wanted.range.start}-${wanted.range.end}`}`];
    }
    const { portNumber, portRange } = port;
    const protocol = ((portNumber ?? portRange).protocol ?? 'TCP').toLowerCase();
    return [`${protocol} dport ${portNumber?.port ?? `${portRange.start}-${portRange.end}`}`];
  }

  function networkPolicyPort({ protocol = 'TCP', port, endPort }: Any): string[] {
    if (port === undefined) return [`meta l4proto ${protocol.toLowerCase()}`];
    if (typeof port === 'string') return named(port, protocol);
    return [`${protocol.toLowerCase()} dport ${port}${endPort > port ? `-${endPort}` : ''}`];
  }
}

/** No packet is of both families, and nft refuses a rule that wants it. */
function product(peers: readonly string[], ports: readonly string[] | undefined): string[] {
  if (ports === undefined) return [...peers];
  const all = peers.flatMap((peer) => ports.map((port) => `${peer} ${port}`));
  return all.filter((match) => !(/\bip [sd]addr/.test(match) && /\bip6 [sd]addr/.test(match)));
}
