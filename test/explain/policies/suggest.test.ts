import fc from 'fast-check';
import { dump } from 'js-yaml';
import { expect, test } from 'vitest';
import {
  compilePolicy,
  type PolicyFlow,
  type OwningWorkload,
  type PolicyPod,
  suggest,
  type SuggestOptions,
  type Suggestion,
} from '../../../src/explain/policies/policies.ts';
import { expectLines } from '../../expected-file.ts';
import { clusterPolicies, labelSets, namedPorts, namespaceLists, networkPolicies } from './arbitraries.ts';
import { literalVerdict } from './literal.ts';
import { baselineAdminNetworkPolicy, clusterNetworkPolicy, namespace, networkPolicy, pod } from './objects.ts';
import { forAll } from '../../for-all.ts';

const tables: { near: [string, object, string[]][] } = {
  // Rules that nearly admit the connection: a title, the rule, and the named field.
  near: [
    [
      'an exception of its address',
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.64.0.0/16', '10.65.0.0/16'] } }] },
      ['ingress[0].from[0] except 10.65.0.0/16'],
    ],
    [
      'an exception for another port',
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.64.0.0/16', '10.65.0.0/16'] } }], ports: [{ port: 80 }] },
      [],
    ],
    [
      'an exception of other addresses',
      {
        from: [
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.9.0.0/16'] } },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.64.0.0/16', '10.65.0.0/16'] } },
        ],
      },
      ['not-needed'],
    ],
    ['a block of other addresses', { from: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.1/32'] } }] }, []],
    ['a port name that no Pod has', { ports: [{ port: 80 }, { port: 'dv' }] }, ['ingress[0].ports[1] dv: db']],
    ['a port name that no Pod has over TCP', { ports: [{ port: 'dns' }] }, ['ingress[0].ports[0] dns: db']],
    ['a port name that no Pod has over UDP', { ports: [{ port: 'db', protocol: 'UDP' }] }, []],
    ['a port name that no Pod has, for other peers', { from: [{ podSelector: {} }], ports: [{ port: 'dv' }] }, []],
  ],
};

const isolated = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'isolated');
const postgres = pod({
  labels: { app: 'postgres', 'controller-revision-hash': 'x', 'statefulset.kubernetes.io/pod-name': 'postgres-0' },
});
const worker = pod({
  namespace: 'batch',
  name: 'worker-84f9-x',
  labels: { app: 'worker', 'pod-template-hash': '84f9' },
  addresses: ['10.65.2.9'],
});
const flow: PolicyFlow = {
  source: { kind: 'pod', pod: worker, address: '10.65.2.9' },
  destination: { kind: 'pod', pod: postgres, address: '10.65.1.4' },
  protocol: 'TCP',
  port: 5432,
};

function suggestFor(
  policies: readonly object[],
  changes: Partial<PolicyFlow> = {},
  ownerOf?: SuggestOptions['ownerOf'],
): Suggestion {
  return suggest({
    ownerOf,
    flow: { ...flow, ...changes },
    policies: policies.flatMap(compilePolicy),
    namespaces: [namespace('shop'), namespace('batch')],
    pods: [
      postgres,
      worker,
      { ...worker, name: 'worker-84f9-y' },
      pod({ namespace: 'batch', name: 'other', labels: { app: 'other' } }),
    ],
  });
}

test('a suggestion has one peer and one port, by labels that outlive a Pod', async () => {
  await expectLines(import.meta.dirname, 'suggestion.expected.txt', [dump(suggestFor([isolated])).trimEnd()]);
});

/** The specs of the suggested policies. */
function specs(suggestion: Suggestion): unknown[] {
  if (suggestion.kind !== 'policies') return [suggestion.kind];
  return suggestion.policies.map(({ policy }) => (policy as { spec: unknown }).spec);
}

/** Rules that would admit the connection except for one field, and the field that the suggestion names. */
function nearIn(rule: object): string[] {
  const suggestion = suggestFor([networkPolicy({ podSelector: {}, ingress: [rule] }, 'near')], {
    destination: { kind: 'pod', pod: named, address: '10.65.1.4' },
  });
  if (suggestion.kind !== 'policies') return [suggestion.kind];
  return suggestion.policies.flatMap(({ near: { exceptions, portNames } }) =>
    exceptions
      .map(({ path, except }) => `${path} except ${except}`)
      .concat(portNames.map(({ path, name, own }) => `${path} ${name}: ${own.join()}`)),
  );
}
const named = pod({
  ports: [
    { name: 'db', port: 5432, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ],
});

const denyingAll = { subject: { namespaces: {} }, ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }] };

