import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dropRowOf } from '../../../src/cli/drops/drop-row.ts';
import { createTable } from '../../../src/cli/drops/drops-table.ts';
import { flowEndText } from '../../../src/cli/drops/flow-end.ts';
import { joinRows } from '../../../src/cli/drops/joined-rows.ts';
import { topFlowOf } from '../../../src/cli/top/flows.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import { expectLines } from '../../expected-file.ts';
import { eventsOfSample } from '../../monitoring/sample-events.ts';
import { flow } from '../top/flows.ts';

const tables: { shown: [Record<string, string>, object][] } = {
  // Annotations of Events, and the row that shows them.
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

/** Tests how `kubectl drops` shows Events. */

const now = Date.parse('2026-11-21T20:00:00Z');
const plain = (_: string, text: string): string => text;
const samples = readdirSync(new URL('../../../samples', import.meta.url))
  .filter((name) => name.endsWith('.expected.json'))
  .map((name) => name.slice(0, -'.expected.json'.length));
const dropsOf = (sample: string) => eventsOfSample(sample).filter(({ reason }) => reason === 'PacketDrop');
const drops = samples.flatMap(dropsOf);

/** Some messages name the policy of a Namespace, or no policy at all. */
test('if several policies deny, a row has the one that the message names, and the number of others', () => {
  const denied = drops.filter(({ message }) => / Denied by (?:\S*Polic\S+ )?\S+\/\S+ /.test(message));
  expect(denied.map(dropRowOf).filter(({ policy }) => policy === '-')).toEqual([]);
  const several = denied.filter(({ message }) => message.includes(' more'));
  expect(new Set(several.map((event) => dropRowOf(event).policy))).toContain('NetworkPolicy shop/postgres, 1 more');
});

/** Its packets may go both ways, and so have no annotation `direction`. */
test('the row of an Event that counts the drops past the limit has the direction of its message', () => {
  const past = dropsOf('policy-deny').map((event) => withAnnotations(event, { schema: '1', peers: '3' }));
  const sent = past.filter(({ message }) => message.includes('when sending traffic to'));
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.length).toBeLessThan(past.length);
  for (const event of past) {
    const { from, to, side } = dropRowOf(event);
    const peers = sent.includes(event) ? to : from;
    expect([peers.name, side]).toEqual(['3 peers', sent.includes(event) ? 'from' : 'to']);
  }
});

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
  const rows = samples.flatMap((name) => joinRows(dropsOf(name).map(dropRowOf)));
  const lines = (table.title(rows, now) + table.lines(rows, now)).trimEnd().split('\n');
  // Without the messages, which the samples' expected files have.
  const end = lines[0]?.indexOf('MESSAGE');
  await expectLines(
    import.meta.dirname,
    'rows.expected.txt',
    lines.map((line) => line.slice(0, end).trimEnd()),
  );
});

test('an Event is shown according to its annotations', () => {
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
  const row = dropRowOf(withAnnotations(example, annotations));
  expect([row.from, row.to].map(flowEndText)).toEqual([`${namespace}/${name}`, 'kube-system/coredns (Deployment)']);
  expect(row).toMatchObject({
    port: '53/UDP',
    verdict: 'rejected',
    policy: 'NetworkPolicy shop/no-dns',
  });
});

test.each<[Record<string, string>, string]>([
  [{ schema: '2', direction: 'sending', peer: 'x' }, 'another schema'],
  [{ direction: 'sending', peer: 'x' }, 'no schema'],
])('annotations %j are not believed: %s', (annotations, _why) => {
  expect(dropRowOf(withAnnotations(example, annotations))).toEqual(dropRowOf(withoutAnnotations(example)));
});

test.each<[Record<string, string>, object]>(tables.shown)('annotations %j are shown as %j', (annotations, shown) => {
  const row = dropRowOf(withAnnotations(example, { schema: '1', ...annotations }));
  expect({ ...row, from: flowEndText(row.from) }).toMatchObject(shown);
});

test.each([
  ['Pod/shop/web-0', 'shop/web-0'],
  ['Node/node-b', 'node-b (Node)'],
  ['external/203.0.113.9', '203.0.113.9'],
  ['unknown/fd00::1', 'fd00::1'],
  ['StatefulSet/shop/db', 'shop/db (StatefulSet)'],
])('the peer %s', (peer, shown) => {
  expect(flowEndText(dropRowOf(withAnnotations(example, { schema: '1', direction: 'receiving', peer })).from)).toBe(
    shown,
  );
});

