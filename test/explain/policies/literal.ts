/**
 * The verdict of policies, written sentence by sentence according to the comments of the API types
 * (api/networking/v1/types.go, apis/v1alpha2/clusternetworkpolicy_types.go, apis/v1alpha1/adminnetworkpolicy_types.go).
 * Slow, and shares no code with the evaluation under test.
 */
import ipaddr from 'ipaddr.js';
import type { Namespace, PolicyFlow, PolicyPod } from '../../../src/explain/policies/policies.ts';

type Any = any; // oxlint-disable-line typescript/no-explicit-any -- objects as they are in JSON

export interface Cluster {
  policies: readonly object[];
  namespaces: readonly Namespace[];
}

export type Literal = 'admits' | 'denies' | 'any';

/** Returns an outcome that does not depend on policies; undefined if policies decide. */
export function beforePolicies(flow: PolicyFlow, direction: 'ingress' | 'egress'): Literal | undefined {
  const own = direction === 'ingress' ? flow.destination : flow.source;
  if (own.kind !== 'pod' || own.pod.hostNetwork) return 'admits';
  const { source, destination } = flow;
  const isSame =
    source.kind === 'pod' &&
    destination.kind === 'pod' &&
    source.pod.name === destination.pod.name &&
    source.pod.namespace === destination.pod.namespace;
  if (isSame) return 'admits';
  // "OR if the traffic source is the pod's local node"
  if (direction === 'ingress' && source.kind === 'node' && source.node.name === own.pod.node) return 'admits';
  if (direction === 'ingress' && source.kind === 'pod' && source.pod.hostNetwork && source.pod.node === own.pod.node)
    return 'admits';
  return undefined;
}

/** `any`: policies of equal priority disagree, and "the implementation can apply any of the matching policies". */
export function literalVerdict(cluster: Cluster, flow: PolicyFlow, direction: 'ingress' | 'egress'): Literal {
  const before = beforePolicies(flow, direction);
  if (before !== undefined) return before;
  const { subject, clusterRule, networkPolicySelects, networkPolicyAdmits } = kubernetesReading(
    cluster,
    flow,
    direction,
  );
  const of = (kind: string): Any[] => cluster.policies.filter((each) => (each as Any).kind === kind);
  const clusterWide = of('ClusterNetworkPolicy');
  return ofTier([...clusterWide.filter((each) => each.spec.tier === 'Admin'), ...of('AdminNetworkPolicy')], () => {
    const selecting = of('NetworkPolicy').filter(networkPolicySelects);
    if (selecting.length > 0) return selecting.some(networkPolicyAdmits) ? 'admits' : 'denies';
    // No reference has both APIs in one cluster. BaselineAdminNetworkPolicy counts as the last of its tier.
    const baseline = [
      ...clusterWide.filter((each) => each.spec.tier === 'Baseline'),
      ...of('BaselineAdminNetworkPolicy'),
    ];
    return ofTier(baseline, () => 'admits');
  });

  /** `next`: the outcome of a connection on which the tier does not decide. */
  function ofTier(policies: Any[], next: () => Literal): Literal {
    const priorities = [...new Set(policies.map((each) => each.spec.priority ?? Infinity))].toSorted((x, y) => x - y);
    for (const priority of priorities) {
      const outcomes = new Set<Literal>();
      for (const policy of policies.filter((each) => (each.spec.priority ?? Infinity) === priority)) {
        if (!subject(policy.spec.subject)) continue;
        const first = (policy.spec[direction] ?? []).find((rule: Any) => clusterRule(rule));
        if (first?.action === 'Pass') outcomes.add(next());
        else if (first !== undefined) outcomes.add(first.action === 'Deny' ? 'denies' : 'admits');
      }
      // The outcome may be the same, whichever policy is applied.
      const [only] = outcomes;
      if (outcomes.size > 1) return 'any';
      if (only !== undefined) return only;
    }
    return next();
  }
}

