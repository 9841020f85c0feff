import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { cluster, node, pod } from '../../builders.ts';
import { forAllAsync } from '../../for-all.ts';
import { answer, type Connection, logLine, rig, settled, uid } from './failed-connections.ts';

/*
 * An attacker with Pods of his own opens connections to anything, from any address, and sends packets that LOG lines
 * report. Whatever the attacker does, the connections of the honest Pod `cart-0` count as they would without the
 * attack.
 */

const uidOf = (number: number): string => `${String(number).padStart(8, '0')}-6d2c-4c35-9d55-5e1c2b2f7a01`;
const addressOf = (number: number): string => `10.244.2.${number}`;
const attackers = Array.from({ length: 64 }, (_, number) =>
  pod({ namespace: 'evil', name: `evil-${number}`, uid: uidOf(number), addresses: [addressOf(number)] }),
);
const endpoints = createEndpointFinder(
  cluster({
    pods: [
      pod({ name: 'cart-0', uid, addresses: ['10.244.1.22'] }),
      pod({ name: 'db-0', uid: 'uid-db-0', addresses: ['10.244.1.30'] }),
      pod({ name: 'db-1', uid: 'uid-db-1', addresses: ['10.244.1.31'] }),
      ...attackers,
    ],
    nodes: [node({ addresses: ['192.168.50.12'] })],
  }),
);
const [evilInterface = ''] = interfaceNames('evil', 'evil-0');

/** A LOG line of a packet that an attacker's Pod sent, from whatever address. */
const evilLine = (sourcePort: number, from?: string): string =>
  logLine(sourcePort, from).replace('IN=va', `IN=${evilInterface}`);

const ofCart = (counted: readonly string[]): string[] => counted.filter((each) => each.includes('cart-0 >'));

test.each([
  ['before', [uidOf(0), uid]],
  ['after', [uid, uidOf(0)]],
])("another Pod's connection from the same address, %s, does not affect the Pod's own", async (_, pods) => {
  const { fail, wait, counted, statistics } = rig({}, { endpoints });
  for (const of of pods) fail({ of });
  await wait();
  expect(ofCart(counted())).toEqual(['1 cart-0 > 10.244.1.30:5432']);
  expect(statistics.failures).toMatchObject({ denied: 1, foreign: 1 });
});

test('Pods that fill the room lose their own connections, and a Pod with fewer keeps its place', async () => {
  const { fail, wait, counted, statistics } = rig({ judge: () => answer('admits') }, { endpoints, worked: () => 0 });
  for (const [number, { uid: of }] of attackers.entries())
    for (let port = 1; port <= 128; port++) fail({ of, from: addressOf(number), port });
  expect(statistics.failures.overflowed).toBe(4096);
  for (let port = 1; port <= 32; port++) fail({ port });
  expect(statistics.failures.overflowed).toBe(4096 + 32);
  await wait();
  expect(statistics.failures.unproven).toBe(4096);
  expect(counted()).toEqual([]);
});

test('however many Pods need more time than there is, a later Pod is judged at once when its turn comes', async () => {
  let took = 0;
  const asked = new Map<string, number>();
  const { fail, wait, counted } = rig(
    {
      judge({ regarding: { name } }) {
        took += name === 'cart-0' ? 0 : 20;
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return answer('denies');
      },
    },
    { endpoints, worked: () => took },
  );
  for (const [number, { uid: of }] of attackers.entries())
    for (let port = 1; port <= 60; port++) fail({ of, from: addressOf(number), port });
  fail();
  await wait(3250);
  for (let turn = 0; turn < 200; turn++) await settled();
  expect(ofCart(counted())).toEqual(['1 cart-0 > 10.244.1.30:5432']);
  // On a slow node each judgement takes long. The first connection of each Pod is judged nevertheless.
  expect(asked.size).toBe(attackers.length + 1);
  const judged = [...asked.values()].reduce((sum, each) => sum + each, 0);
  // Out of 3,840. Each Pod may exceed its share once.
  expect(judged).toBeLessThan(200);
});

