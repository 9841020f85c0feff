/** Calico's policies, tiers and sets of networks, small enough that policies often match. */
import fc from 'fast-check';
import {
  key,
  labelSets,
  maybe,
  namespaceName,
  object,
  oneOrTwo,
  portName,
  portNumber,
  protocol,
  value,
} from '../arbitraries.ts';
import { calico } from '../objects.ts';

const term = fc.oneof(
  fc.tuple(key, value).map(([label, text]) => `${label} == "${text}"`),
  fc.tuple(key, value).map(([label, text]) => `${label} != "${text}"`),
  key.map((label) => `has(${label})`),
  key.map((label) => `!has(${label})`),
  fc
    .tuple(key, fc.subarray(['a', 'b']))
    .map(([label, texts]) => `${label} in {${texts.map((each) => `"${each}"`).join(', ')}}`),
  fc.tuple(key, value).map(([label, text]) => `${label} not in {"${text}"}`),
  fc.constant('all()'),
);
const selector = fc.oneof(
  { arbitrary: term, weight: 3 },
  { arbitrary: fc.tuple(term, term).map((terms) => terms.join(' && ')), weight: 1 },
);
const named = namespaceName.map((name) => `projectcalico.org/name == "${name}"`);
const namespaceSelector = fc.oneof(selector, named, fc.constantFrom('all()', 'global()'));
const accountSelector = fc.oneof(selector, fc.constant('projectcalico.org/name == "robot"'));
const net = fc.constantFrom(
  '0.0.0.0/0',
  '10.0.0.0/30',
  '10.0.0.2',
  '10.0.0.1/31',
  '::/0',
  'fd00::/127',
  '192.0.2.0/25',
);
const port = fc.oneof(portNumber, fc.constantFrom('80:81', '443', '81:500'), portName);

const entity = (withPorts: boolean): fc.Arbitrary<object> =>
  object({
    nets: rarely(oneOrTwo(net)),
    notNets: rarely(oneOrTwo(net)),
    selector: maybe(selector),
    namespaceSelector: rarely(namespaceSelector),
    notSelector: rarely(selector),
    serviceAccounts: rarely(
      object({ names: maybe(oneOrTwo(fc.constantFrom('default', 'robot'))), selector: rarely(accountSelector) }),
    ),
    ports: withPorts ? maybe(oneOrTwo(port)) : fc.constant(undefined),
    notPorts: withPorts ? rarely(oneOrTwo(port)) : fc.constant(undefined),
  });

function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary, weight: 1 });
}

const action = fc.constantFrom('Allow', 'Deny', 'Pass', 'Log');
const rule = fc.oneof(
  object({ action, source: maybe(entity(false)), destination: rarely(entity(false)) }),
  object({
    action,
    source: rarely(entity(false)),
    destination: maybe(entity(false)),
    protocol: maybe(fc.oneof(protocol, fc.constantFrom('ICMP', 'ICMPv6', 17, 1))),
    notProtocol: rarely(protocol),
    ipVersion: rarely(fc.constantFrom(4, 6)),
  }),
  object({ action, source: rarely(entity(false)), destination: entity(true), protocol }),
);

export const order = fc.constantFrom(undefined, 10, 1000, 2000);
const spec = {
  tier: fc.constantFrom(undefined, undefined, 'default', 'alpha', 'omega'),
  order,
  selector: maybe(selector),
  types: maybe(fc.subarray(['Ingress', 'Egress'], { minLength: 1 })),
  ingress: maybe(fc.array(rule, { maxLength: 3 })),
  egress: maybe(fc.array(rule, { maxLength: 3 })),
  serviceAccountSelector: rarely(accountSelector),
};
const name = fc.constantFrom('p', 'q', 'r');

export const calicoPolicies: fc.Arbitrary<object> = fc.oneof(
  fc
    .tuple(object(spec), name, namespaceName, fc.constantFrom('', '', '', 'Staged'))
    .map(([given, called, namespace, staged]) => calico(`${staged}NetworkPolicy`, given, called, namespace)),
  fc
    .tuple(
      object({
        ...spec,
        namespaceSelector: maybe(fc.oneof(selector, named)),
        preDNAT: fc.constantFrom(undefined, undefined, undefined, true),
        applyOnForward: fc.constantFrom(undefined, true),
      }),
      name,
      fc.constantFrom('', '', '', 'Staged'),
    )
    .map(([given, called, staged]) => calico(`${staged}GlobalNetworkPolicy`, given, called)),
);

const tierOrder = fc.constantFrom(undefined, 500, 1000, 1_000_000, 20_000_000);
const tier = (called: string): fc.Arbitrary<object> =>
  object({ order: tierOrder, defaultAction: fc.constantFrom(undefined, 'Deny', 'Pass') }).map((given) =>
    calico('Tier', given, called),
  );
const sets = fc.oneof(
  fc
    .tuple(fc.record({ nets: oneOrTwo(net) }), fc.constantFrom('s', 't'), namespaceName, labelSets)
    .map(([given, called, namespace, labels]) => calico('NetworkSet', given, called, namespace, labels)),
  fc
    .tuple(fc.record({ nets: oneOrTwo(net) }), fc.constantFrom('s', 't'), labelSets)
    .map(([given, called, labels]) => calico('GlobalNetworkSet', given, called, undefined, labels)),
);
const account = (namespace: string, called: string): fc.Arbitrary<object> =>
  labelSets.map((labels) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: called, namespace, labels },
  }));

/** Both tiers that policies name, some network sets, and all ServiceAccounts. */
export const calicoObjects: fc.Arbitrary<object[]> = fc
  .tuple(
    tier('alpha'),
    tier('omega'),
    fc.array(sets, { maxLength: 2 }),
    account('x', 'default'),
    account('x', 'robot'),
    account('y', 'default'),
    account('y', 'robot'),
  )
  .map(([alpha, omega, found, ...accounts]) => [alpha, omega].concat(unique(found), accounts));

/** An API server has only one object of a name. */
export function unique<T extends object>(objects: readonly T[]): T[] {
  const keyOf = (each: T): string => {
    const { kind, metadata } = each as unknown as { kind: string; metadata: { name: string; namespace?: string } };
    return `${kind}/${metadata.namespace ?? ''}/${metadata.name}/${'apiVersion' in each ? String(each.apiVersion) : ''}`;
  };
  return [...new Map(objects.map((each) => [keyOf(each), each])).values()];
}
