/** The wording of problems with kubeconfigs and ways to look up a Pod. The other tests assert subjects and counts only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readKubeconfig } from '../../../src/agent/kubernetes/kubeconfig.ts';
import { refusalOfError } from '../../../src/agent/kubernetes/http.ts';
import { createCalicoBlockFinder } from '../../../src/agent/kubernetes/calico-block.ts';
import { nine } from '../../builders.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { fakeApi } from './pod-finders/fake-api.ts';

const within = temporaryFolder();

test.each([
  ['nowhere', undefined, 'cannot be used: no such file'],
  ['empty', '', 'cannot be used: expected a document, but the input is empty'],
  ['broken', 'not: [yaml', 'cannot be used: unexpected end of the stream within a flow collection (1:11)'],
  [
    'vacant',
    'apiVersion: v1\nkind: Config\n',
    'its current context names no cluster; choose one: kubectl config use-context NAME',
  ],
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
  await expect(finder.look()).resolves.toEqual({ usable: why.startsWith('1 '), why });
});

test.each<[string, object, string]>([
  [
    'the connection to 10.0.0.1:6443 was refused (ECONNREFUSED)',
    { code: 'ECONNREFUSED', address: '10.0.0.1', port: 6443 },
    'connect ECONNREFUSED 10.0.0.1:6443',
  ],
  ['no answer came in time', { name: 'TimeoutError' }, 'The operation was aborted due to timeout'],
  [
    "the server's certificate is not trusted: self-signed certificate in certificate chain",
    { code: 'SELF_SIGNED_CERT_IN_CHAIN' },
    'self-signed certificate in certificate chain',
  ],
  ['socket hang up', { code: 'ECONNRESET' }, 'socket hang up'],
])('a request that fails: %s', (message, fields, ofNode) => {
  expect(refusalOfError(Object.assign(new Error(ofNode), fields))).toMatchObject({ message });
});
