import { expect, test, vi } from 'vitest';
import {
  collectCalicoObjects,
  createEvaluator,
  createPolicySet,
  type Flow,
  type Namespace,
  type Pod,
  type Policy,
  type Requirements,
} from '../../../src/policies/policies.ts';
import { collectServices, maxEndpoints } from '../../../src/policies/calico/objects.ts';
import { calico, namespace, policySet } from '../objects.ts';
import { connection, end, postgres, worker } from '../rows.ts';

/** Rules of Calico with `services`, and what policies say that has to be read for them. */

const slice = (service: string, more: object = {}, namespaceName = 'shop') => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${service}-x`, namespace: namespaceName, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'db', protocol: 'TCP', port: 5432 }],
  endpoints: [{ addresses: ['10.65.1.4'], conditions: { ready: false } }],
  ...more,
});
const to = (services: object, more: object = {}): object =>
  calico('NetworkPolicy', { egress: [{ action: 'Allow', destination: { services }, ...more }] }, 'p', 'batch');
const from = (services: object): object =>
  calico('NetworkPolicy', { ingress: [{ action: 'Allow', source: { services } }] }, 'p', 'shop');
const db = { namespace: 'shop', name: 'db' };
const other = slice('other', { endpoints: [] });

const outcome = (objects: object[], given: Partial<Flow> = {}, complete = true): string => {
  const { verdict } = createEvaluator({ policies: policySet(objects, [], complete), namespaces: [] });
  const { outcome: found, missing } = verdict(
    { ...connection, ...given },
    JSON.stringify(objects).includes('"egress"') ? 'egress' : 'ingress',
  );
  return found === 'unknown' && missing.some((each) => each.includes('shop/db')) ? 'unknown: shop/db' : found;
};

test.each<[string, object[], Partial<Flow>, string]>([
  ['its endpoint on its port, though it is not ready (serviceindex.go)', [to(db), slice('db')], {}, 'admits'],
  ['its endpoint on another port', [to(db), slice('db')], { port: 80 }, 'denies'],
  ['its endpoint with another protocol', [to(db), slice('db')], { protocol: 'UDP' }, 'denies'],
  ['its endpoint by a packet that shows no port', [to(db), slice('db')], { port: undefined }, 'unknown'],
  ['its endpoint by a protocol without ports', [to(db), slice('db')], { protocol: 'ICMP', port: undefined }, 'denies'],
  [
    'an address that is none of its endpoints',
    [to(db), slice('db', { endpoints: [{ addresses: ['10.65.1.5'] }] })],
    {},
    'denies',
  ],
  [
    'an endpoint of the second of its slices',
    [to(db), other, { ...slice('db', { endpoints: [] }) }, slice('db')],
    {},
    'admits',
  ],
  ['a slice without ports has no port', [to(db), slice('db', { ports: [] })], {}, 'denies'],
  ['a port without a number is none', [to(db), slice('db', { ports: [{ protocol: 'TCP' }] })], {}, 'denies'],
  ['a port without a protocol is TCP', [to(db), slice('db', { ports: [{ port: 5432 }] })], {}, 'admits'],
  [
    'a name of the domain name system is no endpoint',
    [to(db), slice('db', { endpoints: [{ addresses: ['db.example.com'] }] })],
    {},
    'denies',
  ],
  ['a Service of that name in another Namespace', [to(db), slice('db', {}, 'batch')], {}, 'denies'],
  ['without a Namespace that of the policy', [to({ name: 'db' }), slice('db', {}, 'batch')], {}, 'admits'],
  [
    'an empty Namespace is that of the policy',
    [to({ name: 'db', namespace: '' }), slice('db', {}, 'batch')],
    {},
    'admits',
  ],
  ['a Service that is not there has no endpoints', [to(db), other], {}, 'denies'],
  [
    'an endpoint as the source, whatever the port (rule_scanner.go)',
    [from({ name: 'client' }), slice('client', { endpoints: [{ addresses: ['10.65.2.9'] }] })],
    { port: 80 },
    'admits',
  ],
  ['a stranger as the source', [from({ name: 'client' }), slice('client')], {}, 'denies'],
  [
    'an IPv6 endpoint however it is written',
    [to(db), slice('db', { endpoints: [{ addresses: ['FD00:0::0004'] }] })],
    { source: { ...end(worker), address: 'fd00::9' }, destination: { ...end(postgres), address: 'fd00::4' } },
    'admits',
  ],
  ['a name that no Service can have', [to({ namespace: 'shop', name: 'db,x!=y' }), slice('db')], {}, 'unknown'],
  ['a Namespace that none can have', [to({ namespace: '../kube-system', name: 'db' }), slice('db')], {}, 'unknown'],
  ['a field that is not known', [to({ ...db, ports: ['db'] }), slice('db')], {}, 'unknown'],
])('endpoints of a Service: %s', (_, objects, given, wanted) => expect(outcome(objects, given)).toBe(wanted));

test('a Service whose EndpointSlices are not known makes the verdict unknown', () => {
  expect(outcome([to(db)], {}, false)).toBe('unknown: shop/db');
});

test('EndpointSlices that may not be listed are named as the missing fact', () => {
  const { unread, endpointsOf } = collectServices();
  unread('shop');
  expect(endpointsOf('shop/db')).toMatch(/^EndpointSlices of Namespace shop/);
});

test('of a Service with more endpoints than are kept it is unknown who they are', () => {
  const { add, complete, endpointsOf } = collectServices();
  const endpoints = Array.from({ length: maxEndpoints + 1 }, (_, index) => ({
    addresses: [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`],
  }));
  add(slice('db', { endpoints }));
  complete('shop/db');
  expect(endpointsOf('shop/db')).toContain(String(maxEndpoints));
});