test('a workload is spelled as in the live table', () => {
  const [live] = createRates().take(new Map([['node-a', [topFlowOf(flow())]]]), 0);
  const annotations = { schema: '1', direction: 'receiving', peer: 'Deployment/batch/worker', peers: '2' };
  expect(flowEndText(dropRowOf(withAnnotations(example, annotations)).from)).toBe(live?.from);
});

test.each([
  ['no Event at all', undefined],
  ['an empty object', {}],
  ['fields of other types', { message: 7, count: '3', involvedObject: [], metadata: { annotations: 'x' }, source: 1 }],
  ['a count that is none', { count: -1, lastTimestamp: 'yesterday' }],
])('%s is a row without known fields', (_, event) => {
  expect(dropRowOf(event)).toMatchObject({ count: 1, port: '-', last: undefined, node: '-', policy: '-' });
});

test('texts of a megabyte are cut in the table', () => {
  const [peer, policy] = ['a '.repeat(500_000), 'b'.repeat(500_000)];
  const event = { ...withAnnotations(example, { schema: '1', peer, policy }), message: peer };
  expect(createTable(true, plain).lines([dropRowOf(event)], now).length).toBeLessThan(3000);
});

test('columns stay as wide as those shown before', () => {
  const table = createTable(false, plain);
  const wide = { ...withoutAnnotations(example), involvedObject: { ...example.involvedObject, name: 'x'.repeat(200) } };
  const [first = ''] = table.lines([dropRowOf(wide)], now).split('\n');
  const [second = ''] = table.lines([dropRowOf(withoutAnnotations(example))], now).split('\n');
  expect(second.indexOf('dropped')).toBe(first.indexOf('dropped'));
});

test.each<[string, Record<string, string>, string]>([
  ['several ports', { ports: '2', 'port-list': '22/TCP,80/TCP' }, '22/TCP,80/TCP'],
  ['many ports', { ports: '300', 'port-list': '1/TCP,2/TCP,3/TCP,4/TCP,5/TCP' }, '1/TCP,299 more'],
  ['five ports', { ports: '5', 'port-list': '1/TCP,2/TCP,3/TCP,4/TCP,5/TCP' }, '1/TCP,4 more'],
  ['answers', { port: '443', protocol: 'TCP', packet: 'reply' }, '443/TCP (reply)'],
  ['ICMP errors', { port: '443', protocol: 'TCP', packet: 'error' }, '443/TCP (ICMP error)'],
  ['another kind of packets', { port: '443', protocol: 'TCP', packet: 'constructor' }, '443/TCP'],
])('the column of ports shows %s', (_, annotations, shown) => {
  const [line = ''] = createTable(false, plain)
    .lines([dropRowOf(withAnnotations(example, { schema: '1', ...annotations }))], now)
    .split('\n');
  expect(line.split(/ {2,}/)[2]).toBe(shown);
});

test('on a terminal that is still too narrow, TO is below the row, and watched lines stay aligned', () => {
  const [sent] = sides() as [ReturnType<typeof dropRowOf>];
  const table = createTable(false, plain, 60);
  const long = { ...sent, policy: '-', to: { ...sent.to, pod: 'x'.repeat(40) } };
  const text = table.title([long], now) + table.lines([long, { ...sent, policy: 'NetworkPolicy shop/a' }], now);
  expect(text.split('\n').map((line) => line.trimEnd())).toEqual([
    'FROM            PORT      COUNT  LAST  VERDICT',
    '    → TO  POLICY',
    expect.stringMatching(/^batch\/worker-1 {2}5432\/TCP {6}6 {2}\S+ +dropped$/),
    `    → shop/${'x'.repeat(40)}`,
    expect.stringMatching(/^batch\/worker-1 {2}5432\/TCP {6}6 {2}\S+ +dropped$/),
    '    → shop/postgres-0  NetworkPolicy shop/a',
    '',
  ]);
});

test('only the verdict is coloured, and columns are aligned as without colours', () => {
  const row = dropRowOf(example);
  const coloured = createTable(false, (colour, text) => `<${colour}>${text}</>`).lines([row], now);
  expect(coloured).toMatch(/ {2}<(?:red|yellow)>(?:dropped|rejected)<\/>  /);
  expect(coloured.replaceAll(/<[^>]*>/g, '')).toBe(createTable(false, plain).lines([row], now));
});

