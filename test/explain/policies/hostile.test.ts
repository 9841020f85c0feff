import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPod } from '../../../src/explain/policies/api/read.ts';
import { protocolClause } from '../../../src/explain/policies/calico/clauses.ts';
import {
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type NetworkSet,
  type Policy,
  type PolicyDirection,
  sentenceOf,
  suggest,
} from '../../../src/explain/policies/policies.ts';
import { clusterPolicies, flows, namespaceLists, networkPolicies } from './arbitraries.ts';
import { calicoObjects, calicoPolicies } from './calico/arbitraries.ts';
import { randomCases } from './cilium/random.ts';
import { calico, evaluator, networkPolicy, pod, policySet } from './objects.ts';
import { runs } from '../../runs.ts';
import { forAll } from '../../for-all.ts';

/** JSON values where something else is expected; there, `toString` is a name like any other. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(null, 0, -1, 1e308, '', '__proto__', 'constructor', 'a = "b"', '\u001b[31m', true),
  fc.constantFrom<unknown>([], {}, [null], [[]], { toString: 1 }, { length: 5 }),
  fc.jsonValue(),
);

const ciliumPolicies = fc.nat().map((seed) => structuredClone(randomCases(seed, 1)[0]?.policies[0] ?? {}));

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  const keys = Object.keys(holder);
  return keys.map((key): Place => ({ holder, key })).concat(keys.flatMap((key) => placesIn(holder[key])));
}

test('any broken object gives one of the three verdicts', () => {
  const policies = fc.array(fc.oneof(calicoPolicies, networkPolicies, clusterPolicies, ciliumPolicies), {
    minLength: 1,
    maxLength: 3,
  });
  const changes = fc.array(fc.tuple(fc.nat(), strange), { minLength: 1, maxLength: 4 });
  const seen = new Set<string>();
  forAll(
    [policies, calicoObjects, namespaceLists, flows, changes],
    { numRuns: runs(6000) },
    (given, others, namespaces, flow, changed) => {
      const objects = structuredClone([...given, ...others]);
      for (const [pick, value] of changed) {
        const places = objects.flatMap(placesIn);
        const place = places[pick % places.length];
        if (place !== undefined) place.holder[place.key] = structuredClone(value);
      }
      const { trace } = evaluator(objects, namespaces);
      for (const direction of ['ingress', 'egress'] as const) {
        const traced = trace(flow, direction);
        seen.add(traced.verdict.outcome);
        expect(traced.verdict.missing.length > 0).toBe(traced.verdict.outcome === 'unknown');
        expect(Buffer.byteLength(sentenceOf(traced, { max: 400 }))).toBeLessThanOrEqual(400);
      }
      const compiled = objects.flatMap(compilePolicy);
      suggest({ flow, policies: compiled, namespaces, pods: [], calico: policySet(objects).calico });
    },
  );
  expect([...seen].toSorted()).toEqual(['admits', 'denies', 'unknown']);
});

test('100,000 nested lists in place of a network make the verdict unknown', () => {
  const cidr: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
  const policy = networkPolicy({ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr } }] }] }, 'deep');
  const { verdict } = evaluator([policy], []);
  const destination = { kind: 'pod', pod: pod(), address: '10.65.1.4' } as const;
  const source = { kind: 'external', address: '192.0.2.7' } as const;
  expect(verdict({ source, destination, protocol: 'TCP', port: 80 }, 'ingress').outcome).toBe('unknown');
});

test('rules share the clause of a protocol, and invented protocols do not fill the memory', () => {
  const first = protocolClause('first');
  expect(protocolClause('first')).toBe(first);
  for (let number = 0; number < 100; number++) protocolClause(`other-${number}`);
  expect(protocolClause('first')).not.toBe(first);
});

/** Returns labels that count how often they are read. */
function countedLabels(): { labels: Record<string, string>; asked: () => number } {
  let count = 0;
  const getOwnPropertyDescriptor = (labels: object, key: string | symbol): PropertyDescriptor | undefined => {
    count++;
    return Reflect.getOwnPropertyDescriptor(labels, key);
  };
  return { labels: new Proxy({}, { getOwnPropertyDescriptor }), asked: () => count };
}

test.each(['ports', 'notPorts'])('a selector is evaluated as often with a thousand named %s as with one', (field) => {
  const selector = Array.from({ length: 500 }, (_, index) => `a == "${index}"`).join(' || ');
  const asked = (count: number): number => {
    const counted = countedLabels();
    const named = Array.from({ length: count }, () => 'db');
    const rule = { action: 'Allow', protocol: 'TCP', destination: { selector, [field]: named } };
    const { trace } = evaluator([calico('NetworkPolicy', { ingress: [rule] }, 'p', 'shop')], []);
    const own = pod({ labels: counted.labels, ports: [{ name: 'db', port: 80, protocol: 'TCP' }] });
    const destination = { kind: 'pod', pod: own, address: '10.65.1.4' } as const;
    trace({ source: { kind: 'external', address: '192.0.2.7' }, destination, protocol: 'TCP', port: 80 }, 'ingress');
    return counted.asked();
  };
  expect(asked(1)).toBeGreaterThan(500);
  expect(asked(1000)).toBe(asked(1));
});

test.each([
  [128, 128],
  [129, undefined],
  [40_000, undefined],
])('of a Pod with %d named ports, policies see %s', (count, seen) => {
  const ports = Array.from({ length: count }, (_, index) => ({ name: `p${index}`, containerPort: index + 1 }));
  const metadata = { name: 'web-0', namespace: 'shop' };
  expect(readPod({ metadata, spec: { containers: [{ ports }] } })?.ports?.length).toBe(seen);
});

