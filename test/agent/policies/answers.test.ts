import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import { connectFailure } from '../../../src/base/model/packet.ts';
import { externalEnd, nine, nodeEnd, podRef, workerEnd } from '../../builders.ts';
import { answered, refused } from '../../cli/doctor/fake.ts';
import { networkPolicy } from '../../explain/policies/objects.ts';
import { calico, cluster, dropped, endsAtOnce, podObject, review, setUp, shopPolicies } from './scene.ts';

const inMemory = (bytes: number): [number, () => number, undefined, number] => [60_000, () => 0, undefined, bytes];
const pending = (): Promise<Answer> => new Promise(() => {});

test('a drop that no policy can explain sends no requests', async () => {
  const { scene, answerOn } = setUp();
  expect(await answerOn(dropped({ enforcer: 'host-firewall' }))).toBeUndefined();
  expect(scene.asked).toEqual([]);
});

test('objects read for one Event are used for the next one, except for packets after the reading', async () => {
  const { scene, answerOn } = setUp();
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'denies' });
  const { length } = scene.asked;
  scene.now += 30_000;
  expect(await answerOn(dropped({ port: 80 }))).toMatchObject({ outcome: 'denies' });
  expect(scene.asked).toHaveLength(length);
  await answerOn(dropped({}, scene.now));
  expect(scene.asked.slice(length).filter((path) => path.endsWith('/networkpolicies'))).toHaveLength(2);
});

test('an API server that hangs delays one Event by the longest wait, and other Events not at all', async () => {
  const { scene, answerOn } = setUp({ [shopPolicies]: pending }, 20);
  expect(await answerOn(dropped())).toBeUndefined();
  for (let each = 0; each < 100; each++) {
    const answer = answerOn(dropped());
    expect([await endsAtOnce(answer), await answer]).toEqual([true, undefined]);
  }
  expect(scene.asked.filter((path) => path === shopPolicies)).toHaveLength(1);
});

test('a late answer is used for the next Event', async () => {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const { scene, answerOn } = setUp({ [shopPolicies]: () => promise }, 20);
  expect(await answerOn(dropped())).toBeUndefined();
  resolve(cluster[shopPolicies] as Answer);
  // Before that, no Event waits.
  scene.now += 10_000;
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'denies' });
});

test('until policies were read for the first time, an Event waits longer', async () => {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const { scene, answerOn } = setUp({ [shopPolicies]: () => promise }, [60_000, 20]);
  const first = answerOn(dropped());
  // Longer than later Events wait.
  await delay(200);
  resolve(cluster[shopPolicies] as Answer);
  expect(await first).toMatchObject({ outcome: 'denies' });
  scene.answers[shopPolicies] = pending;
  scene.now += 120_000;
  // The policies that were read before are used, as soon as the Event has waited for newer ones.
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
});

test('policies read before the packet do not prove that it was admitted', async () => {
  const { scene, answerOn } = setUp({ [shopPolicies]: answered({ items: [] }) });
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'admits' });
  scene.answers[shopPolicies] = refused(503);
  scene.now += 30_000;
  expect(await answerOn(dropped({}, scene.now))).toBeUndefined();
});

test('policies read before the packet prove for ten minutes that it was denied', async () => {
  const { scene, answerOn } = setUp();
  await answerOn(dropped());
  scene.answers[shopPolicies] = refused(503);
  scene.now += 599_000;
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
  scene.now += 2000;
  expect(await answerOn(dropped({}, scene.now))).toBeUndefined();
});

test('policies read before a connection failed prove its denial for a minute, because it may have failed for another reason', async () => {
  const { scene, answerOn } = setUp();
  const failed = (): ReturnType<typeof answerOn> => answerOn(dropped({ logger: connectFailure }, scene.now));
  await failed();
  scene.answers[shopPolicies] = refused(503);
  scene.now += 60_000;
  expect(await failed()).toMatchObject({ outcome: 'denies' });
  scene.now += 1000;
  expect(await failed()).toBeUndefined();
});

test('without the right to list policies, nothing else is requested, one line is logged, and the right is checked again after ten minutes', async () => {
  const { scene, answerOn } = setUp({ [review]: answered({ status: { allowed: false } }) });
  for (let each = 0; each < 10; each++) expect(await answerOn(dropped())).toBeUndefined();
  expect(scene.asked).toStrictEqual([review]);
  expect(scene.logged).toBe(1);
  scene.answers[review] = answered({ status: { allowed: true } });
  scene.now += 600_000;
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
  expect(scene.logged).toBe(2);
});