test('on a terminal that is too narrow, the policy is below its row, and no word is cut', () => {
  const rows = ['NetworkPolicy/shop/postgres', undefined].map((policy) =>
    dropRowOf({
      ...withAnnotations(example, {
        schema: '1',
        verdict: 'rejected',
        peer: 'Node/node-a.example.com',
        ...(policy && { policy }),
      }),
      message: 'Packet dropped.',
    }),
  );
  const shown = (width?: number): string[] => {
    const table = createTable(false, plain, width);
    return (table.title(rows, now) + table.lines(rows, now)).trimEnd().split('\n');
  };
  expect(shown(80).map((line) => line.trimEnd())).toEqual([
    expect.stringMatching(/ VERDICT$/),
    expect.stringMatching(/ rejected$/),
    '    NetworkPolicy shop/postgres',
    expect.stringMatching(/ rejected$/),
  ]);
  expect(shown()).toEqual([
    expect.stringMatching(/ VERDICT {3}POLICY$/),
    expect.stringMatching(/ rejected {2}NetworkPolicy shop\/postgres$/),
    expect.stringMatching(/ rejected {2}-$/),
  ]);
});

/** An Event of `worker-1`, or of `postgres-0`, about the same packets. */
const sides = (given: object = {}, annotations: Record<string, string> = {}) => {
  const both = { schema: '1', protocol: 'TCP', port: '5432' };
  const [worker, postgres] = [
    { kind: 'Pod', namespace: 'batch', name: 'worker-1' },
    { kind: 'Pod', namespace: 'shop', name: 'postgres-0' },
  ];
  const of = (own: object, peer: object, values: Record<string, string>) => ({
    ...withAnnotations({ ...example, count: 6 }, { ...both, ...values }),
    involvedObject: own,
    related: peer,
  });
  const sent = of(worker, postgres, { direction: 'sending', peer: 'StatefulSet/shop/postgres' });
  const received = of(postgres, worker, { direction: 'receiving', peer: 'Deployment/batch/worker', ...annotations });
  return [sent, { ...received, ...given }].map(dropRowOf);
};
const endsOf = (rows: readonly ReturnType<typeof dropRowOf>[]) =>
  joinRows(rows).map(({ from, to, count }) => [flowEndText(from), flowEndText(to), count]);

test('the two Events of a packet are one row, which names both Pods', () => {
  expect(endsOf(sides())).toEqual([['batch/worker-1', 'shop/postgres-0', 6]]);
});

test('a row of several Pods counts what each of them sent', () => {
  const [sent] = sides() as [ReturnType<typeof dropRowOf>, ReturnType<typeof dropRowOf>];
  const other = { ...sent, from: { ...sent.from, name: 'worker-2', pod: 'worker-2' } };
  const [, received] = sides({ count: 12 }, { peers: '2' }) as [unknown, ReturnType<typeof dropRowOf>];
  expect(endsOf([sent, other, received])).toEqual([['batch/worker (Deployment)', 'shop/postgres-0', 12]]);
});

test.each<[string, object, Record<string, string>]>([
  ['it is of another port', {}, { port: '80' }],
  ['it is of another Pod', { involvedObject: { kind: 'Pod', namespace: 'shop', name: 'postgres-1' } }, {}],
  ['it is of another workload', {}, { peer: 'Deployment/batch/work', peers: '2' }],
])("a receiver's Event does not hide the sender's if %s", (_, given, annotations) => {
  expect(endsOf(sides(given, annotations))).toHaveLength(2);
});

test.each<[string, object, number]>([
  ['one of them counts fewer', { count: 5 }, 6],
  ['two nodes have dropped some', { source: { host: 'node-z' } }, 12],
])('the count of a row if %s', (_, given, count) => {
  expect(endsOf(sides(given))).toEqual([['batch/worker-1', 'shop/postgres-0', count]]);
});

test('the policy of either Event is shown', () => {
  const [sent, received] = sides() as [ReturnType<typeof dropRowOf>, ReturnType<typeof dropRowOf>];
  expect(
    joinRows([
      { ...sent, policy: 'NetworkPolicy batch/x' },
      { ...received, policy: '-' },
    ]),
  ).toMatchObject([{ policy: 'NetworkPolicy batch/x' }]);
});

test('Events of two hours are one row of the flow', () => {
  const [, received] = sides() as [unknown, ReturnType<typeof dropRowOf>];
  const later = { ...received, count: 3, last: now, node: 'node-z' };
  expect(joinRows([received, later])).toMatchObject([{ count: 9, last: now, node: `node-z,${received.node}` }]);
});
