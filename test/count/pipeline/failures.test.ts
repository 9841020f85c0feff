import { expect, test } from 'vitest';
import type { PolicyAnswer } from '../../../src/base/model/policy-answer.ts';
import { parse } from '../../../src/read/parsing/parsing.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { foundAnswer, policyNeeds } from '../../../src/explain/drops/drops.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { createLiveLists } from '../../../src/explain/resolving/resolving.ts';
import { cluster, nine, pod, service } from '../../builders.ts';
import { answer, failureLine, logLine, peerOf, rig, settled, uid } from './failed-connections.ts';

/** Tests which failed connections count as drops. */

test('the line identifies the Pod by its cgroup, and has the connection', () => {
  expect(parse(failureLine(), createPrefixTable(), 'kernel', 'kernel-drops')).toMatchObject({
    kind: 'connect-failure',
    pod: uid,
    connection: { packet: { source: '10.244.1.22', destination: '10.244.1.30', destinationPort: 5432 } },
  });
});

test('connections that policies deny count only for their sender', async () => {
  const { fail, wait, counted, statistics } = rig();
  for (const sourcePort of [40_000, 40_001, 40_002]) fail({ sourcePort });
  expect(counted()).toEqual([]);
  await wait();
  expect(counted()).toEqual(['3 cart-0 > 10.244.1.30:5432']);
  expect(statistics.failures).toMatchObject({ denied: 3, unproven: 0 });
  expect(statistics.verdicts.dropped).toBe(3);
});

test('a connection that policies admit, or whose policies are unknown, is counted without a drop', async () => {
  const { fail, wait, counted, statistics } = rig({ judge: () => answer('admits') });
  fail();
  await wait();
  expect(counted()).toEqual([]);
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
  expect(statistics.verdicts.dropped).toBe(0);
});

test.each([
  ["another Pod's address", { from: '10.244.1.31' }],
  ['an address that no Pod has', { from: '10.244.1.99' }],
  ["a Node's address", { from: '192.168.50.12' }],
  ['an address of a Pod that is not the one of the cgroup', { of: '00000000-0000-0000-0000-000000000000' }],
])('with %s it belongs to no Pod', async (_, connection) => {
  const { fail, wait, counted, statistics } = rig();
  fail(connection);
  await wait();
  expect(counted()).toEqual([]);
  expect(statistics.failures).toMatchObject({ denied: 0, foreign: 1 });
});

test('policies are read before they are evaluated', async () => {
  let isRead = false;
  const { fail, wait, counted } = rig({
    async prepare() {
      await settled();
      isRead = true;
    },
    judge: () => (isRead ? answer('denies') : undefined),
  });
  fail();
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5432']);
});

test("the judge's answer is in the finding, the newest in the Event and each in its row", async () => {
  const answers = [answer('denies', 'before'), answer('denies', 'after')];
  const { fail, wait, series, shown } = rig({ judge: () => answers.shift() });
  fail();
  await wait();
  fail();
  await wait();
  expect(series().map(({ finding, count }) => [count, foundAnswer(finding)?.verdict.text])).toEqual([[2, 'after']]);
  expect(shown.map(({ meaning }) => meaning.findings.map((each) => foundAnswer(each)?.facts.decidedBy))).toEqual([
    [['before']],
    [['after']],
  ]);
});

test('behind a Service, policies must deny each ready endpoint', async () => {
  const targets = [
    { address: '10.244.1.30', port: 5433 },
    { address: '10.244.1.31', port: 5433 },
  ];
  const denied = new Set(['10.244.1.30']);
  const { fail, wait, counted, statistics } = rig({
    targetsOf: ({ name }, to) => (name === 'db' && to.address === '10.96.0.7' && to.port === 5432 ? targets : []),
    judge: (finding) => answer(denied.has(peerOf(finding)) ? 'denies' : 'admits'),
  });
  fail({ to: '10.96.0.7' });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
  denied.add('10.244.1.31');
  fail({ to: '10.96.0.7' });
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5433']);
});

test.each([
  ['a Service without a ready endpoint', { to: '10.96.0.7' }],
  ['a port of a Node, which may lead to any Pod', { to: '192.168.50.12', port: 30_080 }],
])('a connection to %s has no answer', async (_, connection) => {
  const { fail, wait, statistics } = rig();
  fail(connection);
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
});

const outside = '198.51.100.7';
const pod0 = '10.244.1.30';
/** How the judge is asked about any address. */
const anywhere = '';

