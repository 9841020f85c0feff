import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { felixOf, readSnapshot, type Snapshot } from '../../src/kubernetes/snapshot.ts';

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

describe('shapes', () => {
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
  ])('$name', ({ content, expected }) => {
    const snapshot = read(content);
    expect(snapshot).toMatchObject({ problems: [], unusable: [] });
    expect(names(snapshot)).toEqual(expected);
  });

  test('several files add up', () => {
    expect(names(read(json(pod('a')), json(pod('b'))))).toEqual(['a', 'b']);
  });
});

describe('problems', () => {
  test.each([
    {
      name: 'a Pod without a name',
      content: json({ kind: 'List', items: [pod('a'), { kind: 'Pod', metadata: {} }] }),
      problems: ['FILE: items[1]: the Pod has no metadata.name'],
      kept: ['a'],
    },
    {
      name: 'a bad object on a line',
      content: `${json(pod('a'))}\n${json({ kind: 'Node' })}`,
      problems: ['FILE: line 2: the Node has no metadata.name'],
      kept: ['a'],
    },
    {
      name: 'no object that can be used, in the right file',
      content: json({ kind: 'Pod', metadata: {} }),
      problems: ['FILE: the Pod has no metadata.name'],
      kept: [],
    },
    {
      name: 'an empty list beside another',
      content: `${json({ kind: 'NodeList', items: [] })}\n${json({ kind: 'PodList', items: [pod('a')] })}`,
      problems: ['FILE: line 1: the list is empty'],
      kept: ['a'],
    },
  ])('$name', ({ content, problems, kept }) => {
    const snapshot = read(content);
    expect(snapshot).toMatchObject({ problems, unusable: [] });
    expect(names(snapshot)).toEqual(kept);
  });
});

describe('a file that is not what it should be', () => {
  test.each([
    ['a bad line', `${json(pod('a'))}\noops\n${json(pod('b'))}`, 'line 2 is not JSON'],
    ['a bad line after a blank one', `${json(pod('a'))}\n\noops\n`, 'line 3 is not JSON'],
    ['an empty list', json({ kind: 'List', items: [] }), 'the list is empty'],
    ['other JSON', '{"pods": 5}', 'is JSON, but no Kubernetes object or list (it has no `kind`)'],
    [
      'lines of other JSON, of which one is enough',
      '{"MESSAGE":"x"}\n{"MESSAGE":"y"}\n',
      'line 1: is JSON, but no Kubernetes object or list (it has no `kind`)',
    ],
    ['null', 'null', 'is JSON, but no Kubernetes object or list (it has no `kind`)'],
    [
      'another kind',
      json({ kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop' }, data: {} }),
      'has ConfigMap, and none of Pod, Node, Service, EndpointSlice, Namespace and FelixConfiguration',
    ],
    [
      'other kinds',
      json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap'), pod('c', 'Secret')] }),
      'has Secret, ConfigMap, and none of Pod, Node, Service, EndpointSlice, Namespace and FelixConfiguration',
    ],
    [
      'what an API server answers when it refuses',
      json({ kind: 'Status', status: 'Failure', reason: 'Forbidden' }),
      'has Status, and none of Pod, Node, Service, EndpointSlice, Namespace and FelixConfiguration',
    ],
  ])('%s', (_, content, reason) => {
    const { problems, unusable } = read(content);
    expect({ problems, unusable: unusable.map((each) => each.replace(/^FILE: /, '')) }).toEqual({
      problems: [],
      unusable: [reason],
    });
  });

  test('Nodes alone are objects that can be used', () => {
    expect(read(json({ kind: 'NodeList', items: [{ metadata: { name: 'n' } }] }))).toMatchObject({ unusable: [] });
  });

  test.each([
    ['an empty file', '', ': it is empty'],
    ['YAML', 'apiVersion: v1\nkind: Pod\n', ': it looks like YAML, use -o json'],
    ['the table', 'NAMESPACE   NAME   READY\nshop   web-0   1/1\n', ': it is the table kubectl prints, use -o json'],
    ['cut JSON', '{\n  "kind": "List",\n  "items": [', 'FILE: line 3, column 13: '],
    ['JSON that is cut', '{\n  "kind": "List",\n  "items": [', ': it is cut off'],
    ['JSON that is cut within a text', '{\n  "kind": "Li', ': it is cut off'],
    ['a missing comma', '{\n  "kind": "Pod"\n  "spec": {}\n}', 'FILE: line 3, column 3: '],
  ])('%s', (_, content, expected) => {
    const { unusable } = read(content);
    expect(unusable).toHaveLength(1);
    expect(unusable[0]).toContain(expected);
    expect(unusable[0]).toContain('is not JSON as `kubectl get … -o json` prints it');
    expect(unusable[0]).not.toContain('\n');
  });

  test('an object without a namespace is named', () => {
    const { problems } = read(
      json({ kind: 'List', items: [pod('a'), { kind: 'Service', metadata: { name: 'api' } }] }),
    );
    expect(problems).toEqual([
      expect.stringMatching(/^FILE: items\[1\]: .*\bService\b.*\bapi\b.*no metadata\.namespace/),
    ]);
    expect(problems[0]).not.toContain('that api has');
  });

  test('a file that is not there does not keep the others from being read', () => {
    const path = join(folder, 'there.json');
    writeFileSync(path, json(pod('a')));
    const missing = join(folder, 'missing.json');
    const snapshot = readSnapshot([missing, folder, path]);
    expect(snapshot.unusable).toEqual([`${missing}: no such file`, `${folder}: is a folder; name the files in it`]);
    expect(names(snapshot)).toEqual(['a']);
  });
});

const felix = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name }, spec });

describe('FelixConfiguration', () => {
  test('is known for each node, its own over the common one', () => {
    const snapshot = read(felix('default', { bpfEnabled: true }), felix('node.node-b', { bpfEnabled: false }));
    expect(snapshot.problems).toEqual([]);
    expect(felixOf(snapshot, 'node-a')).toMatchObject({ settings: { bpfEnabled: true, bpfFrom: 'default' } });
    expect(felixOf(snapshot, 'node-b')).toMatchObject({ settings: { bpfEnabled: false, bpfFrom: 'node.node-b' } });
  });

  test('that was not saved is not known', () => {
    expect(felixOf(read(JSON.stringify(pod('a'))), 'node-a')).toBeUndefined();
  });
});