test('a right that is taken away is noticed by a refusal', async () => {
  const { scene, answerOn } = setUp();
  await answerOn(dropped());
  scene.answers[shopPolicies] = refused(403);
  scene.now += 5000;
  await answerOn(dropped({}, scene.now));
  expect(scene.logged).toBe(1);
  const { length } = scene.asked;
  scene.now += 5000;
  await answerOn(dropped({}, scene.now));
  expect(scene.asked).toHaveLength(length);
});

test('an API server that does not say whether policies may be listed is asked again', async () => {
  const { scene, answerOn } = setUp({ [review]: refused(0) });
  expect(await answerOn(dropped())).toBeUndefined();
  scene.answers[review] = cluster[review] as Answer;
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'denies' });
  expect(scene.logged).toBe(0);
});

test('a kind of policies that may not be listed makes the verdict unknown', async () => {
  const { answerOn } = setUp({
    '/apis/crd.projectcalico.org/v1': answered({ resources: [{ name: 'globalnetworkpolicies' }] }),
    '/apis/crd.projectcalico.org/v1/globalnetworkpolicies': refused(403),
  });
  expect(await answerOn(dropped())).toMatchObject({ outcome: 'unknown' });
});

test("a policy of Calico that denies is named, even if Calico's own API server is away", async () => {
  const { answerOn } = setUp({ ...calico, '/apis/projectcalico.org/v3': refused(503) });
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({
    outcome: 'denies',
    policy: { kind: 'GlobalNetworkPolicy', name: 'default.lockdown' },
  });
});

test("if Calico's stored policies cannot be read for now, those of its own API server do not prove that the packet was admitted", async () => {
  const stored = '/apis/crd.projectcalico.org/v1';
  const { scene, answerOn } = setUp({
    ...calico,
    [stored]: refused(503),
    '/apis/projectcalico.org/v3': calico[stored],
    '/apis/projectcalico.org/v3/*': answered({ items: [] }),
    [shopPolicies]: answered({ items: [] }),
  });
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'unknown' });
  scene.answers[stored] = calico[stored];
  scene.now += 30_000;
  expect(await answerOn(dropped({ peer: externalEnd() }, scene.now))).toMatchObject({ outcome: 'denies' });
});

test('if the server of projectcalico.org/v3 is away, a Node may have a HostEndpoint, so verdicts about it are unknown', async () => {
  const { answerOn } = setUp({ '/apis/projectcalico.org/v3': refused(503) });
  const toNode = dropped({ direction: 'sending', refusedBy: 'receiver', peer: nodeEnd('node-c') });
  expect((await answerOn(toNode))?.outcome).toBe('unknown');
});

test("if Calico's tiers may not be listed, verdicts that depend on their order are unknown", async () => {
  const ingress = [{ action: 'Deny' }];
  const policy = {
    metadata: { name: 'x' },
    spec: { tier: 'security', selector: 'all()', types: ['Ingress'], ingress },
  };
  const { answerOn } = setUp({
    ...calico,
    '/apis/crd.projectcalico.org/v1/tiers': refused(403),
    '/apis/crd.projectcalico.org/v1/globalnetworkpolicies': answered({ items: [policy] }),
    [shopPolicies]: answered({ items: [] }),
  });
  expect(await answerOn(dropped({ peer: externalEnd() }))).toMatchObject({ outcome: 'unknown' });
});

test('kinds that the API server does not have are not listed', async () => {
  const { scene, answerOn } = setUp();
  await answerOn(dropped());
  expect(scene.asked.filter((path) => /cilium|antrea|projectcalico|policy\.net/.test(path))).toSatisfy(
    (paths: string[]) => paths.every((path) => path.split('/').length === 4),
  );
});

test.each([shopPolicies, '/apis/crd.projectcalico.org/v1/globalnetworkpolicies'])(
  'with too many policies in %s, the verdict is unknown, and that is logged',
  async (path) => {
    const policy = networkPolicy({ podSelector: {} }, 'p');
    const items = Array.from({ length: 5000 }, () => policy);
    const { scene, answerOn } = setUp({ ...calico, [path]: answered({ items }) }, ...inMemory(2_000_000));
    expect(await answerOn(dropped())).toMatchObject({ outcome: 'unknown' });
    expect(scene.logged).toBe(1);
  },
);

const selector = (length: number): string => Array.from({ length }, (_, number) => `a == '${number}'`).join('||');

