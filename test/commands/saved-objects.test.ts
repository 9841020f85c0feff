import { truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { UsageError } from '../../src/commands/options/command.ts';
import { readSaved } from '../../src/commands/replay/policies.ts';
import { felixOf, type Snapshot } from '../../src/kubernetes/snapshot.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { policyDenyText, writerIn } from './scene.ts';

/** Tests how saved objects are read by `--pods`. */

const path = temporaryFolder();
const write = writerIn(path);

function read(...contents: (string | Buffer)[]): Snapshot {
  const pods = contents.map((content, index) => write(`${index}.json`, content));
  return readSaved({ pods, policies: [] }).snapshot;
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

test.each([
  ['List of several kinds', json({ kind: 'List', items: all }), ['a', 'n', 's', 'e', 'shop']],
  ['a NodeList, whose items do not repeat their kind', nodes({ metadata: { name: 'n' } }), ['n']],
  ['one object', json(pod('a')), ['a']],
  ['pretty-printed', json(pod('a'), undefined, 4), ['a']],
  ['one object a line', `${json(pod('a'))}\n${json(pod('b'))}\n`, ['a', 'b']],
  ['lists on lines', `${json({ items: [pod('a')] })}\r\n\r\n${nodes({ metadata: { name: 'n' } })}`, ['a', 'n']],
  ['a byte order mark', `\uFEFF${json(pod('a'))}`, ['a']],
  ['YAML', 'kind: Pod\nmetadata: {name: a, namespace: shop}\n---\nkind: Node\nmetadata: {name: n}\n', ['a', 'n']],
  ['YAML that begins with a brace', '{kind: Pod, metadata: {name: a, namespace: shop}}\n', ['a']],
  ['YAML in braces on lines', "{\n  'kind': Pod,\n  'metadata': {'name': a, 'namespace': shop},\n}\n", ['a']],
  ['other kinds do no harm', json({ kind: 'List', items: [pod('d', 'Deployment'), pod('a')] }), ['a']],
])('a saved list is read in the shape of: %s', (_, content, expected) => {
  const snapshot = read(content);
  expect(snapshot.problems).toEqual([]);
  expect(names(snapshot)).toEqual(expected);
});

test('several files add up', () => {
  expect(names(read(json(pod('a')), json(pod('b'))))).toEqual(['a', 'b']);
});

test('right objects are kept, and each problem is named with its place', () => {
  const items = [pod('a'), { kind: 'Pod', metadata: {} }, { kind: 'Service', metadata: { name: 'api' } }];
  const snapshot = read(json({ kind: 'List', items }), `${json(pod('b'))}\n${json({ kind: 'Node' })}`);
  expect(names(snapshot)).toEqual(['a', 'b']);
  expect(snapshot.problems).toEqual([
    `${path('0.json')}: items[1]: the Pod has no metadata.name`,
    `${path('0.json')}: items[2]: the Service api has no metadata.namespace`,
    `${path('1.json')}: document 2: the Node has no metadata.name`,
  ]);
});

test.each<[string, string | Buffer]>([
  ['UTF-16, as Windows PowerShell writes it', Buffer.from(`\uFEFF${json(pod('a'))}`, 'utf16le')],
  ['an empty list', nodes()],
  ['lines of other JSON', '{"MESSAGE":"x"}\n{"MESSAGE":"y"}\n'],
  ['null', 'null'],
  ['other kinds', json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap')] })],
  ['what an API server answers when it refuses', json({ kind: 'Status', reason: 'Forbidden' })],
  ['an empty file', ''],
])('a file that is not what it should be is refused: %s', (_, content) => {
  expect(() => read(content)).toThrow(UsageError);
  expect(() => read(content)).toThrow(`--pods ${path('0.json')}: `);
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
])('a file that is not what it should be is refused with the place and the reason: %s', (_, content, place, reason) => {
  expect(() => read(content)).toThrow(`--pods ${path('0.json')}${place}`);
  expect(() => read(content)).toThrow(reason);
});

test('a file that is too large for one text is refused with what to do', () => {
  const file = write('large.json', '');
  truncateSync(file, 2 ** 29);
  expect(() => readSaved({ pods: [file], policies: [] })).toThrow('one namespace');
});

test('all files that cannot be read are named', () => {
  const missing = path('missing.json');
  const reading = (): unknown => readSaved({ pods: [missing, path()], policies: [] });
  expect(reading).toThrow(`--pods ${missing}: cannot be read: no such file\n`);
  expect(reading).toThrow(`--pods ${path()}: cannot be read: is a folder;`);
});

const felix = (name: string, spec: object): string =>
  json({ apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name }, spec });

test('FelixConfiguration is known for each node, its own over the common one', () => {
  const snapshot = read(felix('default', { bpfEnabled: true }), felix('node.node-b', { bpfEnabled: false }));
  expect(snapshot.problems).toEqual([]);
  expect(felixOf(snapshot, 'node-a')).toMatchObject({ settings: { bpfEnabled: true, bpfFrom: 'default' } });
  expect(felixOf(snapshot, 'node-b')).toMatchObject({ settings: { bpfEnabled: false, bpfFrom: 'node.node-b' } });
});

test('a FelixConfiguration that was not saved is not known', () => {
  expect(felixOf(read(json(pod('a'))), 'node-a')).toBeUndefined();
});
