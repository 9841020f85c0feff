import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createTable, rowOf } from '../../../src/cli/drops/drops.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import { expectLines } from '../../expected-file.ts';
import { eventsOfSample } from '../../monitoring/sample-events.ts';
import { flow } from '../top/flows.ts';

const tables: { shown: [Record<string, string>, object][] } = {
  // Annotations, and what is shown of them.
  shown: [
    [{ protocol: 'ICMP', icmp: '3/4' }, { port: 'ICMP fragmentation needed' }],
    [{ protocol: 'ICMPv6', icmp: '128/0' }, { port: 'ICMPv6 echo request' }],
    [{ protocol: 'ICMP', icmp: 'x' }, { port: 'ICMP' }],
    [{ protocol: 'GRE' }, { port: 'GRE' }],
    [{ ports: '2', 'port-list': '22/TCP,80/TCP' }, { port: '22/TCP,80/TCP' }],
    [{ ports: '7', 'port-list': '1/TCP,2/TCP,3/TCP,4/TCP,5/TCP' }, { port: '1/TCP,2/TCP,3/TCP,4/TCP,5/TCP,2 more' }],
    [{ peers: '3' }, { from: '3 peers', verdict: 'dropped' }],
  ],
};

/** Tests what `kubectl drops` shows of Events. */

const now = Date.parse('2026-11-21T20:00:00Z');
const plain = (_: string, text: string): string => text;
const samples = readdirSync(new URL('../../../samples', import.meta.url))
  .filter((name) => name.endsWith('.expected.json'))
  .map((name) => name.slice(0, -'.expected.json'.length));
const drops = samples.flatMap((name) => eventsOfSample(name)).filter(({ reason }) => reason === 'PacketDrop');

const withAnnotations = (event: CoreEvent, annotations: Record<string, string>): CoreEvent => ({
  ...event,
  metadata: {
    ...event.metadata,
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`kube-netfilter-tailer/${key}`, value]),
    ),
  },
});
const withoutAnnotations = (event: CoreEvent): CoreEvent => withAnnotations(event, {});
const [example] = drops as [CoreEvent];

test('rows are made of the Events of all samples', async () => {
  const table = createTable(true, plain);
  const lines = (table.title(drops, now) + table.lines(drops, now)).trimEnd().split('\n');
  // Without the message, which the samples have.
  const end = lines[0]?.indexOf('MESSAGE');
  await expectLines(
    import.meta.dirname,
    'rows.expected.txt',
    lines.map((line) => line.slice(0, end).trimEnd()),
  );
});

test('an Event is shown as its annotations say', () => {
  const annotations = {
    schema: '1',
    direction: 'sending',
    verdict: 'rejected',
    protocol: 'UDP',
    port: '53',
    peer: 'Deployment/kube-system/coredns',
    policy: 'NetworkPolicy/shop/no-dns',
  };
  const { namespace = '', name } = example.involvedObject;
  expect(rowOf(withAnnotations(example, annotations))).toMatchObject({
    from: `${namespace}/${name}`,
    to: 'kube-system/coredns (Deployment)',
    port: '53/UDP',
    verdict: 'rejected',
    policy: 'NetworkPolicy shop/no-dns',
  });
});

test.each<[Record<string, string>, string]>([
  [{ schema: '2', direction: 'sending', peer: 'x' }, 'another schema'],
  [{ direction: 'sending', peer: 'x' }, 'no schema'],
])('annotations %j are not believed: %s', (annotations, _why) => {
  expect(rowOf(withAnnotations(example, annotations))).toEqual(rowOf(withoutAnnotations(example)));
});

test.each<[Record<string, string>, object]>(tables.shown)('annotations %j are shown as %j', (annotations, shown) => {
  expect(rowOf(withAnnotations(example, { schema: '1', ...annotations }))).toMatchObject(shown);
});

test.each([
  ['Pod/shop/web-0', 'shop/web-0'],
  ['Node/node-b', 'node-b (Node)'],
  ['external/203.0.113.9', '203.0.113.9'],
  ['unknown/fd00::1', 'fd00::1'],
  ['StatefulSet/shop/db', 'shop/db (StatefulSet)'],
])('the peer %s', (peer, shown) => {
  expect(rowOf(withAnnotations(example, { schema: '1', direction: 'receiving', peer })).from).toBe(shown);
});

test('a workload is spelled as in the live table', () => {
  const [live] = createRates().take(new Map([['node-a', [flow()]]]), 0);
  const annotations = { schema: '1', direction: 'receiving', peer: 'Deployment/batch/worker' };
  expect(rowOf(withAnnotations(example, annotations)).from).toBe(live?.from);
});

test.each([
  ['no Event at all', undefined],
  ['an empty object', {}],
  ['fields of other types', { message: 7, count: '3', involvedObject: [], metadata: { annotations: 'x' }, source: 1 }],
  ['a count that is none', { count: -1, lastTimestamp: 'yesterday' }],
])('%s is a row with nothing known', (_, event) => {
  expect(rowOf(event)).toMatchObject({ count: 1, port: '-', last: undefined, node: '-', policy: '-' });
});

test('texts of a megabyte are cut in the table', () => {
  const [peer, policy] = ['a '.repeat(500_000), 'b'.repeat(500_000)];
  const event = { ...withAnnotations(example, { schema: '1', peer, policy }), message: peer };
  expect(createTable(true, plain).lines([event], now).length).toBeLessThan(3000);
});

test('columns stay as wide as what was shown before', () => {
  const table = createTable(false, plain);
  const wide = { ...withoutAnnotations(example), involvedObject: { ...example.involvedObject, name: 'x'.repeat(200) } };
  const [first = ''] = table.lines([wide], now).split('\n');
  const [second = ''] = table.lines([withoutAnnotations(example)], now).split('\n');
  expect(second.length).toBe(first.length);
});

test('a colour is around the verdict alone, and columns are aligned as without', () => {
  const coloured = createTable(false, (colour, text) => `<${colour}>${text}</>`).lines([example], now);
  expect(coloured).toMatch(/ {2}<(?:red|yellow)>(?:dropped|rejected)<\/>\n$/);
  expect(coloured.replaceAll(/<[^>]*>/g, '')).toBe(createTable(false, plain).lines([example], now));
});
