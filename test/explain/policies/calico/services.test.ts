import { expect, test, vi } from 'vitest';
import {
  collectCalicoObjects,
  createEvaluator,
  createPolicySet,
  type Namespace,
  type Policy,
  type PolicyFlow,
  type PolicyPod,
  type Requirements,
} from '../../../../src/explain/policies/policies.ts';
import { collectServices, mostOfService } from '../../../../src/explain/policies/calico/objects.ts';
import { calico, namespace, policySet } from '../objects.ts';
import { connection, end, postgres } from '../rows.ts';

/** `source` and `destination` have other addresses than those of the connection. */
type Addressed = Partial<Omit<PolicyFlow, 'source' | 'destination'>> &
  Partial<Record<'source' | 'destination', object>>;

/** Rules of Calico with `services`. */
const tables: {
  endpoints: [string, { to?: object; from?: object }, Parameters<typeof slice>[], Addressed, string][];
  needs: [string, object, Partial<Requirements>][];
} = {
  // A title, the rule, the EndpointSlices, how the connection differs, and the verdict.
  endpoints: [
    [
      'its endpoint on its port, though it is not ready (serviceindex.go)',
      { to: { namespace: 'shop', name: 'db' } },
      [['db']],
      {},
      'admits',
    ],
    ['its endpoint on another port', { to: { namespace: 'shop', name: 'db' } }, [['db']], { port: 80 }, 'denies'],
    [
      'its endpoint with another protocol',
      { to: { namespace: 'shop', name: 'db' } },
      [['db']],
      { protocol: 'UDP' },
      'denies',
    ],
    [
      'its endpoint by a packet that shows no port',
      { to: { namespace: 'shop', name: 'db' } },
      [['db']],
      { port: undefined },
      'unknown',
    ],
    [
      'its endpoint by a protocol without ports',
      { to: { namespace: 'shop', name: 'db' } },
      [['db']],
      { protocol: 'ICMP', port: undefined },
      'denies',
    ],
    [
      'an address that is none of its endpoints',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { endpoints: [{ addresses: ['10.65.1.5'] }] }]],
      {},
      'denies',
    ],
    [
      'an endpoint of the second of its slices',
      { to: { namespace: 'shop', name: 'db' } },
      [['other', { endpoints: [] }], ['db', { endpoints: [] }], ['db']],
      {},
      'admits',
    ],
    [
      'a slice without ports has no port',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { ports: [] }]],
      {},
      'denies',
    ],
    [
      'a port without a number is none',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { ports: [{ protocol: 'TCP' }] }]],
      {},
      'denies',
    ],
    [
      'a port without a protocol is TCP',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { ports: [{ port: 5432 }] }]],
      {},
      'admits',
    ],
    [
      'a name of the domain name system is no endpoint',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { endpoints: [{ addresses: ['db.example.com'] }] }]],
      {},
      'denies',
    ],
    [
      'a Service of that name in another Namespace',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', {}, 'batch']],
      {},
      'denies',
    ],
    ['without a Namespace that of the policy', { to: { name: 'db' } }, [['db', {}, 'batch']], {}, 'admits'],
    [
      'an empty Namespace is that of the policy',
      { to: { name: 'db', namespace: '' } },
      [['db', {}, 'batch']],
      {},
      'admits',
    ],
    [
      'a Service that is not there has no endpoints',
      { to: { namespace: 'shop', name: 'db' } },
      [['other', { endpoints: [] }]],
      {},
      'denies',
    ],
    [
      'an endpoint as the source, whatever the port (rule_scanner.go)',
      { from: { name: 'client' } },
      [['client', { endpoints: [{ addresses: ['10.65.2.9'] }] }]],
      { port: 80 },
      'admits',
    ],
    ['a stranger as the source', { from: { name: 'client' } }, [['client']], {}, 'denies'],
    [
      'an IPv6 endpoint however it is written',
      { to: { namespace: 'shop', name: 'db' } },
      [['db', { endpoints: [{ addresses: ['FD00:0::0004'] }] }]],
      { source: { address: 'fd00::9' }, destination: { address: 'fd00::4' } },
      'admits',
    ],
    ['a name that no Service can have', { to: { namespace: 'shop', name: 'db,x!=y' } }, [['db']], {}, 'unknown'],
    ['a Namespace that none can have', { to: { namespace: '../kube-system', name: 'db' } }, [['db']], {}, 'unknown'],
    ['a field that is not known', { to: { namespace: 'shop', name: 'db', ports: ['db'] } }, [['db']], {}, 'unknown'],
  ],
  // A title, the spec of a policy, and the objects that it needs.
  needs: [
    [
      'a policy that does not select the Pod',
      { selector: 'app == "web"', ingress: [{ action: 'Allow', source: { selector: 'all()' } }] },
      {},
    ],
    ['addresses alone', { ingress: [{ action: 'Allow', source: { nets: ['10.0.0.0/8'] } }] }, {}],
    ['a Service', { ingress: [{ action: 'Allow', source: { services: { name: 'db' } } }] }, { services: ['shop/db'] }],
    [
      'a selector of a namespaced policy',
      { ingress: [{ action: 'Allow', source: { selector: 'role == "x"' } }] },
      { networkSets: ['shop'] },
    ],
    [
      'notSelector of a namespaced policy',
      { ingress: [{ action: 'Allow', source: { notSelector: 'role == "x"' } }] },
      { networkSets: ['shop'] },
    ],
    [
      'a namespaceSelector: a set may itself have labels with that prefix',
      { ingress: [{ action: 'Allow', source: { namespaceSelector: 'team == "x"' } }] },
      { networkSets: 'all' },
    ],
    [
      'Namespaces by the label that Calico gives',
      {
        ingress: [
          {
            action: 'Allow',
            source: { selector: 'projectcalico.org/namespace in {"a", "b"}', namespaceSelector: 'all()' },
          },
        ],
      },
      { networkSets: ['a', 'b'] },
    ],
    [
      'an object without a Namespace',
      { ingress: [{ action: 'Allow', source: { namespaceSelector: 'global()' } }] },
      { networkSets: [] },
    ],
    [
      'names of ServiceAccounts stand in the Pods',
      { ingress: [{ action: 'Allow', source: { serviceAccounts: { names: ['runner'] } } }] },
      { networkSets: ['shop'] },
    ],
    [
      'labels of ServiceAccounts',
      { ingress: [{ action: 'Allow', source: { serviceAccounts: { selector: 'team == "x"' } } }] },
      { networkSets: ['shop'], serviceAccounts: ['batch/runner', 'shop/default'] },
    ],
    [
      'a policy that selects by labels of ServiceAccounts',
      { serviceAccountSelector: 'team == "x"' },
      { serviceAccounts: ['batch/runner', 'shop/default'] },
    ],
  ],
};

