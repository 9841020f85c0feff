/** Clusters, policies and connections, small enough that policies often match. */
import fc from 'fast-check';
import type { End, Namespace, PolicyFlow, PolicyPod } from '../../../src/explain/policies/policies.ts';
import { adminNetworkPolicy, baselineAdminNetworkPolicy, clusterNetworkPolicy, networkPolicy, pod } from './objects.ts';

export const key = fc.constantFrom('app', 'tier');
export const value = fc.constantFrom('a', 'b');
export const namespaceName = fc.constantFrom('x', 'y');
export const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP');
export const portNumber = fc.constantFrom(80, 81, 443);
export const portName = fc.constantFrom('web', 'dns');

/** Leaves out undefined values, as JSON does. */
export function object<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc
    .record(model)
    .map((given) => Object.fromEntries(Object.entries(given).filter(([, each]) => each !== undefined)) as Partial<T>);
}

export const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
export const oneOrTwo = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength: 1, maxLength: 2 });

const expression = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: oneOrTwo(value) }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);
const podSelector = object({
  matchLabels: maybe(fc.dictionary(key, value, { maxKeys: 1 })),
  matchExpressions: maybe(fc.array(expression, { maxLength: 1 })),
});
const namespaceSelector = fc.oneof(
  podSelector,
  namespaceName.map((name) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })),
);
const block = fc.constantFrom(
  { cidr: '0.0.0.0/0' },
  { cidr: '10.0.0.0/30' },
  { cidr: '10.0.0.0/24', except: ['10.0.0.2/31'] },
  { cidr: '::/0', except: ['fd00::/127'] },
  { cidr: '192.0.2.0/25' },
);
const networkPolicyPeer = fc.oneof(
  fc.record({ podSelector }),
  fc.record({ namespaceSelector }),
  fc.record({ namespaceSelector, podSelector }),
  fc.record({ ipBlock: block }),
);
const networkPolicyPort = fc.oneof(
  object({ protocol: maybe(protocol), port: maybe(portNumber) }),
  object({ protocol: maybe(protocol), port: portName }),
  fc.record({ protocol, port: fc.constant(80), endPort: fc.constantFrom(80, 81) }),
);
const networkPolicyRule = (field: string): fc.Arbitrary<object> =>
  object({
    ports: maybe(fc.array(networkPolicyPort, { maxLength: 2 })),
    [field]: maybe(fc.array(networkPolicyPeer, { maxLength: 2 })),
  });

export const networkPolicies = fc
  .tuple(
    object({
      podSelector: maybe(podSelector),
      policyTypes: maybe(fc.subarray(['Ingress', 'Egress'])),
      ingress: maybe(fc.array(networkPolicyRule('from'), { maxLength: 2 })),
      egress: maybe(fc.array(networkPolicyRule('to'), { maxLength: 2 })),
    }),
    namespaceName,
    fc.constantFrom('p', 'q'),
  )
  .map(([spec, namespace, name]) => networkPolicy(spec, name, namespace));

const subject = fc.oneof(
  fc.record({ namespaces: namespaceSelector }),
  fc.record({ pods: fc.record({ namespaceSelector, podSelector }) }),
);
const peerOf = (direction: string): fc.Arbitrary<object> =>
  direction === 'ingress'
    ? subject
    : fc.oneof(subject, fc.record({ networks: oneOrTwo(fc.constantFrom('0.0.0.0/0', '10.0.0.0/30', '::/0')) }));
const range = fc.constantFrom({ start: 80, end: 81 }, { start: 81, end: 500 });
const protocolClause = fc.oneof(
  fc
    .tuple(fc.constantFrom('tcp', 'udp', 'sctp'), fc.oneof(fc.record({ number: portNumber }), fc.record({ range })))
    .map(([name, destinationPort]) => ({ [name]: { destinationPort } })),
  fc.record({ destinationNamedPort: portName }),
);
const adminPort = fc.oneof(
  fc.record({ portNumber: object({ protocol: maybe(protocol), port: portNumber }) }),
  fc.record({ portRange: fc.record({ start: fc.constantFrom(80, 81), end: fc.constantFrom(82, 500), protocol }) }),
  fc.record({ namedPort: portName }),
);