/** Reads single Kubernetes policies about a connection to or from a Pod. */
export function kubernetesReading(cluster: Cluster, flow: PolicyFlow, direction: 'ingress' | 'egress') {
  const { source, destination } = flow;
  const own = (direction === 'ingress' ? destination : source) as { kind: 'pod'; pod: PolicyPod };

  return { subject, clusterRule, networkPolicySelects, networkPolicyAdmits };

  function networkPolicySelects(policy: Any): boolean {
    return (
      policy.metadata.namespace === own.pod.namespace &&
      labelsSelected(policy.spec.podSelector ?? {}, own.pod.labels) &&
      typesOf(policy.spec).includes(direction === 'ingress' ? 'Ingress' : 'Egress')
    );
  }

  function networkPolicyAdmits(policy: Any): boolean {
    return (policy.spec[direction] ?? []).some((rule: Any) => networkPolicyRule(rule, policy.metadata.namespace));
  }

  function subject({ namespaces, pods }: Any): boolean {
    return labelled(own.pod, namespaces, pods);
  }

  function labelled(pod: PolicyPod | undefined, namespaces: Any, pods: Any): boolean {
    if (pod === undefined || pod.hostNetwork) return false;
    if (namespaces !== undefined) return labelsSelected(namespaces, namespaceLabels(pod.namespace));
    return (
      labelsSelected(pods.namespaceSelector, namespaceLabels(pod.namespace)) &&
      labelsSelected(pods.podSelector, pod.labels)
    );
  }

  function clusterRule(rule: Any): boolean {
    const peer = direction === 'ingress' ? source : destination;
    const peers: Any[] = rule.from ?? rule.to;
    const matches = peers.some(({ namespaces, pods, networks }) => {
      if (networks !== undefined) return networks.some((cidr: string) => inside(cidr, peer.address));
      return labelled(peer.kind === 'pod' ? peer.pod : undefined, namespaces, pods);
    });
    if (!matches) return false;
    const ports: Any[] | undefined = rule.protocols ?? rule.ports;
    if (ports === undefined) return true;
    return ports.some((port) => {
      if (port.destinationNamedPort !== undefined || port.namedPort !== undefined)
        return named(port.destinationNamedPort ?? port.namedPort, flow.protocol);
      for (const protocol of ['tcp', 'udp', 'sctp']) {
        if (port[protocol] === undefined) continue;
        const { number, range } = port[protocol].destinationPort;
        return flow.protocol === protocol.toUpperCase() && between(number ?? range.start, number ?? range.end);
      }
      const { portNumber, portRange } = port;
      if (portNumber)
        return flow.protocol === (portNumber.protocol ?? 'TCP') && between(portNumber.port, portNumber.port);
      return flow.protocol === (portRange.protocol ?? 'TCP') && between(portRange.start, portRange.end);
    });
  }

  function networkPolicyRule(rule: Any, namespace: string): boolean {
    const peer = direction === 'ingress' ? source : destination;
    const ports: Any[] = rule.ports ?? [];
    const peers: Any[] = (direction === 'ingress' ? rule.from : rule.to) ?? [];
    const portMatches = ports.some(({ protocol = 'TCP', port, endPort }) => {
      if (protocol !== flow.protocol) return false;
      if (port === undefined) return true;
      if (typeof port === 'string') return named(port, protocol);
      return between(port, endPort ?? port);
    });
    const peerMatches = peers.some(({ ipBlock, namespaceSelector, podSelector }) => {
      if (ipBlock !== undefined)
        return (
          inside(ipBlock.cidr, peer.address) &&
          !(ipBlock.except ?? []).some((cidr: string) => inside(cidr, peer.address))
        );
      if (peer.kind !== 'pod' || peer.pod.hostNetwork) return false;
      const inNamespace =
        namespaceSelector === undefined
          ? peer.pod.namespace === namespace
          : labelsSelected(namespaceSelector, namespaceLabels(peer.pod.namespace));
      return inNamespace && (podSelector === undefined || labelsSelected(podSelector, peer.pod.labels));
    });
    return (ports.length === 0 || portMatches) && (peers.length === 0 || peerMatches);
  }

  function between(first: number, last: number): boolean {
    return flow.port !== undefined && flow.port >= first && flow.port <= last;
  }

  function named(name: string, protocol: string): boolean {
    if (destination.kind !== 'pod' || destination.pod.hostNetwork) return false;
    return (destination.pod.ports ?? []).some(
      (each) => each.name === name && each.protocol === protocol && each.port === flow.port,
    );
  }

  function namespaceLabels(name: string): Record<string, string> {
    const found = cluster.namespaces.find((each) => each.name === name);
    return { ...found?.labels, 'kubernetes.io/metadata.name': name };
  }
}

/** "If this field is not specified, it will default based on the existence of ingress or egress rules". */
function typesOf({ policyTypes, egress }: Any): string[] {
  if (policyTypes !== undefined && policyTypes.length > 0) return policyTypes;
  return egress !== undefined && egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

export function labelsSelected(
  { matchLabels = {}, matchExpressions = [] }: Any,
  labels: Record<string, string> = {},
): boolean {
  const expressions = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions,
  ];
  return expressions.every(({ key, operator, values }) => {
    if (operator === 'In') return key in labels && values.includes(labels[key]);
    if (operator === 'NotIn') return !(key in labels) || !values.includes(labels[key]);
    return operator === 'Exists' ? key in labels : !(key in labels);
  });
}

export function inside(cidr: string, address: string | undefined): boolean {
  const parsed = ipaddr.parse(address ?? '');
  const [range, bits] = ipaddr.parseCIDR(cidr);
  return parsed.kind() === range.kind() && parsed.match(range, bits);
}