test('a suggestion is not needed if policies admit', () => {
  expect(suggestFor([])).toEqual({ kind: 'not-needed' });
});

test('a suggestion is refused if a policy of the tier Admin denies, which is named', () => {
  const admin = clusterNetworkPolicy({ tier: 'Admin', priority: 1, ...denyingAll }, 'lockdown');
  expect(suggestFor([isolated, admin])).toMatchObject({ kind: 'refused', reason: 'admin', by: { name: 'lockdown' } });
});

test('a suggestion is refused if a policy of the tier Baseline denies, because it would isolate the Pod', () => {
  expect(suggestFor([baselineAdminNetworkPolicy(denyingAll)])).toMatchObject({
    kind: 'refused',
    reason: 'baseline',
    by: { name: 'default' },
  });
});

test('a suggestion is unknown if the verdict is', () => {
  const unknown = networkPolicy({
    podSelector: { matchLabels: { app: 'postgres' } },
    ingress: [{ from: [{ namespaceSelector: { matchLabels: { a: 'b' } } }] }],
  });
  const source = { kind: 'pod', pod: { ...worker, namespace: 'lab' }, address: '10.65.2.9' } as const;
  expect(suggestFor([unknown], { source }).kind).toBe('unknown');
});

test.each(tables.near)('a suggestion takes %s into account', (_, rule, near) => {
  expect(nearIn(rule)).toEqual(near);
});

test('a suggestion for DNS opens both protocols', () => {
  const ports = [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ];
  for (const protocol of ['UDP', 'TCP'])
    expect(specs(suggestFor([isolated], { protocol, port: 53 }))).toMatchObject([{ ingress: [{ ports }] }]);
  expect(specs(suggestFor([isolated], { protocol: 'SCTP', port: 53 }))).toMatchObject([
    { ingress: [{ ports: [{ protocol: 'SCTP', port: 53 }] }] },
  ]);
});

test('a suggestion for both directions is two policies', () => {
  expect(specs(suggestFor([isolated, networkPolicy({ policyTypes: ['Egress'] }, 'x', 'batch')]))).toHaveLength(2);
});

test('a suggestion selects only Pods that are already isolated', () => {
  const narrow = networkPolicy(
    { podSelector: { matchLabels: { app: 'postgres', 'controller-revision-hash': 'x' } } },
    'narrow',
  );
  expect(specs(suggestFor([narrow]))).toMatchObject([
    { podSelector: { matchLabels: { 'controller-revision-hash': 'x' } } },
  ]);
});

test('a suggestion for an address is a block of that address only', () => {
  const given: Partial<PolicyFlow> = {
    source: { kind: 'external', address: '2001:db8::1' },
    destination: { kind: 'pod', pod: postgres, address: 'fd00::4' },
  };
  expect(specs(suggestFor([isolated], given))).toMatchObject([
    { ingress: [{ from: [{ ipBlock: { cidr: '2001:db8::1/128' } }] }] },
  ]);
});

test('a suggestion for ICMP has no port, because none can be named', () => {
  expect(suggestFor([isolated], { protocol: 'ICMP', port: undefined })).toMatchObject({
    policies: [{ anyPort: true }],
  });
});

test('a suggestion has an unused name', () => {
  const taken = networkPolicy({ podSelector: { matchLabels: { app: 'x' } } }, 'allow-batch-worker-5432');
  expect(suggestFor([isolated, taken])).toMatchObject({
    policies: [{ policy: { metadata: { name: 'allow-batch-worker-5432-2' } } }],
  });
});

/** Every Pod has an owner with that selector. */
const byName = (selector: object) => (): OwningWorkload => ({ name: 'the-owner', selector });

/** Returns the selectors of the Pods that the policy selects, and of the peer. */
const selectorsOf = (selector: object, changes: Partial<PolicyFlow> = {}): unknown[] =>
  (
    specs(suggestFor([isolated], changes, byName(selector))) as {
      podSelector: object;
      ingress: { from: { podSelector: object }[] }[];
    }[]
  ).flatMap(({ podSelector, ingress }) => [podSelector, ingress[0]?.from[0]?.podSelector]);

test('labels of a suggestion are those by which the owner of each Pod selects', () => {
  const found = suggestFor([isolated], {}, (of) => ({
    name: of.name,
    selector: { matchLabels: { app: of.labels?.['app'] ?? '' } },
  }));
  expect(found).toMatchObject({ policies: [{ labelsOf: { own: 'owner', peer: 'owner' } }] });
  expect(specs(found)).toMatchObject([
    {
      podSelector: { matchLabels: { app: 'postgres' } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'worker' } } }] }],
    },
  ]);
});

