import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { felixOf, readSnapshot, type Snapshot } from '../../src/kubernetes/snapshot.ts';
import { subjectsOf } from '../subject.ts';

const folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

/** Problems come back with `FILE` for the path. */
function read(...contents: string[]): Snapshot {
  const paths = contents.map((content) => {
    const path = join(folder, `${files++}.json`);
    writeFileSync(path, content);
    return path;
  });
  const { problems, unusable, ...found } = readSnapshot(paths);
  const withoutPaths = (texts: string[]): string[] =>
    texts.map((problem) => paths.reduce((text, path) => text.replaceAll(path, 'FILE'), problem));
  return { ...found, problems: withoutPaths(problems), unusable: withoutPaths(unusable) };
}

const pod = (name: string, kind: string | undefined = 'Pod'): object => ({
  kind,
  metadata: { name, namespace: 'shop' },
  status: { podIP: '10.65.1.4' },
});
const json = JSON.stringify;
const names = ({ objects }: Snapshot): string[] =>
  [...objects.pods, ...objects.nodes, ...objects.services, ...objects.endpointSlices]
    .map(({ name }) => name)
    .concat(objects.namespaces);

test.each([
  {
    name: 'List of several kinds',
    content: json({
      kind: 'List',
      items: [
        pod('a'),
        { kind: 'Node', metadata: { name: 'n' } },
        pod('s', 'Service'),
        pod('e', 'EndpointSlice'),
        { kind: 'Namespace', metadata: { name: 'shop' } },
      ],
    }),
    expected: ['a', 'n', 's', 'e', 'shop'],
  },
  {
    name: 'PodList, whose items do not repeat their kind',
    content: json({ kind: 'PodList', items: [{ metadata: { name: 'a', namespace: 'shop' } }] }),
    expected: ['a'],
  },
  { name: 'one object', content: json(pod('a')), expected: ['a'] },
  { name: 'pretty-printed', content: json(pod('a'), undefined, 4), expected: ['a'] },
  { name: 'one object a line', content: `${json(pod('a'))}\n${json(pod('b'))}\n`, expected: ['a', 'b'] },
  {
    name: 'lists on lines',
    content: `${json({ kind: 'PodList', items: [pod('a')] })}\r\n\r\n${json({ kind: 'NodeList', items: [{ metadata: { name: 'n' } }] })}`,
    expected: ['a', 'n'],
  },
  { name: 'a byte order mark', content: `\uFEFF${json(pod('a'))}`, expected: ['a'] },
  {
    name: 'a byte order mark before lines',
    content: `\uFEFF${json(pod('a'))}\n${json(pod('b'))}`,
    expected: ['a', 'b'],
  },
  {
    name: 'other kinds do no harm',
    content: json({ kind: 'List', items: [pod('d', 'Deployment'), pod('a')] }),
    expected: ['a'],
  },
])('a saved list is read in the shape of: $name', ({ content, expected }) => {
  const snapshot = read(content);
  expect(snapshot).toMatchObject({ problems: [], unusable: [] });
  expect(names(snapshot)).toEqual(expected);
});

test('a saved list is read in the shape of: several files add up', () => {
  expect(names(read(json(pod('a')), json(pod('b'))))).toEqual(['a', 'b']);
});

test.each([
  {
    name: 'a Pod without a name',
    content: json({ kind: 'List', items: [pod('a'), { kind: 'Pod', metadata: {} }] }),
    problems: [expect.stringMatching(/^FILE: items\[1\]: .*\bmetadata\.name$/)],
    kept: ['a'],
  },
  {
    name: 'a bad object on a line',
    content: `${json(pod('a'))}\n${json({ kind: 'Node' })}`,
    problems: [expect.stringMatching(/^FILE: line 2: .*\bmetadata\.name$/)],
    kept: ['a'],
  },
  {
    name: 'no object that can be used, in the right file',
    content: json({ kind: 'Pod', metadata: {} }),
    problems: [expect.stringMatching(/^FILE: .*\bmetadata\.name$/)],
    kept: [],
  },
  {
    name: 'an empty list beside another',
    content: `${json({ kind: 'NodeList', items: [] })}\n${json({ kind: 'PodList', items: [pod('a')] })}`,
    problems: [expect.stringMatching(/^FILE: line 1: /)],
    kept: ['a'],
  },
])('a saved list with a problem: $name', ({ content, problems, kept }) => {
  const snapshot = read(content);
  expect(snapshot).toMatchObject({ problems, unusable: [] });
  expect(names(snapshot)).toEqual(kept);
});