test.each([
  ['deny it to each endpoint, too, whoever has its address', outside, [outside, pod0, '10.77.0.9'], true],
  ['deny it to some endpoints only', outside, [outside, '10.77.0.9'], false],
  ['deny it to the endpoints only', outside, [pod0, '10.77.0.9'], false],
  ['deny it to each endpoint, too, whoever has its address', '10.244.1.31', ['10.244.1.31', pod0, '10.77.0.9'], true],
  ['deny it to the Pod that has the address only', '10.244.1.31', ['10.244.1.31'], false],
  ['deny it to each endpoint of both Services', '10.96.0.7', ['10.244.1.31', pod0, '10.77.0.9'], true],
  ['deny it to the endpoints of the Service that has the address only', '10.96.0.7', ['10.244.1.31'], false],
])('to an address that a Service claims, a connection counts if policies %s: %s', async (_, to, denied, counts) => {
  const asked: Finding[] = [];
  const { fail, wait, counted } = rig(
    {
      targetsOf: () => [{ address: '10.244.1.31', port: 443 }],
      publishedTargetsOf: ({ address, port }) =>
        address === to && port === 443 ? [pod0, '10.77.0.9'].map((each) => ({ address: each, port: 8443 })) : undefined,
      prepare: async (finding) => void asked.push(finding),
      judge: (finding) => answer(denied.includes(peerOf(finding)) ? 'denies' : 'admits'),
    },
    { isLookedUp: () => asked.length > 0 },
  );
  fail({ to, port: 443 });
  await wait();
  const target = to === outside ? to : '10.244.1.31';
  expect(counted()).toEqual(counts ? [`1 cart-0 > ${target}:443`] : []);
  for (const { details } of asked.slice(1))
    expect(details).toMatchObject({ port: 8443, peer: { kind: 'unknown', object: undefined } });
  expect(asked.slice(1).every((each) => policyNeeds(each)?.pods.length === 1)).toBe(true);
});

test.each([
  ['without endpoints', [], ['10.244.1.31'], true, true],
  ['without endpoints', [], ['10.244.1.31'], false, false],
  ['with too many endpoints', 'many' as const, ['10.244.1.31', anywhere], true, true],
  ['with too many endpoints', 'many' as const, ['10.244.1.31'], true, false],
])(
  'to the address of a Pod that a Service %s claims, a connection counts if policies of its sender deny it: %j %j, own: %s',
  async (_, published, denied, isOwn, counts) => {
    const { fail, wait, statistics } = rig({
      publishedTargetsOf: () => published,
      judge: (finding) => answer(denied.includes(peerOf(finding)) ? 'denies' : 'admits', '', isOwn),
    });
    fail({ to: '10.244.1.31' });
    await wait();
    expect(statistics.failures).toMatchObject({ denied: Number(counts), unproven: Number(!counts) });
  },
);

test('if the endpoints of Services that claim an address are too many, policies must deny every port', async () => {
  const asked: Finding[] = [];
  const { fail, wait } = rig({
    publishedTargetsOf: () => 'many',
    prepare: async (finding) => void asked.push(finding),
  });
  fail({ to: outside });
  await wait();
  expect(asked.map(({ details }) => details)).toMatchObject([
    { port: 5432, peer: { address: outside } },
    { port: undefined, peer: { address: anywhere, kind: 'unknown', object: undefined } },
  ]);
});

test('a connection that a LOG line reports does not count again, even if its address was translated', async () => {
  const { fail, read, wait, counted, statistics } = rig({ targetsOf: () => [{ address: '10.244.1.31', port: 5432 }] });
  read(logLine(40_000));
  await wait(100_000);
  fail({ to: '10.96.0.7', sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
  expect(counted().filter((each) => each.includes('cart-0'))).toEqual(['1 cart-0 > 10.244.1.31:5432']);
});

test('a later LOG line also belongs to it', async () => {
  const { fail, read, wait, statistics } = rig();
  fail({ sourcePort: 40_000 });
  await wait(1000);
  read(logLine(40_000));
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
});

test('a LOG line of another connection, or an old one, does not belong to it', async () => {
  const { fail, read, wait, statistics } = rig();
  read(logLine(40_001));
  read(logLine(40_002));
  fail({ sourcePort: 40_000 });
  await wait(200_000);
  fail({ sourcePort: 40_002 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 2, told: 0 });
});

test.each([
  ['another Pod', () => '10.244.1.30'],
  ['addresses outside the cluster', (number: number) => `203.0.${(number >> 8) & 255}.${number & 255}`],
])('drops of %s, however many, do not displace its LOG line', async (_, senderOf) => {
  const { fail, read, wait, statistics } = rig();
  read(logLine(40_000));
  for (let number = 0; number < 20_000; number++) read(logLine(10_000 + number, senderOf(number)));
  fail({ sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
});

test('without the source kernel-drops, LOG lines are remembered from the first connection on', async () => {
  const { fail, read, wait, statistics } = rig({}, { hasKernelDrops: false });
  read(logLine(40_000));
  fail({ sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, told: 0 });
  read(logLine(40_001));
  fail({ sourcePort: 40_001 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, told: 1 });
});

test('once a connection has failed, LOG lines that differ in their source ports are not joined', async () => {
  const { fail, read, wait, repeats, statistics } = rig();
  read(logLine(40_000));
  expect(repeats?.last()).toBeDefined();
  fail({ sourcePort: 40_001 });
  read(logLine(40_001));
  expect(repeats?.last()).toBeUndefined();
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
});

test.each([
  ['in a while', 100_000, { denied: 3, unproven: 0 }],
  ['never', Infinity, { denied: 0, unproven: 3 }],
])('policies that are read %s make the connection be judged again', async (_, after, expected) => {
  let waited = 0;
  const { fail, wait, statistics } = rig({ judge: () => (waited >= after ? answer('denies') : undefined) });
  fail();
  fail();
  await wait(4000);
  fail();
  for (; waited < 150_000; waited += 1000) await wait(1000);
  expect(statistics.failures).toMatchObject(expected);
});

test('while the owner of an address is looked up, the connection is not judged', async () => {
  let isLookedUp = true;
  const judged = (): PolicyAnswer => answer(isLookedUp ? 'admits' : 'denies');
  const { fail, wait, statistics } = rig({ judge: judged }, { isLookedUp: () => isLookedUp });
  fail();
  await wait(20_000);
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 0 });
  isLookedUp = false;
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, unproven: 0 });
});