function rulesOf(
  actions: string[],
  direction: string,
  ports: 'protocols' | 'ports',
): fc.Arbitrary<object[] | undefined> {
  const clause: fc.Arbitrary<object> = ports === 'protocols' ? protocolClause : adminPort;
  const rule = object({
    action: fc.constantFrom(...actions),
    [direction === 'ingress' ? 'from' : 'to']: oneOrTwo(peerOf(direction)),
    [ports]: maybe(oneOrTwo(clause)),
  });
  return maybe(fc.array(rule, { maxLength: 2 }));
}

const priority = fc.constantFrom(1, 2);
const clusterActions = ['Accept', 'Deny', 'Pass'];
const adminActions = ['Allow', 'Deny', 'Pass'];

export const clusterPolicies = fc.oneof(
  object({
    tier: fc.constantFrom('Admin', 'Baseline'),
    priority,
    subject,
    ingress: rulesOf(clusterActions, 'ingress', 'protocols'),
    egress: rulesOf(clusterActions, 'egress', 'protocols'),
  }).map((spec) => clusterNetworkPolicy(spec)),
  object({
    priority,
    subject,
    ingress: rulesOf(adminActions, 'ingress', 'ports'),
    egress: rulesOf(adminActions, 'egress', 'ports'),
  }).map((spec) => adminNetworkPolicy(spec)),
  object({
    subject,
    ingress: rulesOf(['Allow', 'Deny'], 'ingress', 'ports'),
    egress: rulesOf(['Allow', 'Deny'], 'egress', 'ports'),
  }).map((spec) => baselineAdminNetworkPolicy(spec)),
);

/** Ports with unique names. */
export const namedPorts = fc.uniqueArray(fc.record({ name: portName, port: portNumber, protocol }), {
  selector: (each) => each.name + each.protocol,
  maxLength: 2,
});
export const labelSets = fc.dictionary(key, value, { maxKeys: 2 });

/** Both ends of a packet are of one family. */
const families = {
  4: { pods: ['10.0.0.1', '10.0.0.2', '10.0.0.9'], external: ['192.0.2.7', '10.0.0.1'], node: '10.0.0.200' },
  6: { pods: ['fd00::1', 'fd00::2', 'fd00::9'], external: ['2001:db8::1', 'fd00::1'], node: 'fd00::200' },
} as const;

const podsOf = (family: 4 | 6): fc.Arbitrary<PolicyPod> =>
  fc
    .record({
      namespace: namespaceName,
      name: fc.constantFrom('one', 'two', 'three'),
      labels: labelSets,
      address: fc.constantFrom(...families[family].pods),
      node: fc.constantFrom('node-a', 'node-b'),
      hostNetwork: fc.constantFrom(false, false, false, true),
      ports: namedPorts,
      serviceAccount: fc.constantFrom('default', 'robot'),
    })
    .map(({ address, ...given }) => pod({ ...given, addresses: [address] }));

const endsOf = (family: 4 | 6): fc.Arbitrary<End> =>
  fc.oneof(
    { arbitrary: podsOf(family).map((of): End => ({ kind: 'pod', pod: of, address: of.addresses[0] })), weight: 5 },
    {
      arbitrary: fc.constantFrom(...families[family].external).map((address): End => ({ kind: 'external', address })),
      weight: 1,
    },
    {
      arbitrary: fc
        .constantFrom('node-a', 'node-b')
        .map((name): End => ({ kind: 'node', node: { name, labels: {} }, address: families[family].node })),
      weight: 1,
    },
  );

const flowsOf = (family: 4 | 6): fc.Arbitrary<PolicyFlow> => {
  const ends = { source: endsOf(family), destination: endsOf(family) };
  return fc.oneof(
    fc.record({ ...ends, protocol, port: portNumber }),
    fc.record({ ...ends, protocol: fc.constant('ICMP'), port: fc.constant(undefined) }),
  );
};

export const flows: fc.Arbitrary<PolicyFlow> = fc
  .oneof({ arbitrary: flowsOf(4), weight: 2 }, { arbitrary: flowsOf(6), weight: 1 })
  .map((flow) => (isSamePod(flow) ? Object.assign(flow, { destination: flow.source }) : flow));

/** Two ends with the same name or the same address are the same Pod. */
function isSamePod({ source, destination }: PolicyFlow): boolean {
  if (source.address === destination.address) return true;
  if (source.kind !== 'pod' || destination.kind !== 'pod') return false;
  return source.pod.name === destination.pod.name && source.pod.namespace === destination.pod.namespace;
}

export const namespaceLists: fc.Arbitrary<Namespace[]> = fc.tuple(labelSets, labelSets).map(([x, y]) => [
  { name: 'x', labels: x },
  { name: 'y', labels: y },
]);
