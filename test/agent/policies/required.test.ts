import { expect, test } from 'vitest';
import { externalEnd, nine } from '../../builders.ts';
import { answered, refused } from '../../cli/doctor/fake.ts';
import { type Answers, calico, dropped, setUp, shopPolicies } from './scene.ts';

/**
 * Checks which objects of Calico are read: those that its policies need, only if a policy that selects the Pod needs them, and from which
 * of its APIs.
 */

const stored = '/apis/crd.projectcalico.org/v1';
const slices = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';
const accounts = '/api/v1/namespaces/batch/serviceaccounts';
const sets = `${stored}/namespaces/shop/networksets`;

const kinds = ['networkpolicies', 'tiers', 'globalnetworksets', 'networksets', 'hostendpoints'];
const none = answered({ items: [] });

const withPolicy = (spec: object, more: Answers = {}): Answers => ({
  ...calico,
  [stored]: answered({
    resources: kinds.map((name) => ({ name })),
  }),
  [`${stored}/hostendpoints`]: none,
  [`${stored}/namespaces/shop/networkpolicies`]: answered({
    items: [{ metadata: { name: 'default.p', namespace: 'shop' }, spec: { order: 1, ...spec } }],
  }),
  [`${stored}/namespaces/batch/networkpolicies`]: none,
  [shopPolicies]: none,
  ...more,
});
const denying = (source: object, more: object = {}): object => ({
  types: ['Ingress'],
  ingress: [{ action: 'Deny', source }, { action: 'Allow' }],
  ...more,
});
const clients = { services: { name: 'client' } };
const blocked = { selector: 'role == "blocked"' };
const slice = (address: string): object => ({
  metadata: { name: 'client-x', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'client' } },
  ports: [{ port: 80 }],
  endpoints: [{ addresses: [address] }],
});
const set = (name: string, net: string): object => ({
  metadata: { name, namespace: 'shop', labels: { role: 'blocked' } },
  spec: { nets: [net] },
});

test('a policy that names no Services, ServiceAccounts or network sets needs no requests for them', async () => {
  const { scene, answerOn } = setUp(withPolicy(denying({ nets: ['203.0.113.0/24'] })));
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'denies' });
  expect(scene.asked.filter((path) => /networksets|endpointslices|serviceaccounts/.test(path))).toEqual([
    `${stored}/globalnetworksets`,
  ]);
});

test('endpoints of a Service that a rule names are read by its name, and once for simultaneous Events', async () => {
  const { scene, answerOn } = setUp(
    withPolicy(denying(clients), { [slices]: answered({ items: [slice('203.0.113.9')] }) }),
  );
  const drop = dropped({ peer: externalEnd() });
  expect(await answerOn(drop)).toMatchObject({ outcome: 'denies', policy: { name: 'default.p' } });
  await answerOn(dropped({ peer: externalEnd(), port: 80 }));
  expect(scene.queries.filter((each) => each.startsWith(slices))).toEqual([
    `${slices}?labelSelector=kubernetes.io%2Fservice-name%3Dclient&resourceVersion=0`,
  ]);
});

test('a Service that a policy names without selecting the Pod needs no request', async () => {
  const spec = denying(clients, { selector: 'app == "another"' });
  const { scene, answerOn } = setUp(withPolicy(spec));
  await answerOn(dropped({ peer: externalEnd() }));
  expect(scene.asked).not.toContain(slices);
});

test('EndpointSlices that may not be listed are named as missing', async () => {
  const { answerOn } = setUp(withPolicy(denying(clients), { [slices]: refused(403) }));
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({
    outcome: 'unknown',
    text: expect.stringContaining('EndpointSlices of Namespace shop'),
  });
});

test('ServiceAccounts of the two Pods are read if a rule selects by their labels', async () => {
  const items = [{ metadata: { name: 'default', namespace: 'batch', labels: { team: 'x' } } }];
  const { scene, answerOn } = setUp(
    withPolicy(denying({ serviceAccounts: { selector: 'team == "x"' }, namespaceSelector: 'all()' }), {
      [accounts]: answered({ items }),
      '/api/v1/namespaces/shop/serviceaccounts': none,
      [`${stored}/networksets`]: none,
    }),
  );
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'denies' });
  expect(scene.queries.filter((each) => each.startsWith(accounts))).toEqual([
    `${accounts}?fieldSelector=metadata.name%3Ddefault&resourceVersion=0`,
  ]);
});

