import { truncateSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UsageError } from '../../src/cli/options/command.ts';
import { readSaved } from '../../src/cli/replay/policies.ts';
import { readSavedObjects } from '../../src/cli/replay/saved-objects.ts';
import { WhyError } from '../../src/cli/why/known-objects.ts';
import { felixOf, type Snapshot } from '../../src/agent/kubernetes/snapshot.ts';
import type { Json } from '../../src/base/platform/json.ts';
import { forAllAsync } from '../for-all.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { policyDenyText, writerIn } from './scene.ts';

/** Tests how saved objects are read by `--pods`. */

const path = temporaryFolder();
const write = writerIn(path);

async function readFiles(pods: string[]): Promise<Snapshot> {
  const { snapshot } = await readSaved({ pods, policies: [], quiet: true }, { stdin: Readable.from([]) });
  return snapshot;
}

function read(...contents: (string | Buffer)[]): Promise<Snapshot> {
  return readFiles(contents.map((content, index) => write(`${index}.json`, content)));
}

const pod = (name: string, kind = 'Pod'): object => ({ kind, metadata: { name, namespace: 'shop' } });
const json = JSON.stringify;
const names = ({ objects }: Snapshot): string[] =>
  [...objects.pods, ...objects.nodes, ...objects.services, ...objects.endpointSlices]
    .map(({ name }) => name)
    .concat(objects.namespaces);
const nodes = (...items: object[]): string => json({ apiVersion: 'v1', kind: 'NodeList', items });
const all = [
  pod('a'),
  { kind: 'Node', metadata: { name: 'n' } },
  pod('s', 'Service'),
  pod('e', 'EndpointSlice'),
  { kind: 'Namespace', metadata: { name: 'shop' } },
];

test.each<[string, string | Buffer, string[]]>([
  ['List of several kinds', json({ kind: 'List', items: all }), ['a', 'n', 's', 'e', 'shop']],
  ['a NodeList, whose items do not repeat their kind', nodes({ metadata: { name: 'n' } }), ['n']],
  ['one object', json(pod('a')), ['a']],
  ['pretty-printed', json(pod('a'), undefined, 4), ['a']],
  ['an array, as jq prints .items', json([pod('a'), pod('b')]), ['a', 'b']],
  ['one object a line', `${json(pod('a'))}\n${json(pod('b'))}\n`, ['a', 'b']],
  ['lists on lines', `${json({ items: [pod('a')] })}\r\n\r\n${nodes({ metadata: { name: 'n' } })}`, ['a', 'n']],
  ['a byte order mark', `\uFEFF${json(pod('a'))}`, ['a']],
  ['UTF-16, as Windows PowerShell writes it', Buffer.from(`\uFEFF${json(pod('a'))}`, 'utf16le'), ['a']],
  ['YAML', 'kind: Pod\nmetadata: {name: a, namespace: shop}\n---\nkind: Node\nmetadata: {name: n}\n', ['a', 'n']],
  ['YAML that begins with a brace', '{kind: Pod, metadata: {name: a, namespace: shop}}\n', ['a']],
  ['YAML in braces on lines', "{\n  'kind': Pod,\n  'metadata': {'name': a, 'namespace': shop},\n}\n", ['a']],
  ['other kinds do no harm', json({ kind: 'List', items: [pod('d', 'Deployment'), pod('a')] }), ['a']],
])('reads a saved list in the shape of: %s', async (_, content, expected) => {
  const snapshot = await read(content);
  expect(snapshot.problems).toEqual([]);
  expect(names(snapshot)).toEqual(expected);
});

test('objects of several files are combined', async () => {
  expect(names(await read(json(pod('a')), json(pod('b'))))).toEqual(['a', 'b']);
});

test('correct objects are kept, and each problem is named with its place', async () => {
  const items = [pod('a'), { kind: 'Pod', metadata: {} }, { kind: 'Service', metadata: { name: 'api' } }];
  const snapshot = await read(json({ kind: 'List', items }), `${json(pod('b'))}\n${json({ kind: 'Node' })}`);
  expect(names(snapshot)).toEqual(['a', 'b']);
  expect(snapshot.problems).toEqual([
    `${path('0.json')}: items[1]: the Pod has no metadata.name`,
    `${path('0.json')}: items[2]: the Service api has no metadata.namespace`,
    `${path('1.json')}: document 2: the Node has no metadata.name`,
  ]);
});