test.each<[what: string, plural: string, spec: object]>([
  ['empty rules', 'networking.k8s.io/v1', { podSelector: {}, ingress: Array.from({ length: 3000 }, () => ({})) }],
  ['ports', 'networking.k8s.io/v1', { ingress: [{ ports: Array.from({ length: 8000 }, () => ({ port: 80 })) }] }],
  ['nested lists', 'networking.k8s.io/v1', JSON.parse(`{"ingress":${'['.repeat(40_000)}${']'.repeat(40_000)}}`)],
  ["terms in Calico's selector", 'crd.projectcalico.org/v1', { selector: selector(50_000), types: ['Ingress'] }],
])('a policy with very many %s is unknown, and the others are evaluated', async (_, apiVersion, spec) => {
  const denying = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'denying');
  const large = { apiVersion, kind: 'NetworkPolicy', metadata: { name: 'default.large', namespace: 'shop' }, spec };
  const path = `/apis/${apiVersion}/namespaces/shop/networkpolicies`;
  const answers = {
    ...calico,
    '/apis/crd.projectcalico.org/v1': answered({ resources: [{ name: 'networkpolicies' }, { name: 'tiers' }] }),
    [shopPolicies]: answered({ items: [denying] }),
  };
  const others = path === shopPolicies ? [denying] : [];
  const { scene, answerOn } = setUp(
    { ...answers, [path]: answered({ items: [large, ...others] }) },
    ...inMemory(28_000_000),
  );
  const answer = await answerOn(dropped());
  expect(answer).toMatchObject({ outcome: 'unknown' });
  expect(JSON.stringify(answer)).toContain('large');
  expect(scene.logged).toBe(1);
  const { answerOn: answerWithout } = setUp(
    { ...answers, [path]: answered({ items: others }) },
    ...inMemory(28_000_000),
  );
  expect(await answerWithout(dropped())).toMatchObject({ outcome: 'denies' });
});

test.each(['spec', 'specs'])(
  'the verdict is unknown for a Namespace with very many values in the %s of Cilium',
  async (field) => {
    const endpoints = Array.from({ length: 20_000 }, () => ({}));
    const spec = { endpointSelector: {}, ingress: [{ fromEndpoints: endpoints }] };
    const policy = { metadata: { name: 'p', namespace: 'shop' }, [field]: field === 'spec' ? spec : [spec] };
    const { answerOn } = setUp({
      '/apis/cilium.io/v2': answered({ resources: [{ name: 'ciliumnetworkpolicies' }] }),
      '/apis/cilium.io/v2/namespaces/shop/ciliumnetworkpolicies': answered({ items: [policy] }),
      '/apis/cilium.io/v2/*': answered({ items: [] }),
      [shopPolicies]: answered({ items: [] }),
    });
    expect(await answerOn(dropped())).toMatchObject({ outcome: 'unknown' });
  },
);

test('policies of one Namespace that fill the memory do not affect the verdicts of another', async () => {
  const filling = { podSelector: {}, ingress: [{ from: Array.from({ length: 2000 }, () => ({ podSelector: {} })) }] };
  const evil = Array.from({ length: 40 }, (_, number) => networkPolicy(filling, `p${number}`));
  const denying = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'denying');
  const { scene, answerOn } = setUp(
    {
      '/apis/networking.k8s.io/v1/namespaces/batch/networkpolicies': answered({ items: evil }),
      [shopPolicies]: answered({ items: [denying] }),
    },
    ...inMemory(10_000_000),
  );
  const drop = dropped({ peer: workerEnd(7) });
  for (let round = 0; round < 3; round++) {
    expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
    await answerOn(drop);
    scene.now += 30_000;
  }
});

test.each([
  ['few are all kept', 10, 12],
  ['very many are not all kept', 30_000, 13],
])('labels of twelve Pods are requested as: %s', async (_, labels, expected) => {
  const many = Object.fromEntries(Array.from({ length: labels }, (__, number) => [`label-${number}`, 'x']));
  const path = '/api/v1/namespaces/shop/pods';
  const { scene, answerOn } = setUp({ [path]: answered({ items: [podObject('web-0', 'shop', many)] }) });
  for (let number = 0; number < 12; number++) await answerOn(dropped({}, nine, `web-${number}`));
  await answerOn(dropped({}, nine, 'web-0'));
  expect(scene.asked.filter((each) => each === path)).toHaveLength(expected);
});

test('a new Pod with the name of an earlier one says nothing about the earlier one', async () => {
  const items = [podObject('web-0', 'shop', {}, 'uid-of-another')];
  const { answerOn } = setUp({ '/api/v1/namespaces/shop/pods': answered({ items }) });
  expect(await answerOn(dropped())).toBeUndefined();
});

