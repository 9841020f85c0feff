import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { type PageData, rowColumns, textColumns } from '../../../src/cli/report/page/row-format.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { gap, hostileRows, linesOf, printed, row, writer } from './scene.ts';

const tables: { row: object } = {
  // The first row of the page.
  row: {
    from: 'Deployment batch/worker',
    fromGroup: 'batch',
    to: 'StatefulSet shop/postgres',
    toGroup: 'shop',
    service: 'tcp/5432',
    action: 'dropped',
    ruling: 'NetworkPolicy shop/default-deny\nunknown\nNetworkPolicy shop/default-deny',
    node: 'node-a',
    fromAddress: '10.244.0.41',
    toAddress: '10.244.1.30',
    at: 1795165265000,
    packets: 7,
  },
};

const path = temporaryFolder();
const write = writer(path);

const page = async (rows: readonly unknown[]): Promise<string> =>
  (await printed({ rows: [write('rows.ndjson', linesOf(rows))], output: 'html', mayBeEmpty: true })).out;

const scriptsOf = (html: string): [attributes: string, content: string][] =>
  [...html.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)].map(([, attributes = '', content = '']) => [
    attributes,
    content,
  ]);

const blockOf = (html: string, id: string): string =>
  scriptsOf(html).find(([attributes]) => attributes.includes(`id="${id}"`))?.[1] ?? '';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Returns the page without the library's code. */
const markupOf = (html: string): string => html.replaceAll(/<(script|style|pre)\b.*?<\/\1>/gs, '');

const random = (seed: number): string => createHash('sha256').update(String(seed)).digest('hex').slice(0, 60);

/**
 * The names of elements that the page may have, whatever the names of workloads. A span also has the kind of a
 * workload.
 */
const elementsIn = (html: string): Set<string> =>
  new Set([...markupOf(html).matchAll(/<(\/?[a-zA-Z!][\w-]*)/g)].map(([, name = '']) => name));

const isName = /^(?:source|destination)\.(?!kind)|action|rule|transport|node/;

function withPlainNames(record: FlowRecord, number: number): FlowRecord {
  const names = Object.entries(record).filter(([name, value]) => isName.test(name) && typeof value === 'string');
  return Object.assign(record, Object.fromEntries(names.map(([name]) => [name, `plain ${number}`])));
}

/** Returns each row's values, unpacked without the page's code. */
function rowsIn(html: string): Record<string, string | number>[] {
  const { rows } = JSON.parse(blockOf(html, 'data')) as PageData;
  const bytes = gunzipSync(Buffer.from(blockOf(html, 'row-data'), 'base64'));
  const [packed, texts] = JSON.parse(bytes.toString()) as [number[][], Record<string, string[]>];
  const columns = rowColumns.map((name, column) => {
    let sum = 0;
    return [name, packed[column]?.map((difference) => (sum += difference)) ?? []] as const;
  });
  return Array.from({ length: rows.count }, (_, index) =>
    Object.fromEntries(
      columns.map(([name, values]) => [name, texts[name]?.[values[index] ?? 0] ?? values[index] ?? 0]),
    ),
  );
}

