import { expect, test } from 'vitest';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { gap, hostileRows, linesOf, printed, row, verdictOf, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

/** Rows with something for each section. */
function scene(): { rows: string[]; baseline: string[]; events: string[] } {
  const scan = Array.from({ length: 9 }, (_, number) =>
    row(20 + number, {
      'event.action': 'rejected',
      'source.kind': 'external',
      'source.address': '203.0.113.9',
      'source.k8s.namespace.name': undefined,
      'source.k8s.owner.kind': undefined,
      'source.k8s.owner.name': undefined,
      'destination.k8s.owner.name': `web-${number}`,
    }),
  );
  const both = verdictOf('denied', 'NetworkPolicy shop/default-deny', 'NetworkPolicy shop/web');
  const rows = [
    row(1, { 'network.packets': 1234, 'network.packets_at_least': true, ...both }),
    row(2, verdictOf('admitted')),
    ...scan,
    gap(3),
  ];
  const noise = row(40, { 'event.noise': 'multicast' });
  const old = row(101, { 'destination.port': 6379, 'security_rule.name': 'old' });
  const before = [row(100), old, old, row(102, { 'schema.version': '2.0' }), {}];
  const incident = {
    reason: 'ConntrackTableFull',
    message: 'The table is full. [KN301]',
    count: 3,
    firstTimestamp: '2026-11-20T09:10:00Z',
    lastTimestamp: '2026-11-20T09:20:00Z',
    involvedObject: { kind: 'Node', name: 'node-a' },
  };
  const drop = { ...incident, reason: 'PacketDrop', message: 'Packet dropped' };
  return {
    rows: [write('rows.ndjson', linesOf([...rows, noise, row(1), row(2, { 'schema.version': '2.0' })]))],
    baseline: [write('before.ndjson', linesOf(before))],
    events: [write('events.json', JSON.stringify({ kind: 'List', items: [incident, drop] }))],
  };
}

const texts = ['table', 'csv', 'json', 'markdown'] as const;
const endings = { table: 'txt', csv: 'csv', json: 'json.txt', markdown: 'md' } as const;

test.each(texts)('a report is printed as %s', async (output) => {
  const { out } = await printed({ ...scene(), output });
  await expect(out.replaceAll(path(), '')).toMatchFileSnapshot(`report.expected.${endings[output]}`);
});

test('a report on one policy has only records that name it', async () => {
  const { rows, baseline } = scene();
  const { out } = await printed({ rows, baseline, policy: ['shop/web'], output: 'table' });
  await expect(out).toMatchFileSnapshot('policy.expected.txt');
});

test('a report on a policy without records says so', async () => {
  const { out } = await printed({ rows: scene().rows, policy: ['shop/wbe'], output: 'table' });
  await expect(out).toMatchFileSnapshot('no-policy.expected.txt');
});

test('a report without a baseline, lost lines and drops says that nothing was dropped', async () => {
  const { out, isWhole } = await printed({ rows: [write('empty.ndjson', '')], output: 'table', mayBeEmpty: true });
  await expect(out).toMatchFileSnapshot('empty.expected.txt');
  expect(isWhole).toBe(true);
});

const hostile = (output: (typeof texts)[number]): ReturnType<typeof printed> =>
  printed({ rows: [write('hostile.ndjson', linesOf(hostileRows()))], output });

test.each(texts)(
  'with hostile names, %s has only printable characters, and no line is longer than a few names',
  async (output) => {
    const { out } = await hostile(output);
    expect(out.replaceAll(/\r?\n/g, '')).not.toMatch(
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u,
    );
    if (output !== 'json') expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThan(3500);
  },
);

test('with hostile names, csv has equally many cells in each row, and no formula', async () => {
  const { out } = await hostile('csv');
  const rows = out.trimEnd().split('\r\n').map(cellsOf);
  expect(rows).toHaveLength(hostileRows().length + 1);
  expect(new Set(rows.map((cells) => cells.length))).toEqual(new Set([15]));
  expect(rows.flat().filter((cell) => /^\s*[=+\-@|%]/.test(cell))).toEqual([]);
});

test('with hostile names, markdown has only its own words outside code, and equally many cells in each row', async () => {
  const { out } = await hostile('markdown');
  const prose = out.replaceAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g, '');
  expect(prose).not.toMatch(/[<>[\]@#](?!# |[^\n]*\n)/);
  expect(prose).not.toMatch(/script|alert|https|team|HYPERLINK/);
  const widths = out
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.replaceAll(String.raw`\|`, '').split('|').length);
  expect(new Set(widths)).toEqual(new Set([10, 9, 5]));
});

test('with hostile names, json is one object with the texts of the rows', async () => {
  const { out } = await hostile('json');
  const { pairs } = JSON.parse(out) as { pairs: { to: string }[] };
  const names = hostileRows().map((each) => each['destination.address']?.slice(0, 256));
  expect(pairs.map(({ to }) => to)).toEqual(names);
});

/** RFC 4180. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) =>
    quoted === undefined ? (bare ?? '') : quoted.replaceAll('""', '"'),
  );
}