test('if a ServiceAccount may not be read, the verdict is unknown', async () => {
  const spec = denying({ serviceAccounts: { selector: 'team == "x"' }, namespaceSelector: 'all()' });
  const { answerOn } = setUp(withPolicy(spec, { [accounts]: refused(403), [`${stored}/networksets`]: none }));
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'unknown' });
});

test.each<[string, object, Answers, string]>([
  ['EndpointSlices that fail leave the verdict unknown', clients, { [slices]: refused(503) }, 'unknown'],
  ['EndpointSlices that are no list leave the verdict unknown', clients, { [slices]: answered('x') }, 'unknown'],
  ['a Service without EndpointSlices has no endpoints', clients, { [slices]: none }, 'admits'],
  ['NetworkSets that may not be read are not taken for none', blocked, { [sets]: refused(403) }, 'unknown'],
  ['NetworkSets that fail are not taken for none', blocked, { [sets]: refused(503) }, 'unknown'],
])('%s', async (_, source, answers, outcome) => {
  const { answerOn } = setUp(withPolicy(denying(source), answers));
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome });
});

test.each([
  ['of the Namespace to which a rule is confined', blocked, sets],
  [
    'of all Namespaces where a rule is confined to none',
    { ...blocked, namespaceSelector: 'all()' },
    `${stored}/networksets`,
  ],
])('NetworkSets are listed %s', async (_, source, listed) => {
  const partners = answered({ items: [set('partners', '203.0.113.0/24')] });
  const { scene, answerOn } = setUp(withPolicy(denying(source), { [listed]: partners }));
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'denies' });
  expect(scene.asked.filter((path) => path.endsWith('/networksets'))).toEqual([listed]);
});

test('late NetworkSets do not count as "no NetworkSets"', async () => {
  const spec = denying(blocked);
  const { answerOn } = setUp(withPolicy(spec, { [sets]: () => new Promise(() => {}) }), 20);
  for (let each = 0; each < 2; each++)
    expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'unknown' });
});

test('a row of the audit does not count NetworkSets that no Event has needed as "no NetworkSets"', async () => {
  const { answerOn, factsOn } = setUp(
    withPolicy(denying({ selector: 'role == "blocked"', nets: ['203.0.113.0/24'] }), { [sets]: refused(503) }),
  );
  const drop = dropped({ peer: externalEnd() });
  await answerOn(drop);
  expect(factsOn([drop.finding], nine)).toMatchObject({ verdict: 'unknown' });
});

test('objects that a policy needs are read again for a packet after the reading', async () => {
  const given = withPolicy(denying(clients), { [slices]: none });
  const { scene, answerOn } = setUp(given);
  const peer = externalEnd();
  expect(await answerOn(dropped({ peer }))).toMatchObject({ outcome: 'admits' });
  scene.answers[slices] = answered({ items: [slice('203.0.113.9')] });
  scene.now += 30_000;
  expect(await answerOn(dropped({ peer }, nine + 30_000))).toMatchObject({ outcome: 'denies' });
});

test('a policy that names a thousand Services costs sixteen requests at most', async () => {
  const ingress = Array.from({ length: 1000 }, (_, index) => ({
    action: 'Deny',
    source: { services: { name: `s-${index}` } },
  }));
  const { scene, answerOn } = setUp(withPolicy({ types: ['Ingress'], ingress }, { [slices]: none }));
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'denies' });
  expect(scene.asked.filter((path) => path === slices)).toHaveLength(16);
});

test("if the server of Calico's API is away and its objects are not stored elsewhere, the verdict is unknown until it is back", async () => {
  const v3 = '/apis/projectcalico.org/v3';
  const { scene, answerOn } = setUp({ [v3]: refused(503), [shopPolicies]: none });
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'unknown', text: expect.stringContaining(v3.slice(6)) });
  scene.answers[v3] = answered({ resources: [{ name: 'globalnetworkpolicies' }] });
  scene.answers[`${v3}/globalnetworkpolicies`] = none;
  scene.now += 10_000;
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'admits' });
});