test("if a peer's policies could not be read, the packet does not count as admitted", async () => {
  const { answerOn } = setUp({
    [shopPolicies]: answered({ items: [] }),
    '/apis/networking.k8s.io/v1/namespaces/batch/networkpolicies': refused(500),
  });
  expect(await answerOn(dropped())).toBeUndefined();
});

test.each([null, {}, 'x', { items: 7 }])(
  'an answer that is not a list does not count as "no policies": %j',
  async (body) => {
    for (const path of [shopPolicies, '/apis/networking.k8s.io/v1']) {
      const { answerOn } = setUp({ [path]: answered(body) });
      expect(await answerOn(dropped())).toBeUndefined();
    }
  },
);

test('an exception in the evaluation loses no Event, and is logged once an hour', async () => {
  const { scene, answerOn } = setUp();
  const broken = dropped({ peer: { ...workerEnd(7), object: podRef('worker-7', 'batch') } });
  Object.defineProperty(broken.finding, 'node', {
    get: () => {
      throw new Error('a fault');
    },
  });
  for (let each = 0; each < 3; each++) expect(await answerOn(broken)).toBeUndefined();
  expect(scene.logged).toBe(1);
  scene.now += 3_600_000;
  expect(await answerOn({ ...broken, last: scene.now })).toBeUndefined();
  expect(scene.logged).toBe(2);
});

test('a storm of Pods costs no more requests than the budget has', async () => {
  const { scene, answerOn } = setUp();
  for (let each = 0; each < 2000; each++) await answerOn(dropped({}, nine, `web-${each}`));
  // Seven requests for the kinds that exist and for the right to list them; a Namespace takes two.
  expect(scene.asked.length).toBeLessThanOrEqual(60 + 7 + 2);
});

const findings = [dropped().finding];

test('a row of the audit has a verdict once an Event has loaded the policies, and sends no requests itself', async () => {
  const { scene, answerOn, factsOn } = setUp();
  expect(factsOn(findings, nine)).toBeUndefined();
  expect(scene.asked).toEqual([]);
  await answerOn(dropped());
  const { length } = scene.asked;
  expect(factsOn(findings, nine)).toMatchObject({ verdict: 'denied', decidedBy: ['NetworkPolicy shop/default-deny'] });
  expect(scene.asked).toHaveLength(length);
});

test('a row of the audit has a verdict for twenty minutes after policies were read, without requests', async () => {
  const { scene, answerOn, factsOn } = setUp();
  await answerOn(dropped());
  const { length } = scene.asked;
  scene.now += 1_200_000;
  expect(factsOn(findings, scene.now)).toMatchObject({ verdict: 'denied' });
  scene.now += 1;
  expect(factsOn(findings, scene.now)).toBeUndefined();
  expect(scene.asked).toHaveLength(length);
});

test('a row of the audit is admitted only by policies that were read after its first packet', async () => {
  const { answerOn, factsOn } = setUp({ [shopPolicies]: answered({ items: [] }) });
  await answerOn(dropped());
  expect(factsOn(findings, nine)).toMatchObject({ verdict: 'admitted' });
  expect(factsOn(findings, nine + 1)).toBeUndefined();
});

test('a row of the audit is not evaluated if that would take more than a hundredth of the time', async () => {
  // The evaluation takes 200 ms. The next row comes a second later, the last one after ten seconds.
  const [times, worked] = [
    [0, 0, 0, 1000, 10_001],
    [0, 0, 0, 0, 0, 200, 200, 200],
  ];
  const clocks = { now: () => times.shift() ?? Infinity, worked: () => worked.shift() ?? Infinity };
  const { answerOn, factsOn } = setUp({}, 2000, clocks);
  // An outside peer has no policies, so the processor time is read only before and after each evaluation.
  const outside = dropped({ peer: externalEnd() });
  await answerOn(outside);
  const verdicts = [1, 2, 3].map(() => factsOn([outside.finding], nine)?.verdict);
  expect(verdicts).toEqual(['denied', undefined, 'denied']);
});

test('time in which the agent waits for a processor does not count as evaluation time', async () => {
  let time = 0;
  let work = 0;
  // Each evaluation takes a minute, of which a millisecond is work.
  const { answerOn } = setUp({}, 2000, { now: () => (time += 60_000), worked: () => (work += 1) });
  for (let each = 0; each < 10; each++) expect(await answerOn(dropped())).toMatchObject({ outcome: 'denies' });
});
