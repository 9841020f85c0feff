/** The wording of problems with saved objects, kubeconfigs and ways to look up a Pod. The other tests assert subjects and counts only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { createCalicoBlockFinder } from '../../src/kubernetes/calico-block.ts';
import { readSnapshot } from '../../src/kubernetes/snapshot.ts';
import { nine } from '../builders.ts';
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
      'has ConfigMap, and none of Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy and FelixConfiguration',
    ],
    [
      'other kinds',
      json({ kind: 'List', items: [pod('a', 'Secret'), pod('b', 'ConfigMap'), pod('c', 'Secret')] }),
      'has Secret, ConfigMap, and none of Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy and FelixConfiguration',
    ],
    [
      'what an API server answers when it refuses',
      json({ kind: 'Status', status: 'Failure', reason: 'Forbidden' }),
      'has Status, and none of Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy and FelixConfiguration',
    ],
    [
      'an empty file',
      '',
      'line 1, column 1: is not JSON as `kubectl get … -o json` prints it: it is empty (Unexpected end of JSON input)',
    ],
    [
      'YAML',
      'apiVersion: v1\nkind: Pod\n',
      "is not JSON as `kubectl get … -o json` prints it: it looks like YAML, use -o json (Unexpected token 'a')",
    ],
    [
      'the table',
      'NAMESPACE   NAME   READY\nshop   web-0   1/1\n',
      "is not JSON as `kubectl get … -o json` prints it: it is the table kubectl prints, use -o json (Unexpected token 'N')",
    ],
    [
      'JSON that is cut',
      '{\n  "kind": "List",\n  "items": [',
      'line 3, column 13: is not JSON as `kubectl get … -o json` prints it: it is cut off (Unexpected end of JSON input)',
    ],
    [
      'a missing comma',
      '{\n  "kind": "Pod"\n  "spec": {}\n}',
      "line 3, column 3: is not JSON as `kubectl get … -o json` prints it (Expected ',' or '}' after property value)",
    ],
  ])('%s', (_, content, reason) => {
    expect(read(content)).toEqual({ problems: [], unusable: [reason] });
  });
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

describe('a kubeconfig', () => {
  test.each([
    ['nowhere', undefined, 'cannot be used: no such file'],
    ['empty', '', 'cannot be used: expected a document, but the input is empty'],
    ['broken', 'not: [yaml', 'cannot be used: unexpected end of the stream within a flow collection (1:11)'],
    ['vacant', 'apiVersion: v1\nkind: Config\n', 'its current context names no cluster'],
  ])('that is %s', (name, text, reason) => {
    if (text !== undefined) writeFileSync(within(name), text);
    expect(() => readKubeconfig(within(name))).toThrow(new Error(`${within(name)}: ${reason}`));
  });

  test('that is a folder', () => {
    mkdirSync(within('folder'));
    expect(() => readKubeconfig(within('folder'))).toThrow(`${within('folder')}: cannot be used: is a folder`);
  });
});

describe('ways to look up a Pod', () => {
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
    [
      'may not get ipamblocks and pods: the component calico-lookups grants it',
      { [pools]: onePool, [reviews]: denied },
    ],
    ['IPPools could not be read: status 500', { [pools]: 500 }],
  ])('calico-block: %s', async (why, objects) => {
    const finder = createCalicoBlockFinder({ connection: fakeApi(objects), clock });
    await expect(finder.look()).resolves.toMatchObject({ why });
  });
});