test('labels of a suggestion include those of its expressions', () => {
  const expression = { key: 'app', operator: 'In', values: ['postgres', 'worker'] };
  expect(selectorsOf({ matchExpressions: [expression] })).toEqual([
    { matchExpressions: [expression] },
    { matchExpressions: [expression] },
  ]);
});

test('labels of a ReplicaSet are used without the hash of its revision', () => {
  const source = { kind: 'pod', pod: { ...worker, labels: { 'pod-template-hash': '84f9', tier: 'x' } } } as const;
  const ofReplicaSet = { matchLabels: { tier: 'x', 'pod-template-hash': '84f9' } };
  expect(selectorsOf(ofReplicaSet, { source: { ...source, address: '10.65.2.9' } })[1]).toEqual({
    matchLabels: { tier: 'x' },
  });
});

test.each<[string, object]>([
  ['does not select the Pod', { matchLabels: { app: 'another' } }],
  ['is empty', {}],
  ['is none', { matchLabels: { app: 5 } }],
  ['is of an unknown form', { app: 'postgres' }],
  ['has the hash of a revision only', { matchLabels: { 'pod-template-hash': '84f9' } }],
])('labels of the Pod are used if the selector of its owner %s', (_, selector) => {
  expect(suggestFor([isolated], {}, byName(selector))).toMatchObject({
    policies: [{ labelsOf: { own: 'pod', peer: 'pod' } }],
  });
  expect(selectorsOf(selector)).toEqual([{ matchLabels: { app: 'postgres' } }, { matchLabels: { app: 'worker' } }]);
});

test('a policy is named after the owner if the Pod has no name label', () => {
  const source = { kind: 'pod', pod: { ...worker, labels: { tier: 'x' } }, address: '10.65.2.9' } as const;
  expect(suggestFor([isolated], { source }, byName({ matchLabels: { tier: 'x' } }))).toMatchObject({
    policies: [{ policy: { metadata: { name: 'allow-batch-the-owner-5432' } } }],
  });
});

const machines = [
  { namespace: 'x', name: 'one', addresses: ['10.0.0.1'] },
  { namespace: 'x', name: 'two', addresses: ['10.0.0.2'] },
  { namespace: 'y', name: 'one', addresses: ['10.0.0.9'] },
];
const details = fc.tuple(...machines.map(() => fc.record({ labels: labelSets, ports: namedPorts })));
/** Some owners select their Pod, some do not. */
const owners = fc.array(
  fc.option(
    labelSets.map((matchLabels): OwningWorkload => ({ name: 'owner', selector: { matchLabels } })),
    { nil: undefined },
  ),
  { minLength: 2, maxLength: 3 },
);
const policies = fc.array(
  fc.oneof({ arbitrary: networkPolicies, weight: 4 }, { arbitrary: clusterPolicies, weight: 1 }),
  { minLength: 1, maxLength: 5 },
);

test('verdicts before and after differ only by added admissions, including the requested one', () => {
  let [runs, suggested] = [0, 0];
  forAll(
    [policies, namespaceLists, details, owners, fc.nat()],
    { numRuns: 2000 },
    (given, namespaces, found, owning, pick) => {
      const pods = machines.map((machine, index): PolicyPod => pod({ ...machine, ...found[index] }));
      const flows = allFlows(pods);
      const asked = flows[pick % flows.length] as PolicyFlow;
      runs += 1;
      const compiled = given.flatMap(compilePolicy);
      const ownerOf = (of: PolicyPod): OwningWorkload | undefined =>
        owning[pods.findIndex((each) => each.name === of.name)];
      const suggestion = suggest({ flow: asked, policies: compiled, namespaces, pods, ownerOf });
      if (suggestion.kind !== 'policies') return;
      suggested += 1;
      const before = { policies: given, namespaces };
      const after = { policies: [...given, ...suggestion.policies.map(({ policy }) => policy)], namespaces };
      for (const direction of ['ingress', 'egress'] as const) {
        expect(literalVerdict(after, asked, direction)).toBe('admits');
        for (const each of flows)
          if (literalVerdict(before, each, direction) === 'admits')
            expect(literalVerdict(after, each, direction)).toBe('admits');
      }
    },
  );
  // How many runs there are depends on the available time.
  expect(suggested).toBeGreaterThan(runs / 10);
});

function allFlows(pods: readonly PolicyPod[]): PolicyFlow[] {
  const ends = pods.map((each) => ({ kind: 'pod' as const, pod: each, address: each.addresses[0] }));
  return ends.flatMap((source) =>
    ends
      .filter((destination) => destination !== source)
      .flatMap((destination) => [80, 81].map((port): PolicyFlow => ({ source, destination, protocol: 'TCP', port }))),
  );
}