test.each([
  ['a bad line', `${json(pod('a'))}\noops\n${json(pod('b'))}`, 'line 2'],
  ['a bad line after a blank one', `${json(pod('a'))}\n\noops\n`, 'line 3'],
  ['an empty list', json({ kind: 'List', items: [] }), ''],
  ['other JSON', '{"pods": 5}', ''],
  ['lines of other JSON, of which one is enough', '{"MESSAGE":"x"}\n{"MESSAGE":"y"}\n', 'line 1'],
  ['null', 'null', ''],
  ['other kinds', json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap')] }), 'Secret, ConfigMap'],
  ['what an API server answers when it refuses', json({ kind: 'Status', reason: 'Forbidden' }), 'Status'],
  ['an empty file', '', ''],
  ['YAML', 'apiVersion: v1\nkind: Pod\n', '-o json'],
  ['the table', 'NAMESPACE   NAME   READY\nshop   web-0   1/1\n', '-o json'],
  ['JSON that is cut', '{\n  "kind": "List",\n  "items": [', 'line 3, column 13'],
  ['JSON that is cut within a text', '{\n  "kind": "Li', ''],
  ['a missing comma', '{\n  "kind": "Pod"\n  "spec": {}\n}', 'line 3, column 3'],
])('a file that is not what it should be: %s', (_, content, part) => {
  const { problems, unusable } = read(content);
  expect({ problems, unusable }).toEqual({ problems: [], unusable: [expect.stringMatching(/^FILE: .+$/)] });
  expect(unusable[0]).toContain(part);
});

test('Nodes alone are objects that can be used', () => {
  expect(read(json({ kind: 'NodeList', items: [{ metadata: { name: 'n' } }] }))).toMatchObject({ unusable: [] });
});

test('an object without a namespace is named', () => {
  const { problems } = read(json({ kind: 'List', items: [pod('a'), { kind: 'Service', metadata: { name: 'api' } }] }));
  expect(problems).toEqual([expect.stringMatching(/^FILE: items\[1\]: .*\bService\b.*\bapi\b.*\bmetadata\.namespace/)]);
  expect(problems[0]).not.toContain('that api has');
});

test('a file that is not there does not keep the others from being read', () => {
  const path = join(folder, 'there.json');
  writeFileSync(path, json(pod('a')));
  const missing = join(folder, 'missing.json');
  const snapshot = readSnapshot([missing, folder, path]);
  expect(subjectsOf(snapshot.unusable)).toEqual([missing, folder]);
  expect(names(snapshot)).toEqual(['a']);
});

const felix = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name }, spec });

test('FelixConfiguration is known for each node, its own over the common one', () => {
  const snapshot = read(felix('default', { bpfEnabled: true }), felix('node.node-b', { bpfEnabled: false }));
  expect(snapshot.problems).toEqual([]);
  expect(felixOf(snapshot, 'node-a')).toMatchObject({ settings: { bpfEnabled: true, bpfFrom: 'default' } });
  expect(felixOf(snapshot, 'node-b')).toMatchObject({ settings: { bpfEnabled: false, bpfFrom: 'node.node-b' } });
});

test('a FelixConfiguration that was not saved is not known', () => {
  expect(felixOf(read(JSON.stringify(pod('a'))), 'node-a')).toBeUndefined();
});
