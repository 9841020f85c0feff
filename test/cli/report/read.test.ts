import { appendFileSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { subjectsOf } from '../../subject.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { readEvents } from '../../../src/cli/report/read/events.ts';
import { eachLine } from '../../../src/cli/report/read/files.ts';
import { gap, linesOf, row, withRows, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

const rowsOf = (...numbers: number[]): string => linesOf(numbers.map((number) => row(number)));

/** Reads these files; returns the result, and the ids that are in the table. */
async function reading(...named: string[]): Promise<unknown> {
  return await withRows(path(), named, async (engine, { fileProblems, rowProblems, ...counts }) => ({
    ...counts,
    problems: subjectsOf([...fileProblems, ...rowProblems]),
    ids: (await engine.all<{ id: string }>(`SELECT "event.id" AS id FROM flows ORDER BY rowid`)).map(({ id }) => id),
  }));
}

const clean = { files: 1, rows: 2, broken: 0, refused: 0, duplicates: 0, problems: [], ids: ['id-1', 'id-2'] };

test.each<[string, string | Buffer]>([
  ['plain', rowsOf(1, 2)],
  ['without a last newline', rowsOf(1, 2).trimEnd()],
  ['with CRLF and blank lines', rowsOf(1, 2).replaceAll('\n', '\r\n\r\n \t\n')],
  ['gzip', gzipSync(rowsOf(1, 2))],
  ['gzip of two members', Buffer.concat([gzipSync(rowsOf(1)), gzipSync(rowsOf(2))])],
  ['zstd', zstdCompressSync(rowsOf(1, 2))],
  ['zstd of two frames', Buffer.concat([zstdCompressSync(rowsOf(1)), zstdCompressSync(rowsOf(2))])],
])('a file is read: %s', async (_, content) => {
  expect(await reading(write('rows', content))).toEqual(clean);
});

test('a file with fields of a newer minor version and an unknown kind of record is read', async () => {
  const newer = { ...row(1), 'schema.version': '1.9', 'a.newer.field': { deep: [1] } };
  const kind = { ...row(2), 'schema.version': '1.9', 'event.name': 'network.flow.other' };
  expect(await reading(write('newer.ndjson', linesOf([newer, kind])))).toEqual(clean);
});

test('a file without rows is read', async () => {
  expect(await reading(write('empty.ndjson', ''))).toEqual({ ...clean, rows: 0, ids: [] });
});

test('a link to itself is named, and the other files are read', async () => {
  symlinkSync('loop', path('loop'));
  expect(await reading(path('loop'), write('rows', rowsOf(1, 2)))).toEqual({ ...clean, problems: [path('loop')] });
});

test.each([
  ['in the middle', 'b\na\nc', ['b', 'a']],
  ['without a last newline', 'a', ['a']],
  ['as the last line', 'b\na', ['b', 'a']],
  ['in a file that is cut off behind it', gzipSync('b\na\nc').subarray(0, -8), ['b', 'a']],
])('a line at which the reading is stopped counts once: %s', async (_, content, lines) => {
  const taken: (string | undefined)[] = [];
  const stop = new Error('stop');
  const reads = eachLine(write('lines', content), (line) => {
    taken.push(line);
    if (line === 'a') throw stop;
  });
  await expect(reads).rejects.toBe(stop);
  expect(taken).toEqual(lines);
});

test('Events are read up to 256 MiB, in a file and in an endless stream', () => {
  const file = write('large.json', '');
  truncateSync(file, 3 * 1024 ** 3);
  const problems = [file, '/dev/zero'].map((name) => `${name}: is larger than 256 MiB`);
  expect(readEvents([file, '/dev/zero'])).toMatchObject({ problems });
});

test('a list of 200,000 Events is read', () => {
  const [firstTimestamp, lastTimestamp] = ['2026-11-20T09:00:00Z', '2026-11-20T09:00:00Z'];
  const event = JSON.stringify({ message: 'a [KN102]', firstTimestamp, lastTimestamp });
  const { incidents, problems } = readEvents([
    write('many.json', `{"items":[${`${event},`.repeat(199_999)}${event}]}`),
  ]);
  expect(problems).toEqual([]);
  expect(incidents.top.length + incidents.more).toBe(200_000);
});

const times = { firstTimestamp: '2026-11-20T09:00:00Z', lastTimestamp: '2026-11-20T09:00:00Z' };
const drop = {
  kind: 'Event',
  reason: 'PacketDrop',
  reportingComponent: 'kube-netfilter-tailer',
  message: 'a',
  ...times,
};
const nested = '['.repeat(100_000) + ']'.repeat(100_000);

const unreadable: [string, string][] = [
  ['null', 'null'],
  ['a text', '"x"'],
  ['a time that is an object', JSON.stringify({ ...drop, firstTimestamp: { toString: 1, valueOf: 1 } })],
  ['a time that is nested', JSON.stringify({ ...drop, lastTimestamp: 0 }).replace(':0', `:${nested}`)],
  ['a time that is none', JSON.stringify({ ...drop, lastTimestamp: 'x' })],
  ['no message', JSON.stringify({ ...drop, message: { toString: 1 } })],
];

test.each([...unreadable, ['a line that is cut off', '{"kind":"Event","mess'], ['a page', '<html>']])(
  'one unreadable Event is counted, and hides no others: %s',
  (_, bad) => {
    const good = JSON.stringify(drop);
    for (const content of [`${good}\n${bad}\n${good}\n`, `${bad}\n${good}\n${good}`]) {
      const file = write('events.ndjson', content);
      const { events, problems } = readEvents([file]);
      expect(events.top).toHaveLength(2);
      expect(problems).toEqual([`${file}: 1 Event cannot be read`]);
    }
  },
);

test.each(unreadable)('one unreadable Event of a list hides no others: %s', (_, bad) => {
  const good = JSON.stringify(drop);
  const { events, problems } = readEvents([write('list.json', `{"kind":"List","items":[${good},${bad},${good}]}`)]);
  expect(events.top).toHaveLength(2);
  expect(problems).toHaveLength(1);
});

test.each(['x', null, -3, 1.5, { toString: 1 }])('an Event with the count %j counts as one', (count) => {
  const { events } = readEvents([write('counted.json', JSON.stringify({ ...drop, count }))]);
  expect(events.top).toMatchObject([{ count: 1 }]);
});

test('Events of other programs are left out silently', () => {
  const other = { kind: 'Event', reportingComponent: 'kubelet', eventTime: '2026-11-20T09:00:00Z', message: 'pulled' };
  expect(readEvents([write('other.json', JSON.stringify({ items: [other] }))])).toMatchObject({ problems: [] });
});

test('an incident differs from a packet by the code at its end, even after a diagnosis', () => {
  const [firstTimestamp, lastTimestamp] = ['2026-11-20T09:00:00Z', '2026-11-20T09:00:00Z'];
  const items = [
    ['IptablesRestoreFailed', 'a [KN102]'],
    ['IptablesRestoreFailed', 'b [KN101, KN102]'],
    ['PacketDrop', 'c [KN403]'],
    ['PacketDrop', 'd'],
  ].map(([reason, message]) => ({
    reason,
    message,
    firstTimestamp,
    lastTimestamp,
    reportingComponent: 'kube-netfilter-tailer',
  }));
  const { incidents, events } = readEvents([write('events.json', JSON.stringify({ items }))]);
  expect([incidents, events].map(({ top }) => top.map(({ message }) => message[0]).join(''))).toEqual(['ab', 'cd']);
});

test('a file whose name is a pattern, a quotation or SQL is read', async () => {
  const name = write(`a'b "c" [1]*?{x,y}; DROP TABLE flows --.ndjson`, rowsOf(1, 2));
  expect(await reading(name)).toEqual(clean);
});

const brokenLines = [
  ['cut off', '{"@timestamp":"2026-11-20T09:01:00.000Z","event.id":"x'],
  ['an object that goes on in the next line', '{"a":'],
  ['a list that goes on in the next line', '['],
  ['cut off, and another row in the same line', `{"@timestamp":"2026${JSON.stringify(row(8))}`],
  ['two rows in a line', JSON.stringify(row(8)) + JSON.stringify(row(9))],
  ['text behind the object', `${JSON.stringify(row(8))} x`],
  ['an array', '[]'],
  ['null', 'null'],
  ['text', 'Nov 20 09:01:00 node-a kernel: calico-drop'],
  ['an empty object', '{}'],
  ['NUL bytes, as a crash of the machine leaves them', '\0'.repeat(5000)],
  ['no schema.version', JSON.stringify({ ...row(8), 'schema.version': undefined })],
  ['no event.id', JSON.stringify({ ...row(8), 'event.id': undefined })],
  ['an empty event.id', JSON.stringify({ ...row(8), 'event.id': '' })],
  ['no event.name', JSON.stringify({ ...row(8), 'event.name': undefined })],
  ['no @timestamp', JSON.stringify({ ...row(8), '@timestamp': undefined })],
  ['@timestamp is infinity', JSON.stringify({ ...row(8), '@timestamp': 'infinity' })],
  ['@timestamp has no zone', JSON.stringify({ ...row(8), '@timestamp': '2026-11-20T09:01:00' })],
  ['@timestamp is a number', JSON.stringify({ ...row(8), '@timestamp': 1_795_000_000 })],
  ['event.start is no time', JSON.stringify({ ...row(8), 'event.start': 'yesterday' })],
  ['no packets', JSON.stringify({ ...row(8), 'network.packets': undefined })],
  ['packets in words', JSON.stringify({ ...row(8), 'network.packets': 'many' })],
  ['half a packet', JSON.stringify({ ...row(8), 'network.packets': 1.5 })],
  ['fewer than no packets', JSON.stringify({ ...row(8), 'network.packets': -1 })],
  ['more packets than a number can count', JSON.stringify({ ...row(8), 'network.packets': 1e30 })],
  ['a port in hexadecimal', JSON.stringify({ ...row(8), 'destination.port': '0x10' })],
  ['a boolean in words', JSON.stringify({ ...row(8), 'network.reply': 'yes' })],
];
test.each(brokenLines)('broken rows are named and counted, and the others are read: %s', async (_, line) => {
  const file = write('broken.ndjson', `${rowsOf(1)}\n \n${line}\n${rowsOf(2)}`);
  expect(await reading(file)).toEqual({ ...clean, broken: 1, problems: [`${file}:4`] });
});

test('bytes that are not UTF-8 are reported as a broken row', async () => {
  const file = write('latin1.ndjson', Buffer.from(`${rowsOf(1)}{"event.id":"\xff\xfe"}\n${rowsOf(2)}`, 'latin1'));
  expect(await reading(file)).toEqual({ ...clean, broken: 1, problems: [`${file}:2`] });
});

test.each([2, 40])('a line of %d MB is reported', async (megabytes) => {
  const file = write('long.ndjson', `${rowsOf(1)}{"event.id":"${'x'.repeat(megabytes * 1e6)}"}\n${rowsOf(2)}`);
  expect(await reading(file)).toEqual({ ...clean, broken: 1, problems: [`${file}:2`] });
});

test('one object over many lines is reported as broken rows', async () => {
  const file = write('pretty.ndjson', `${rowsOf(1)}{\n  "event.id": "x"\n}\n${rowsOf(2)}`);
  expect(await reading(file)).toEqual({ ...clean, broken: 3, problems: [2, 3, 4].map((line) => `${file}:${line}`) });
});

test('truncated gzip: the rows before the end are read', async () => {
  const packed = gzipSync(linesOf(Array.from({ length: 2000 }, (_, number) => row(number))), { level: 1 });
  const file = write('cut.ndjson.gz', packed.subarray(0, packed.length / 2));
  const { rows, broken, problems } = (await reading(file)) as { rows: number; broken: number; problems: string[] };
  expect(rows).toBeGreaterThan(500);
  expect(rows).toBeLessThan(2000);
  expect({ broken, problems }).toEqual({ broken: 1, problems: [file, `${file}:${rows + 1}`] });
});

const manyRows = Buffer.from(rowsOf(1, 2));
test.each<[string, Buffer]>([
  ['gzip without its checksum', gzipSync(manyRows).subarray(0, -8)],
  ['gzip at the end of a row', Buffer.concat([gzipSync(manyRows), gzipSync('').subarray(0, 10)])],
  ['zstd at the end of a row', Buffer.concat([zstdCompressSync(manyRows), zstdCompressSync(manyRows).subarray(0, 20)])],
])('%s that is truncated has its rows read, and the file is named', async (_, content) => {
  const file = write('cut', content);
  expect(await reading(file)).toEqual({ ...clean, files: 0, problems: [file] });
});

test('zstd truncated before its first row: no row is read, and the file is named', async () => {
  const file = write('cut.ndjson.zst', zstdCompressSync(manyRows).subarray(0, -20));
  expect(await reading(file)).toEqual({ ...clean, files: 0, rows: 0, ids: [], problems: [file] });
});

test('rows in two compressed files of many are named by file and line, even if DuckDB reads with many threads', async () => {
  const many = Array.from({ length: 30_000 }, (_, number) => JSON.stringify(row(number)));
  const file = write('a.ndjson.gz', gzipSync(`${many.with(20_000, '{').with(29_999, '{').join('\n')}\n`));
  const other = write('b.ndjson.zst', zstdCompressSync(`{\n${rowsOf(99_999)}`));
  expect(await reading(file, other)).toMatchObject({
    rows: 29_999,
    problems: [`${file}:20001`, `${file}:30000`, `${other}:1`],
  });
});

test('the first 20 of a hundred are named', async () => {
  const { problems, broken } = (await reading(write('many.ndjson', '{}\n'.repeat(100)))) as {
    problems: string[];
    broken: number;
  };
  expect(broken).toBe(100);
  expect(problems).toHaveLength(21);
});

test('rows of another major version are refused, and named', async () => {
  const versions = ['2.0', '0.9', '1', '10.0', '1.x'];
  const file = write(
    'versions.ndjson',
    rowsOf(1, 2) + linesOf(versions.map((version, number) => row(10 + number, { 'schema.version': version }))),
  );
  const problems = versions.map((_, number) => `${file}:${number + 3}`);
  expect(await reading(file)).toEqual({ ...clean, refused: 5, problems });
});

test('a row sent twice in one file is counted once', async () => {
  expect(await reading(write('twice.ndjson', rowsOf(1, 2, 1, 1)))).toEqual({ ...clean, duplicates: 2 });
});

test('a row sent twice, in a file and its compressed copy, is counted once', async () => {
  const files = [write('a.ndjson', rowsOf(1, 2)), write('a.ndjson.gz', gzipSync(rowsOf(1, 2)))];
  expect(await reading(...files)).toEqual({ ...clean, files: 2, duplicates: 2 });
});

test('a broken row does not displace a good one', async () => {
  const half = { ...row(1), 'network.packets': undefined };
  const file = write('half.ndjson', linesOf([half, row(1), row(2)]));
  expect(await reading(file)).toEqual({ ...clean, broken: 1, problems: [`${file}:1`] });
});

test('rows sent twice are counted once: two nodes or clusters have different ids', async () => {
  const rows = [row(1), row(2, { 'k8s.cluster.name': 'other', 'event.id': 'id-1b' })];
  expect(await reading(write('two.ndjson', linesOf(rows)))).toMatchObject({ rows: 2, duplicates: 0 });
});

test('a pattern, a file in it that is also named, and a link to it: each file is read once', async () => {
  mkdirSync(path('nodes/folder.ndjson'), { recursive: true });
  const file = write('nodes/a.ndjson', rowsOf(1));
  write('nodes/b.ndjson', rowsOf(2));
  symlinkSync(file, path('nodes/c.ndjson'));
  expect(await reading(path('nodes/*.ndjson'), file)).toEqual({ ...clean, files: 2 });
});

test('a missing file, a pattern without a file, and a folder are named; the others are read', async () => {
  const file = write('there.ndjson', rowsOf(1, 2));
  mkdirSync(path('folder'), { recursive: true });
  const wrong = [path('missing.ndjson'), path('none*'), path('folder')];
  expect(await reading(...wrong, file)).toEqual({ ...clean, problems: wrong });
});

test.each<[string, (text: string) => Buffer]>([
  ['plain', (text) => Buffer.from(text)],
  ['gzip', (text) => gzipSync(text)],
  ['zstd', (text) => zstdCompressSync(text)],
])('standard input is read: %s', async (_, pack) => {
  const found = await withRows(path(), ['-'], (__, each) => each, Readable.from([pack(`${rowsOf(1)}{\n${rowsOf(2)}`)]));
  expect(found).toMatchObject({ rows: 2, broken: 1 });
  expect(subjectsOf(found.rowProblems)).toEqual(['-:2']);
});

test('truncated compressed standard input: the rows before the end are read, and it is named', async () => {
  const packed = gzipSync(linesOf(Array.from({ length: 2000 }, (_, number) => row(number))), { level: 1 });
  const cut = Readable.from([packed.subarray(0, packed.length / 2)]);
  const { rows, broken, fileProblems, rowProblems } = await withRows(path(), ['-'], (_, found) => found, cut);
  expect(rows).toBeGreaterThan(500);
  expect(broken).toBe(1);
  expect(subjectsOf([...fileProblems, ...rowProblems])).toEqual(['-', `-:${rows + 1}`]);
});

test('times of another zone are converted to UTC', async () => {
  const file = write('zone.ndjson', linesOf([row(1, { '@timestamp': '2026-11-20T11:01:00.000+02:00' })]));
  const found = await withRows(path(), [file], (engine) =>
    engine.all<{ at: number }>(`SELECT epoch_ms("@timestamp")::DOUBLE AS at FROM flows`),
  );
  expect(found).toEqual([{ at: Date.parse('2026-11-20T09:01:00Z') }]);
});

test('a text of a row is truncated to 256 characters', async () => {
  const file = write('longtext.ndjson', linesOf([row(1, { 'source.k8s.owner.name': 'x'.repeat(10_000) })]));
  const found = await withRows(path(), [file], (engine) =>
    engine.all<{ length: number }>(`SELECT length("source.k8s.owner.name")::DOUBLE AS length FROM flows`),
  );
  expect(found).toEqual([{ length: 256 }]);
});

test('a file that grows while it is read gives its first rows', async () => {
  const file = write('grows.ndjson', rowsOf(1, 2) + JSON.stringify(gap(3)).slice(0, 40));
  const first = await reading(file);
  appendFileSync(file, `${JSON.stringify(gap(3)).slice(40)}\n`);
  expect(first).toEqual({ ...clean, broken: 1, problems: [`${file}:3`] });
  expect(await reading(file)).toMatchObject({ rows: 3, broken: 0 });
});