test('the page allows only its own script and style, by their hashes', async () => {
  const html = await page([row(1)]);
  const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
  const script = scriptsOf(html).find(([attributes]) => attributes === '')?.[1] ?? '';
  expect(policy).toBe(
    `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`,
  );
  expect(scriptsOf(html)).toHaveLength(3);
  const tags = markupOf(html).match(/<[^>]+>/g) ?? [];
  expect(
    tags.filter((tag) => / (?:style|on\w+|src|srcset|action)=|^<(?:link|img|iframe|object|embed)/.test(tag)),
  ).toEqual([]);
  expect(style.match(/@import|url\(/g)).toBeNull();
});

test('the page has each row, with its time, packets and names', async () => {
  const found = rowsIn(await page([row(1, { 'network.packets': 7 }), row(2, { 'k8s.node.name': 'node-b' })]));
  expect(found).toHaveLength(2);
  expect(found[0]).toEqual(tables.row);
  expect(found[1]).toMatchObject({ node: 'node-b', packets: 1 });
});

test('the page has text for each section even without rows', async () => {
  const html = await page([]);
  expect(JSON.parse(blockOf(html, 'data'))).toMatchObject({ rows: { count: 0, all: 0 } });
  expect(html.match(/class="empty"/g)?.length).toBeGreaterThan(7);
});

test('the time line has a bar for each interval, with its outcomes, lost records, scans and incidents', async () => {
  const scan = Array.from({ length: 9 }, (_, number) =>
    row(2, {
      'event.id': `s${number}`,
      'source.k8s.owner.name': 'scanner',
      'destination.k8s.owner.name': `w${number}`,
    }),
  );
  const html = await page([
    row(0, { 'network.packets': 7 }),
    row(1, { 'event.action': 'odd' }),
    ...scan,
    gap(3),
    row(4),
  ]);
  const [svg = ''] = /<svg class="time-line wide".*?<\/svg>/s.exec(html) ?? [];
  const bars = [...svg.matchAll(/<g class="interval"><title>(.*?)<\/title>(.*?)<\/g>/gs)];
  expect(bars.map(([, title]) => title?.split('\n').map((line) => line.split(' ')[0]))).toEqual([
    ['2026-11-20', '7'],
    ['2026-11-20', '1'],
    ['2026-11-20', '9', 'Scan:'],
    ['2026-11-20', 'no', 'Records'],
    ['2026-11-20', '1'],
  ]);
  expect(bars.map(([, , parts]) => [...(parts ?? '').matchAll(/class="(\w+)"/g)].map(([, name]) => name))).toEqual([
    ['none', 'dropped'],
    ['none', 'other'],
    ['none', 'dropped'],
    ['gap'],
    ['none', 'dropped'],
  ]);
  expect(svg.match(/<rect class="scan"/g)).toHaveLength(1);
});

const incident = (at: string, name: string) => ({
  reason: 'IptablesRestoreFailed',
  message: '[KN102]',
  involvedObject: { kind: 'Node', name },
  firstTimestamp: at,
  lastTimestamp: at,
  reportingComponent: 'kube-netfilter-tailer',
});

test('an incident of another day is not in a bar of the time line', async () => {
  const { '@timestamp': now = '' } = row(1);
  const items = [incident(now, 'here'), incident('2026-12-24T10:00:00Z', 'elsewhere')];
  const { out } = await printed({
    rows: [write('day.ndjson', linesOf([row(0), row(1), row(2)]))],
    events: [write('events.json', JSON.stringify({ items }))],
    output: 'html',
  });
  const [svg = ''] = /<svg class="time-line wide".*?<\/svg>/s.exec(out) ?? [];
  expect(svg).toContain('here');
  expect(svg).not.toContain('elsewhere');
});

test('the page has at most 3 MB with 40,000 incompressible rows, has rows of every pair, and states their number', async () => {
  const rows = Array.from({ length: 40_000 }, (_, number) =>
    row(number % 1000, {
      'event.id': `id-${number}`,
      'source.k8s.owner.name': `w-${number % 2000}`,
      'source.address': random(number),
      'destination.address': random(-number - 1),
    }),
  );
  const html = await page(rows);
  const { rows: counts } = JSON.parse(blockOf(html, 'data')) as PageData;
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(3_000_000);
  expect(counts.all).toBe(40_000);
  expect(counts.count).toBeLessThan(40_000);
  expect(new Set(rowsIn(html).map(({ from }) => from)).size).toBe(2000);
});

test('names from outside are text: the page has the same elements as with other names', async () => {
  const plainRows = hostileRows().map(withPlainNames);
  expect(elementsIn(await page(hostileRows()))).toEqual(elementsIn(await page(plainRows)));
});

test("names from outside are printable, also in the script's data", async () => {
  const html = await page(hostileRows());
  const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
  expect((markupOf(html) + blockOf(html, 'data')).replaceAll('\n', '').match(unprintable)).toBeNull();
  const found = rowsIn(html).flatMap((each) =>
    textColumns.flatMap((name) => (name === 'ruling' ? String(each[name]).split(/[\n,]/) : [String(each[name])])),
  );
  expect(
    found.filter(
      (text) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(text) || text.length > 301,
    ),
  ).toEqual([]);
  expect(scriptsOf(html)).toHaveLength(3);
  expect(() => JSON.parse(blockOf(html, 'data')) as unknown).not.toThrow();
});

test('of long and all different names, as many are included as a page has room for, and it states their number', async () => {
  const long = ['k8s.node.name', 'security_rule.name', 'policy.namespace', 'source.address', 'destination.address'];
  const ends = ['source', 'destination'].flatMap((end) => [`${end}.k8s.namespace.name`, `${end}.k8s.owner.name`]);
  const rows = Array.from({ length: 14_000 }, (_, index) =>
    row(0, {
      'event.id': `id-${index}`,
      ...Object.fromEntries([...long, ...ends].map((field) => [field, `${index}${'x'.repeat(240)}`])),
    }),
  );
  const { rows: shown } = JSON.parse(blockOf(await page(rows), 'data')) as PageData;
  expect(shown.all).toBe(14_000);
  expect(shown.count).toBeGreaterThan(1000);
  expect(shown.count).toBeLessThan(14_000);
});