test.each<[string, string | Buffer]>([
  ['an empty list', nodes()],
  ['lines of other JSON', '{"MESSAGE":"x"}\n{"MESSAGE":"y"}\n'],
  ['null', 'null'],
  ['other kinds', json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap')] })],
  ['a refusal of an API server', json({ kind: 'Status', reason: 'Forbidden' })],
  ['an empty file', ''],
])('a wrong file is refused: %s', async (_, content) => {
  await expect(read(content)).rejects.toThrow(UsageError);
  await expect(read(content)).rejects.toThrow(`--pods ${path('0.json')}: `);
});

test.each([
  ['the table', 'NAMESPACE   NAME   READY\nshop   web-0   1/1\n', ': ', 'use -o json'],
  ['a log', policyDenyText, ': ', 'neither JSON'],
  ['lines of which one is bad', `${json(pod('a'))}\n\n${json(pod('b'))}\noops`, ':4: ', 'is not JSON'],
  ['JSON that is cut', '{\n  "kind": "List",\n  "items": [', ':3:13: ', 'Unexpected end'],
  ['a missing comma', '{\n  "a": 1\n  "b": 2}', ':3:3: ', "Expected ',' or '}'"],
  ['a missing value', `{\n${' "a": 1,\n'.repeat(9)} "b": }`, ':11:7: ', "Unexpected token '}'\n"],
  ['a missing value in a short text', '{"b": }', ':1:7: ', "Unexpected token '}'\n"],
  ['a quoted key without its value', '{"kind": Pod}', ':1:10: ', "Unexpected token 'P'\n"],
  ['YAML in braces that is cut', '{kind: Pod, metadata: {name: a', ': ', 'neither JSON nor YAML'],
  ['several texts', '{\n"a": 1}\n{\n"b": 2}', ':3:1: ', 'several JSON texts'],
])('a wrong file is refused with the place and the reason: %s', async (_, content, place, reason) => {
  await expect(read(content)).rejects.toThrow(`--pods ${path('0.json')}${place}`);
  await expect(read(content)).rejects.toThrow(reason);
});

test('a large binary file is refused before it is read to its end', async () => {
  const file = write('large.json', '');
  truncateSync(file, 2 ** 40);
  await expect(readFiles([file])).rejects.toThrow(`--pods ${file}: is not UTF-8 text`);
});

test('all unreadable files are named', async () => {
  const missing = path('missing.json');
  const reading = readFiles([missing, path()]);
  await expect(reading).rejects.toThrow(`--pods ${missing}: no such file\n`);
  await expect(reading).rejects.toThrow(`--pods ${path()}: is a folder;`);
});

/** All objects that were read from the file, whole or object by object; undefined if it was refused. */
async function takenFrom(
  file: string,
  longestWhole: number,
  blocks: readonly Buffer[] = [],
): Promise<[Json, string][] | undefined> {
  const taken: [Json, string][] = [];
  const options = { stdin: () => Readable.from(blocks), terminal: undefined, longestWhole };
  try {
    await readSavedObjects(file, (object, place) => taken.push([object, place]), options);
  } catch (error) {
    if (error instanceof WhyError) return undefined;
    throw error;
  }
  return taken;
}

const object = fc.record({
  kind: fc.constantFrom('Pod', 'Node'),
  metadata: fc.dictionary(fc.string(), fc.jsonValue()),
});
const item = fc.oneof(object, fc.record({ metadata: fc.constant({ name: 'a' }) }), fc.jsonValue());
const listed = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constantFrom('List', 'PodList'),
  items: fc.array(item),
});
const document = fc.constantFrom(
  'kind: Pod\nmetadata: {name: a, namespace: shop}\n',
  'kind: List\nitems:\n- kind: Node\n  metadata:\n    name: n\n- metadata: {name: b}\n',
  'kind: Node\nmetadata:\n  name: |\n    ---\n',
  '{"kind": "Pod", "metadata": {"name": "c"}}\n',
);
const contents = fc.oneof(
  fc.tuple(listed, fc.constantFrom(undefined, 4)).map(([list, indent]) => json(list, undefined, indent)),
  fc.tuple(object, fc.constantFrom(undefined, 4)).map(([one, indent]) => json(one, undefined, indent)),
  fc
    .tuple(
      fc.array(fc.oneof(object, listed), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('\n', '\n\n'),
      fc.constantFrom('', '\n', '\n\n'),
    )
    .map(([lines, between, end]) => lines.map((line) => json(line)).join(between) + end),
  fc.tuple(fc.array(item), fc.constantFrom(undefined, 4)).map(([list, indent]) => json(list, undefined, indent)),
  fc
    .tuple(fc.constantFrom('', '---\n', '# saved\n---\n'), fc.array(document, { minLength: 1 }))
    .map(([head, documents]) => head + documents.join('---\n')),
);

test('objects of a large file are read one by one with the same result, also compressed and truncated', async () => {
  const examples: [string, number, boolean][] = ['---', '---\n---\n', '---\nk', 'kind: Pod\n---\nk'].map((text) => [
    text,
    0,
    false,
  ]);
  await forAllAsync([contents, fc.nat(), fc.boolean()], { examples }, async (content, cut, isCut) => {
    const text = isCut ? content.slice(0, 1 + (cut % content.length)) : content;
    const file = write('whole.json', text);
    const whole = await takenFrom(file, Infinity);
    expect(await takenFrom(file, 0)).toEqual(whole);
    const bytes = Buffer.from(text);
    const length = 1 + (cut % 9);
    const blocks = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
      bytes.subarray(index * length, (index + 1) * length),
    );
    // The first line shows the kind of a file.
    expect(await takenFrom('-', bytes.indexOf('\n') + 4, blocks)).toEqual(
      whole?.map(([each, place]) => [each, place.replace(file, '-')]),
    );
    expect(await takenFrom(write('marked.json', `\uFEFF${text}`), 0)).toEqual(
      whole?.map(([each, place]) => [each, place.replace('whole', 'marked')]),
    );
    expect(await takenFrom(write('packed.json', gzipSync(text)), 0)).toEqual(
      whole?.map(([each, place]) => [each, place.replace('whole', 'packed')]),
    );
  });
});

const felix = (name: string, spec: object): string =>
  json({ apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name }, spec });

test('each node has its FelixConfiguration, its own over the common one', async () => {
  const snapshot = await read(felix('default', { bpfEnabled: true }), felix('node.node-b', { bpfEnabled: false }));
  expect(snapshot.problems).toEqual([]);
  expect(felixOf(snapshot, 'node-a')).toMatchObject({ settings: { bpfEnabled: true, bpfFrom: 'default' } });
  expect(felixOf(snapshot, 'node-b')).toMatchObject({ settings: { bpfEnabled: false, bpfFrom: 'node.node-b' } });
});

test('a FelixConfiguration that was not saved is unknown', async () => {
  expect(felixOf(await read(json(pod('a'))), 'node-a')).toBeUndefined();
});
