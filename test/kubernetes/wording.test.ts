/** The wording of problems with saved objects, kubeconfigs and ways to look up a Pod. The other tests assert subjects and counts only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { createCalicoBlockFinder } from '../../src/kubernetes/calico-block.ts';
import { readSnapshot } from '../../src/kubernetes/snapshot.ts';
import { nine } from '../builders.ts';
import { expectLines } from '../expected-file.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { fakeApi } from './pod-finders/fake-api.ts';

const within = temporaryFolder();
const json = JSON.stringify;
const pod = (name: string, kind = 'Pod'): object => ({ kind, metadata: { name, namespace: 'shop' } });

function read(content: string): { problems: string[]; unusable: string[] } {
  const file = within('objects.json');
  writeFileSync(file, content);
  const { problems, unusable } = readSnapshot([file]);
  const withoutPath = (text: string): string => text.replace(`${file}: `, '');
  return { problems: problems.map(withoutPath), unusable: unusable.map(withoutPath) };
}

test('what is said of a file that is not what it should be is as expected', async () => {
  const wrong = [
    ['a bad line', `${json(pod('a'))}\noops\n${json(pod('b'))}`],
    ['a bad line after a blank one', `${json(pod('a'))}\n\noops\n`],
    ['an empty list', json({ kind: 'List', items: [] })],
    ['other JSON', '{"pods": 5}'],
    ['lines of other JSON, of which one is enough', '{"MESSAGE":"x"}\n{"MESSAGE":"y"}\n'],
    ['null', 'null'],
    ['another kind', json({ kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop' }, data: {} })],
    ['other kinds', json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap'), pod('c', 'Secret')] })],
    ['what an API server answers when it refuses', json({ kind: 'Status', status: 'Failure', reason: 'Forbidden' })],
    ['an empty file', ''],
    ['YAML', 'apiVersion: v1\nkind: Pod\n'],
    ['the table', 'NAMESPACE   NAME   READY\nshop   web-0   1/1\n'],
    ['JSON that is cut', '{\n  "kind": "List",\n  "items": ['],
    ['JSON that is cut within a text', '{\n  "kind": "Li'],
    ['a missing comma', '{\n  "kind": "Pod"\n  "spec": {}\n}'],
  ] as const;
  const said = wrong.map(([title, content]) => {
    const { problems, unusable } = read(content);
    expect(problems).toEqual([]);
    return `${title}: ${unusable.join('; ')}`;
  });
  await expectLines(import.meta.dirname, 'saved-objects.expected.txt', said);
});

test('objects that cannot be used', () => {
  const items = [pod('a'), { kind: 'Pod', metadata: {} }, { kind: 'Service', metadata: { name: 'api' } }];
  expect(read(json({ kind: 'List', items }))).toEqual({
    problems: ['items[1]: the Pod has no metadata.name', 'items[2]: the Service api has no metadata.namespace'],
    unusable: [],
  });
  const lists = [{ kind: 'NodeList', items: [] }, { kind: 'Node' }, pod('a')];
  expect(read(lists.map((each) => json(each)).join('\n')).problems).toEqual([
    'line 1: the list is empty',
    'line 2: the Node has no metadata.name',
  ]);
});

test.each([
  ['nowhere', undefined, 'cannot be used: no such file'],
  ['empty', '', 'cannot be used: expected a document, but the input is empty'],
  ['broken', 'not: [yaml', 'cannot be used: unexpected end of the stream within a flow collection (1:11)'],
  ['vacant', 'apiVersion: v1\nkind: Config\n', 'its current context names no cluster'],
])('a kubeconfig: that is %s', (name, text, reason) => {
  if (text !== undefined) writeFileSync(within(name), text);
  expect(() => readKubeconfig(within(name))).toThrow(new Error(`${within(name)}: ${reason}`));
});

test('a kubeconfig: that is a folder', () => {
  mkdirSync(within('folder'));
  expect(() => readKubeconfig(within('folder'))).toThrow(`${within('folder')}: cannot be used: is a folder`);
});

const clock = { now: () => nine, fromWall: (stamp: number) => stamp };
const pools = '/apis/crd.projectcalico.org/v1/ippools';
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const [onePool, allowed, denied] = [
  { items: [{ spec: { cidr: '10.65.0.0/16' } }] },
  { status: { allowed: true } },
  { status: { allowed: false } },
];

test.each<[string, Record<string, unknown>]>([
  ['no IPPools of Calico', { [pools]: 404 }],
  ['may not list ippools: the component calico-lookups grants it, where this is Calico', { [pools]: 403 }],
  ['1 IPPools of Calico', { [pools]: onePool, [reviews]: allowed }],
  ['may not get ipamblocks and pods: the component calico-lookups grants it', { [pools]: onePool, [reviews]: denied }],
  ['IPPools could not be read: status 500', { [pools]: 500 }],
])('ways to look up a Pod: calico-block: %s', async (why, objects) => {
  const finder = createCalicoBlockFinder({ connection: fakeApi(objects), clock });
  await expect(finder.look()).resolves.toMatchObject({ why });
});