/** How often the rules of policies with the same order are read, if `count` of them admit and one denies. */
function timesAsked(count: number): number {
  let times = 0;
  const get = (rules: Policy['rules'], direction: PolicyDirection): Policy['rules'][PolicyDirection] => {
    times++;
    return rules[direction];
  };
  const counted = (policy: Policy): Policy => ({ ...policy, rules: new Proxy(policy.rules, { get }) });
  const admitting = Array.from({ length: count }, (_, index) => networkPolicy({ ingress: [{}] }, `p${index}`));
  const last = calico('NetworkPolicy', { order: 1000, ingress: [{ action: 'Deny', protocol: 'UDP' }] }, 'z', 'shop');
  const compiled = [...admitting, last].flatMap(compilePolicy);
  const policies = createPolicySet(compiled.map(counted), undefined);
  const { verdict } = createEvaluator({ policies, namespaces: [] });
  const destination = { kind: 'pod', pod: pod(), address: '10.65.1.4' } as const;
  const source = { kind: 'external', address: '192.0.2.7' } as const;
  expect(verdict({ source, destination, protocol: 'TCP', port: 80 }, 'ingress').outcome).toBe('admits');
  return times;
}

test('twice as many policies without an order need twice as many requests for their rules', () => {
  expect(timesAsked(200)).toBeLessThan(2.5 * timesAsked(100));
});

/**
 * How often the labels of 64 network sets are read in one verdict by `policies` policies of 20 rules, each with a
 * selector of `parts` parts.
 */
function comparisonsOf(policies: number, parts: number): { asked: number; outcome: string } {
  const selector = Array.from({ length: parts }, (_, index) => `a == "${index}"`).join(' || ');
  const ingress = Array.from({ length: 20 }, () => ({ action: 'Allow', source: { selector } }));
  const given = Array.from({ length: policies }, (_, index) =>
    calico('NetworkPolicy', { ingress }, `p${index}`, 'shop'),
  );
  const counted = countedLabels();
  const networkSets = Array.from({ length: 64 }, (_, index) => ({
    namespace: 'shop',
    name: `set-${index}`,
    labels: counted.labels,
    ranges: [{ first: 0, mask: 0 }],
  }));
  const objects = { ...policySet([]).calico, networkSets } as NonNullable<Parameters<typeof createPolicySet>[1]>;
  const { trace } = createEvaluator({
    policies: createPolicySet(given.flatMap(compilePolicy), objects),
    namespaces: [{ name: 'shop', labels: {} }],
  });
  const destination = { kind: 'pod', pod: pod(), address: '10.65.1.4' } as const;
  const source = { kind: 'external', address: '192.0.2.7' } as const;
  const traced = trace({ source, destination, protocol: 'TCP', port: 80 }, 'ingress');
  sentenceOf(traced, { max: 400 });
  return { asked: counted.asked(), outcome: traced.verdict.outcome };
}

test.each([
  [1, 10, 'denies'],
  [3, 40, 'denies'],
  [10, 500, 'unknown'],
  [40, 100, 'unknown'],
])(
  'the selectors of %d policies, of %d parts each, are compared with network sets at most 400,000 times',
  (policies, parts, outcome) => {
    const { asked, outcome: given } = comparisonsOf(policies, parts);
    expect(given).toBe(outcome);
    expect(asked).toBeGreaterThan(64 * parts);
    expect(asked).toBeLessThanOrEqual(400_000);
  },
);

function setOf(namespace: string | undefined, name: string, labels: Readonly<Record<string, string>>): NetworkSet {
  return { namespace, name, labels, ranges: [{ first: 0, mask: 0 }] };
}

/**
 * `shop` and the cluster have a set each. `strangers` is the number of sets of others, all of which contain every
 * address. The policy denies the addresses in a set with `label`.
 */
function verdictBeside(strangers: number, label: string): string {
  const ingress = [{ action: 'Deny', source: { selector: `has(${label})` } }, { action: 'Allow' }];
  const many = Array.from({ length: strangers }, (_, index) => setOf('a-stranger', `set-${index}`, { other: 'x' }));
  const networkSets = [...many, setOf('shop', 'own', { own: 'x' }), setOf(undefined, 'global', { global: 'x' })];
  const objects = { ...policySet([]).calico, networkSets } as NonNullable<Parameters<typeof createPolicySet>[1]>;
  const given = compilePolicy(calico('GlobalNetworkPolicy', { ingress, selector: 'all()' }, 'p'));
  const { verdict } = createEvaluator({
    policies: createPolicySet(given, objects),
    namespaces: ['shop', 'a-stranger'].map((name) => ({ name, labels: {} })),
  });
  const destination = { kind: 'pod', pod: pod(), address: '10.65.1.4' } as const;
  const source = { kind: 'external', address: '192.0.2.7' } as const;
  return verdict({ source, destination, protocol: 'TCP', port: 80 }, 'ingress').outcome;
}

test.each([
  [10, 'own', 'denies'],
  [5000, 'own', 'denies'],
  [5000, 'global', 'denies'],
  [10, 'none', 'admits'],
  // A set of a stranger that was not compared may have the label, and then Calico would deny.
  [5000, 'none', 'unknown'],
])(
  'beside %d network sets of another tenant, a rule that selects sets with the label %s %s',
  (strangers, label, outcome) => {
    expect(verdictBeside(strangers, label)).toBe(outcome);
  },
);