test('while the policies of Namespaces are listed, however slowly, connections of other Pods are judged', async () => {
  const listed = Promise.withResolvers<void>();
  const { fail, wait, counted, statistics } = rig(
    { prepare: async ({ regarding: { namespace } }) => await (namespace === 'evil' ? listed.promise : undefined) },
    { endpoints, worked: () => 0 },
  );
  for (const [number, { uid: of }] of attackers.entries())
    for (let port = 1; port <= 3; port++) fail({ of, from: addressOf(number), port });
  fail();
  await wait(4000);
  fail({ port: 5433 });
  await wait(4000);
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5432', '1 cart-0 > 10.244.1.30:5433']);
  listed.resolve();
  await wait(4000);
  expect(statistics.failures).toMatchObject({ denied: 2 + 3 * attackers.length, unproven: 0 });
});

test('on a node where each look takes 300 ms, connections of 24 Pods count within two minutes, although policies come late', async () => {
  let took = 0;
  let isRead = false;
  const { fail, wait, statistics } = rig(
    { judge: () => ((took += 300), isRead ? answer('denies') : undefined) },
    { endpoints, worked: () => took },
  );
  for (const [number, { uid: of }] of attackers.slice(0, 24).entries()) fail({ of, from: addressOf(number) });
  await wait(15_000);
  isRead = true;
  await wait(100_000);
  expect(statistics.failures).toMatchObject({ denied: 24, unproven: 0 });
});

test.each([
  ['tell nothing of the connections of the Pod that has the address', 1, 0],
  ['do not make forgotten what a LOG line told of them', 300, 1],
])('LOG lines of packets with a source address that is not the sender’s %s', async (_, lines, told) => {
  const { fail, read, wait, statistics } = rig({}, { endpoints });
  if (told === 1) read(logLine(40_000));
  for (let number = 0; number < lines; number++) read(evilLine(40_000 + (told === 1 ? number + 1 : 0)));
  fail({ sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1 - told, told });
});

const port = fc.integer({ min: 40_000, max: 40_004 });
const address = fc.constantFrom('10.244.1.22', addressOf(0), '10.244.1.99', '203.0.113.9', '192.168.50.12');
const destination = fc.constantFrom('10.244.1.30', '10.244.1.31', '203.0.113.7');
const honestAct = fc.record({
  who: fc.constant('cart'),
  act: fc.constantFrom('fail', 'fail', 'line', 'wait'),
  port,
  destination,
});
const evilAct = fc.record({
  who: fc.constant('evil'),
  act: fc.constantFrom('fail', 'line', 'flood'),
  port,
  destination,
  address,
});
type Act = { who: string; act: string; port: number; destination: string; address?: string };

async function play(acts: readonly Act[]): Promise<string[]> {
  const { fail, read, wait, counted } = rig({}, { endpoints, worked: () => 0 });
  for (const { who, act, port: sourcePort, destination: to, address: from } of acts) {
    const connection: Connection = {
      to,
      sourcePort,
      ...(from !== undefined && { from }),
      ...(who === 'evil' && { of: uidOf(0) }),
    };
    if (act === 'fail') fail(connection);
    else if (act === 'wait') await wait(5000);
    else if (act === 'flood') for (let number = 1; number < 300; number++) fail({ ...connection, port: number });
    else read(who === 'evil' ? evilLine(sourcePort, from) : logLine(sourcePort));
  }
  await wait(10_000);
  return ofCart(counted()).toSorted();
}

test("another Pod's connections count the same with and without an attacker", async () => {
  const acts = fc.array(fc.oneof(honestAct, evilAct), { maxLength: 25 });
  await forAllAsync([acts], { numRuns: 100 }, async (all: Act[]) => {
    expect(await play(all)).toEqual(await play(all.filter(({ who }) => who === 'cart')));
  });
}, 60_000);