test.each([
  ['deny the connection whoever has the address', 'denies', { denied: 1, unproven: 0 }],
  ['deny it only if it is outside the cluster', 'admits', { denied: 0, unproven: 1 }],
] as const)(
  'until a look-up has found the owner of an address, it counts if policies %s',
  async (_, ofUnknown, expected) => {
    const { fail, wait, statistics } = rig(
      { judge: ({ details }) => answer((details as FlowDetails).peer.kind === 'unknown' ? ofUnknown : 'denies') },
      { isUnsure: () => true },
    );
    fail({ to: '10.77.0.9' });
    for (let waited = 0; waited < 150_000; waited += 1000) await wait(1000);
    expect(statistics.failures).toMatchObject(expected);
  },
);

test('a LOG line from before its sender was known belongs to the connection', async () => {
  const young = pod({ name: 'cart-0', uid, addresses: ['10.244.1.22'] });
  const lists = createLiveLists('node-a', undefined);
  lists.setPod(pod({ name: 'db-0', uid: 'uid-db-0', addresses: ['10.244.1.30'] }), nine);
  const { fail, read, wait, statistics } = rig({}, { endpoints: lists.endpoints });
  read(logLine(40_000));
  lists.setPod(young, nine);
  for (const sourcePort of [40_000, 40_001]) fail({ sourcePort, port: sourcePort });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, told: 1 });
});

test('each of a thousand connections is matched with its LOG lines', async () => {
  const { fail, read, wait, statistics } = rig();
  for (let number = 0; number < 1000; number++) read(logLine(40_000 + number));
  for (let number = 0; number < 1000; number += 10) fail({ sourcePort: 40_000 + number, port: 1 + number });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 100 });
});

test('an address of a possible unknown Service is looked up, and has no owner if no Pod is found', async () => {
  const services = ['db', 'api'].map((name) => service({ name, uid: `uid-of-${name}`, addresses: ['10.96.0.9'] }));
  const endpoints = createEndpointFinder(
    cluster({ pods: [pod({ name: 'cart-0', uid, addresses: ['10.244.1.22'] })], services }),
  );
  let isLookedUp = true;
  const { fail, wait, statistics } = rig({}, { endpoints, isLookedUp: () => isLookedUp });
  fail({ to: '10.96.0.9' });
  await wait(10_000);
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 0 });
  isLookedUp = false;
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
});

test('it waits until the cluster is listed', async () => {
  const { fail, wait, lists, counted } = rig({}, { isSynced: false });
  fail();
  await wait(10_000);
  expect(counted()).toEqual([]);
  lists.isSynced = true;
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5432']);
});

test('a Pod that tries thousands of ports takes limited room', async () => {
  const { fail, wait, statistics } = rig();
  for (let port = 1; port <= 1000; port++) fail({ port });
  expect(statistics.failures.overflowed).toBe(872);
  await wait();
  expect(statistics.failures.denied).toBe(128);
  fail();
  await wait();
  expect(statistics.failures.denied).toBe(129);
});

test('after a stop, no connection is judged', async () => {
  const { fail, wait, stop, statistics } = rig();
  fail();
  stop();
  await wait();
  expect(statistics.failures.denied).toBe(0);
});
