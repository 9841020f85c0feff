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
  [
    'List of several kinds',
    json({
      kind: 'List',
      items: [
        pod('a'),
        { kind: 'Node', metadata: { name: 'n' } },
        pod('s', 'Service'),
        pod('e', 'EndpointSlice'),
        { kind: 'Namespace', metadata: { name: 'shop' } },
      ],
    }),
    ['a', 'n', 's', 'e', 'shop'],
  ],
  [
    'PodList, whose items do not repeat their kind',
    json({ kind: 'PodList', items: [{ metadata: { name: 'a', namespace: 'shop' } }] }),
    ['a'],
  ],
  ['one object', json(pod('a')), ['a']],
  ['pretty-printed', json(pod('a'), undefined, 4), ['a']],
  ['one object a line', `${json(pod('a'))}\n${json(pod('b'))}\n`, ['a', 'b']],
  [
    'lists on lines',
    `${json({ kind: 'PodList', items: [pod('a')] })}\r\n\r\n${json({ kind: 'NodeList', items: [{ metadata: { name: 'n' } }] })}`,
    ['a', 'n'],
  ],
  ['a byte order mark', `\uFEFF${json(pod('a'))}`, ['a']],
  ['a byte order mark before lines', `\uFEFF${json(pod('a'))}\n${json(pod('b'))}`, ['a', 'b']],
  ['other kinds do no harm', json({ kind: 'List', items: [pod('d', 'Deployment'), pod('a')] }), ['a']],
])('a saved list is read in the shape of: %s', (_, content, expected) => {
  const snapshot = read(content);
  expect(snapshot).toMatchObject({ problems: [], unusable: [] });
  expect(names(snapshot)).toEqual(expected);
});

test('a saved list is read in the shape of: several files add up', () => {
  expect(names(read(json(pod('a')), json(pod('b'))))).toEqual(['a', 'b']);
});

test.each([
  ['a list with a Pod without a name', json({ kind: 'List', items: [pod('a'), { kind: 'Pod', metadata: {} }] })],
  ['a bad object on a line', `${json(pod('a'))}\n${json({ kind: 'Node' })}`],
  ['an empty list beside another', `${json({ kind: 'NodeList', items: [] })}\n${json(pod('a'))}`],
])('what is right in %s is kept, and one problem is named', (_, content) => {
  const snapshot = read(content);
  expect(snapshot).toMatchObject({ problems: [expect.stringMatching(/^FILE: /)], unusable: [] });
  expect(names(snapshot)).toEqual(['a']);
});

test('an object that cannot be used makes no other file of it', () => {
  expect(read(json({ kind: 'Pod', metadata: {} }))).toMatchObject({ problems: [expect.any(String)], unusable: [] });
});

test('Nodes alone are objects that can be used', () => {
  expect(read(json({ kind: 'NodeList', items: [{ metadata: { name: 'n' } }] }))).toMatchObject({ unusable: [] });
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