test.each([
  null,
  7,
  {},
  { kind: 'EndpointSlice', endpoints: 7, metadata: { labels: { 'kubernetes.io/service-name': 'db' } } },
])('an EndpointSlice that is broken adds no endpoint: %j', (object) => {
  const { add, complete, endpointsOf } = collectServices();
  add(object);
  complete('default/db');
  expect(endpointsOf('default/db')).toEqual(new Map());
});

const required = (spec: object, given: Partial<Flow> = {}): Requirements => {
  const policies = policySet([calico('NetworkPolicy', spec, 'p', 'shop')]);
  const { requirements } = createEvaluator({ policies, namespaces: [namespace('shop')] });
  return requirements({ ...connection, ...given }, 'ingress');
};
const nothing: Requirements = { services: [], serviceAccounts: [], networkSets: [] };
const source = (given: object): object => ({ ingress: [{ action: 'Allow', source: given }] });

test.each<[string, object, Partial<Requirements>]>([
  ['a policy that does not select the Pod', { selector: 'app == "web"', ...source({ selector: 'all()' }) }, {}],
  ['addresses alone', source({ nets: ['10.0.0.0/8'] }), {}],
  ['a Service', source({ services: { name: 'db' } }), { services: ['shop/db'] }],
  ['a selector of a namespaced policy', source({ selector: 'role == "x"' }), { networkSets: ['shop'] }],
  ['notSelector of a namespaced policy', source({ notSelector: 'role == "x"' }), { networkSets: ['shop'] }],
  [
    'a namespaceSelector: a set may itself have labels with that prefix',
    source({ namespaceSelector: 'team == "x"' }),
    { networkSets: 'all' },
  ],
  [
    'Namespaces by the label that Calico gives',
    source({ selector: 'projectcalico.org/namespace in {"a", "b"}', namespaceSelector: 'all()' }),
    { networkSets: ['a', 'b'] },
  ],
  ['what is in no Namespace', source({ namespaceSelector: 'global()' }), { networkSets: [] }],
  [
    'names of ServiceAccounts stand in the Pods',
    source({ serviceAccounts: { names: ['runner'] } }),
    { networkSets: ['shop'] },
  ],
  [
    'labels of ServiceAccounts',
    source({ serviceAccounts: { selector: 'team == "x"' } }),
    { networkSets: ['shop'], serviceAccounts: ['batch/runner', 'shop/default'] },
  ],
  [
    'a policy that selects by labels of ServiceAccounts',
    { serviceAccountSelector: 'team == "x"' },
    { serviceAccounts: ['batch/runner', 'shop/default'] },
  ],
])('needs of a policy: %s', (_, spec, wanted) => expect(required(spec)).toEqual({ ...nothing, ...wanted }));

test('needs of a policy: worked out once, until the Pod or the labels of its Namespace change', () => {
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
  const ask = (given: Namespace, asked: Pod): void => {
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

test('needs of a policy: no more where no policy is asked', () => {
  const given = { destination: { kind: 'external', address: '192.0.2.7' } } as const;
  expect(required(source({ services: { name: 'db' } }), given)).toEqual(nothing);
});