/** Rules of Calico with `services`, and the objects that they need. */

const slice = (service: string, more: object = {}, namespaceName = 'shop') => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${service}-x`, namespace: namespaceName, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'db', protocol: 'TCP', port: 5432 }],
  endpoints: [{ addresses: ['10.65.1.4'], conditions: { ready: false } }],
  ...more,
});
const to = (services: object): object =>
  calico('NetworkPolicy', { egress: [{ action: 'Allow', destination: { services } }] }, 'p', 'batch');
const from = (services: object): object =>
  calico('NetworkPolicy', { ingress: [{ action: 'Allow', source: { services } }] }, 'p', 'shop');
const db = { namespace: 'shop', name: 'db' };

const outcome = (
  objects: object[],
  { source: sender, destination, ...given }: Addressed = {},
  complete = true,
): string => {
  const { verdict } = createEvaluator({ policies: policySet(objects, [], complete), namespaces: [] });
  const { outcome: found, missing } = verdict(
    {
      ...connection,
      ...given,
      source: { ...connection.source, ...sender },
      destination: { ...connection.destination, ...destination },
    },
    JSON.stringify(objects).includes('"egress"') ? 'egress' : 'ingress',
  );
  return found === 'unknown' && missing.some((each) => each.includes('shop/db')) ? 'unknown: shop/db' : found;
};

test.each(tables.endpoints)('endpoints of a Service: %s', (_, rule, slices, given, wanted) => {
  const policy = rule.to === undefined ? from(rule.from ?? {}) : to(rule.to);
  expect(outcome([policy, ...slices.map((each) => slice(...each))], given)).toBe(wanted);
});

test('a Service with unknown EndpointSlices makes the verdict unknown', () => {
  expect(outcome([to(db)], {}, false)).toBe('unknown: shop/db');
});

test('EndpointSlices that may not be listed are named as the missing fact', () => {
  const { unread, endpointsOf } = collectServices();
  unread('shop');
  expect(endpointsOf('shop/db')).toMatchObject({ missing: expect.stringMatching(/^EndpointSlices of Namespace shop/) });
});

/** The first `count` addresses of 10.0.0.0/8. */
const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
const ports = (count: number, first = 1): object[] =>
  Array.from({ length: count }, (_, index) => ({ port: first + index, protocol: 'TCP' }));
const repeated = (count: number, address: string): string[] => Array.from({ length: count }, () => address);

const crowd = (endpoints: readonly string[], given: object[]): object =>
  slice('db', { endpoints: endpoints.map((each) => ({ addresses: [each] })), ports: given });
const { addresses: most, portsOfAddress, ports: mostPorts } = mostOfService;

test.each<[string, object[], boolean]>([
  ['as many addresses as are kept', [crowd(addresses(most), ports(1))], true],
  ['more addresses', [crowd(addresses(most + 1), ports(1))], false],
  ['more addresses without a port', [crowd(addresses(most + 1), [])], false],
  ['as many ports of an address as are kept', [crowd(addresses(300), ports(portsOfAddress))], true],
  ['more ports of an address', [crowd(addresses(1), ports(portsOfAddress + 1))], false],
  [
    'more ports of an address, in several slices',
    [crowd(addresses(1), ports(portsOfAddress)), crowd(addresses(1), ports(1, 9000))],
    false,
  ],
  ['a thousand addresses with ten thousand ports each', [crowd(addresses(1000), ports(10_000))], false],
  ['an address that is repeated', [crowd(repeated(1000, '10.0.0.1'), ports(100))], false],
  [
    'slices that repeat each other',
    Array.from({ length: mostPorts / 100 + 1 }, () => crowd(addresses(1), ports(100))),
    false,
  ],
  [
    'a port that is repeated',
    [
      crowd(
        addresses(1),
        Array.from({ length: 10_000 }, () => ({ port: 80 })),
      ),
    ],
    true,
  ],
])('the endpoints of a Service are kept as far as memory has room: %s', (_, slices, isKept) => {
  const { add, complete, endpointsOf } = collectServices();
  complete('shop/db');
  for (const each of slices) add(each);
  const found = endpointsOf('shop/db');
  if (isKept) expect(found).toHaveProperty('size');
  else expect(found).toMatchObject({ missing: expect.stringContaining('shop/db') });
});

test.each([
  null,
  7,
  {},
  { kind: 'EndpointSlice', endpoints: 7, metadata: { labels: { 'kubernetes.io/service-name': 'db' } } },
])('a broken EndpointSlice adds no endpoint: %j', (object) => {
  const { add, complete, endpointsOf } = collectServices();
  add(object);
  complete('default/db');
  expect(endpointsOf('default/db')).toEqual(new Map());
});

const required = (spec: object, given: Partial<PolicyFlow> = {}): Requirements => {
  const policies = policySet([calico('NetworkPolicy', spec, 'p', 'shop')]);
  const { requirements } = createEvaluator({ policies, namespaces: [namespace('shop')] });
  return requirements({ ...connection, ...given }, 'ingress');
};
const nothing: Requirements = { services: [], serviceAccounts: [], networkSets: [] };
const source = (given: object): object => ({ ingress: [{ action: 'Allow', source: given }] });

test.each<[string, object, Partial<Requirements>]>(tables.needs)('needs of a policy: %s', (_, spec, wanted) =>
  expect(required(spec)).toEqual({ ...nothing, ...wanted }),
);

test("needs of a policy: computed once, until the Pod or its Namespace's labels change", () => {
  const requires = vi.fn<() => void>();
  const policy: Policy = {
    ref: { apiVersion: 'projectcalico.org/v3', kind: 'NetworkPolicy', namespace: 'shop', name: 'p' },
    tier: 'NetworkPolicy',
    order: 1,
    subject: { selects: () => true, text: () => '', requires },
    rules: { ingress: [], egress: undefined },
    changed: undefined,
  };
  const policies = createPolicySet([policy], collectCalicoObjects().read());
  const ask = (given: Namespace, asked: PolicyPod): void => {
    const { requirements } = createEvaluator({ policies, namespaces: [given] });
    requirements({ ...connection, destination: end(asked) }, 'ingress');
  };
  const shop = namespace('shop');
  for (let again = 0; again < 3; again++) ask(shop, postgres);
  expect(requires).toHaveBeenCalledTimes(1);
  ask(shop, { ...postgres, labels: {} });
  expect(requires).toHaveBeenCalledTimes(2);
  ask(namespace('shop', { team: 'shop' }), postgres);
  expect(requires).toHaveBeenCalledTimes(3);
});

test('needs of a policy: empty if no policy is evaluated', () => {
  const given = { destination: { kind: 'external', address: '192.0.2.7' } } as const;
  expect(required(source({ services: { name: 'db' } }), given)).toEqual(nothing);
});
