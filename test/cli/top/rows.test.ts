import { expect, test } from 'vitest';
import { topFlowOf } from '../../../src/cli/top/flows.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import { flow } from './flows.ts';

const tables: { ends: [string, Record<string, unknown>, string][] } = {
  // Flows, and how a row shows their ends.
  ends: [
    ['a workload', {}, 'batch/worker (Deployment)'],
    ['a Pod', { 'source.k8s.owner.name': undefined, 'source.k8s.pod.name': 'web-0' }, 'batch/web-0'],
    ['an address', { 'source.k8s.owner.name': undefined, 'source.k8s.namespace.name': undefined }, '10.244.0.41'],
    [
      'what is redacted',
      {
        'source.k8s.owner.name': undefined,
        'source.k8s.namespace.name': undefined,
        'source.address': undefined,
        'source.kind': 'redacted',
      },
      'redacted',
    ],
  ],
};

const of = (...flows: unknown[]) => new Map([['agent-a', flows.map(topFlowOf)]]);

test.each([
  [{}, '5432/TCP'],
  [{ 'network.reply': true, 'source.port': 5432, 'destination.port': undefined }, '5432/TCP (reply)'],
  [{ 'network.transport': 'icmp', 'destination.port': undefined }, 'ICMP'],
  [
    { 'network.transport': 'icmp', 'destination.port': undefined, 'icmp.type': 3, 'icmp.code': 4 },
    'ICMP fragmentation needed',
  ],
  [{ 'network.transport': 'ipv6-icmp', 'destination.port': undefined, 'icmp.type': 128 }, 'ICMPv6 echo request'],
  [{ 'network.transport': undefined, 'destination.port': undefined }, '-'],
])('PORT has the words of kubectl drops, and answers have a row of their own: %j', (given, port) => {
  const rows = createRates().take(of(flow(given), flow()), 0);
  expect(rows.map((row) => row.port)).toEqual([...new Set([port, '5432/TCP'])]);
});

test('the first look has no rate, the second has the difference divided by the time', () => {
  const { take } = createRates();
  expect(take(of(flow()), 1000)).toMatchObject([{ rate: undefined, packets: 36 }]);
  expect(take(of(flow({ 'network.packets': 46 })), 5000)).toMatchObject([{ rate: 2.5, packets: 46 }]);
  expect(take(of(flow({ 'network.packets': 46 })), 6000)).toMatchObject([{ rate: 0 }]);
});

test('a flow missing at the last look has begun since then', () => {
  const { take } = createRates();
  take(of(), 0);
  expect(take(of(flow({ 'network.packets': 10 })), 2000)).toMatchObject([{ rate: 5 }]);
});

test('a restarted agent has lost its counts, and no rate is negative', () => {
  const { take } = createRates();
  take(of(flow()), 0);
  expect(take(of(flow({ 'network.packets': 2 })), 1000)).toMatchObject([{ rate: 0, packets: 2 }]);
  expect(take(of(flow({ 'network.packets': 4, 'event.start': '2026-11-22T10:00:00.000Z' })), 2000)).toMatchObject([
    { rate: 4 },
  ]);
});

test('an agent that missed one answer has no rate at its next one', () => {
  const { take } = createRates();
  take(of(flow()), 0);
  take(new Map(), 1000);
  expect(take(of(flow({ 'network.packets': 1000 })), 2000)).toMatchObject([{ rate: undefined }]);
});

const both = (packets: number) =>
  new Map([
    ['agent-a', [flow({ 'network.packets': packets }), flow({ 'source.address': '10.244.0.42' })].map(topFlowOf)],
    ['agent-b', [topFlowOf(flow())]],
  ]);

test('one flow of two agents, and of two Pods of a workload, is one row', () => {
  const { take } = createRates();
  take(both(36), 0);
  expect(take(both(40), 1000)).toMatchObject([{ packets: 112, rate: 4 }]);
});

test.each(tables.ends)('FROM is %s', (_, given, from) => {
  expect(createRates().take(of(flow(given)), 0)).toMatchObject([{ from }]);
});

test.each([
  ['a string', 'x'],
  ['nothing', null],
  ['an empty flow', {}],
  ['values of other types', { 'network.packets': '9', 'destination.port': {}, 'event.end': 7, 'source.address': [] }],
])('%s in place of a flow is a row without known fields', (_, given) => {
  expect(createRates().take(of(given), 0)).toMatchObject([{ from: '-', to: '-', port: '-', packets: 0 }]);
});

test('control sequences are shown as text, and truncated', () => {
  const evil = { 'source.k8s.owner.name': `\u001B[2J\u202E${'x'.repeat(100_000)}`, 'security_rule.name': 'a\nb' };
  const [row] = createRates().take(of(flow(evil)), 0);
  expect(row?.from).toMatch(/^batch\/\\x1b\[2J\\u202ex+…$/);
  expect(row?.from.length).toBeLessThan(330);
  expect(row?.policy).toBe(String.raw`a\x0ab`);
});

const by = (name: string, packets: number) => flow({ 'security_rule.name': name, 'network.packets': packets });

test('flows that differ only in their policy are one row, with the policy of most packets', () => {
  const rows = createRates().take(of(by('a', 3), by('b', 9), flow()), 0);
  expect(rows).toMatchObject([{ packets: 48, policy: 'b' }]);
});

const denied = { 'policy.verdict': 'denied' };
test.each<[string, Record<string, unknown>, string]>([
  [
    'those that deny',
    { ...denied, 'policy.decided_by': 'NetworkPolicy shop/a,NetworkPolicy shop/b' },
    'NetworkPolicy shop/a, NetworkPolicy shop/b',
  ],
  [
    'the one of the log',
    { 'security_rule.name': 'deny', 'policy.kind': 'NetworkPolicy', 'policy.namespace': 'shop' },
    'NetworkPolicy shop/deny',
  ],
  ['the nearest', { 'policy.nearest': 'NetworkPolicy shop/web ingress[0]' }, 'NetworkPolicy shop/web (nearest)'],
  ['none, where policies admit it', { 'policy.verdict': 'admitted', 'policy.decided_by': 'NetworkPolicy shop/a' }, '-'],
])('POLICY is %s', (_, given, policy) => {
  expect(createRates().take(of(flow(given)), 0)).toMatchObject([{ policy }]);
});
