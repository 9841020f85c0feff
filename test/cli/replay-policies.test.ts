import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { replay as start, sample, subjectsIn } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, drop, json, policyDeny, recordsIn, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

/** The sample's cluster without its saved policies. */
const { items, ...list } = JSON.parse(readFileSync(cluster, 'utf8')) as { items: { kind: string }[] };
const others = items.filter(({ kind }) => kind !== 'NetworkPolicy');
let withoutPolicies: string;

// Written once, because tests that run at the same time read it.
beforeAll(() => {
  withoutPolicies = write('without-policies.json', JSON.stringify({ ...list, items: others }));
});

const policyNamed = (name: string, spec: object, apiVersion = 'networking.k8s.io/v1'): string =>
  JSON.stringify({ apiVersion, kind: 'NetworkPolicy', metadata: { name, namespace: 'shop' }, spec });
const admitsAll = policyNamed('open', { podSelector: {}, ingress: [{}] });

test('the annotation names the only policy that denies, and how it is known', async () => {
  const { out } = await replay([...json, sample('dns-denied.log')]);
  const annotations = recordsIn<CoreEvent>(out).map(({ metadata: { annotations: all }, involvedObject }) => ({
    namespace: involvedObject.namespace,
    policy: all?.['kube-netfilter-tailer/policy'],
    evidence: all?.['kube-netfilter-tailer/policy-evidence'],
  }));
  expect(annotations).toContainEqual({
    namespace: 'shop',
    policy: 'NetworkPolicy/shop/web-egress',
    evidence: 'evaluated',
  });
  // A policy of another Namespace is not named.
  for (const { policy, evidence } of annotations.filter(({ namespace }) => namespace !== 'shop'))
    expect([policy, evidence]).toStrictEqual([undefined, undefined]);
});

test('rows of --output audit have the verdict, the deciding policies, and the nearest rule', async () => {
  const { out } = await replay(['-q', '--pods', cluster, '-o', 'audit', sample('dns-denied.log')]);
  expect(recordsIn(out)).toContainEqual(
    expect.objectContaining({
      'source.k8s.namespace.name': 'shop',
      'policy.verdict': 'denied',
      'policy.verdict_evidence': 'evaluated',
      'policy.direction': 'egress',
      'policy.decided_by': 'NetworkPolicy shop/web-egress',
    }),
  );
  const { out: without } = await replay(['-q', '--pods', withoutPolicies, '-o', 'audit', sample('dns-denied.log')]);
  expect(without).not.toContain('policy.verdict');
});

test('policies and Pods on standard input are read together', async () => {
  const { out } = await start(['--pods', '-', '-q', '-o', 'json', policyDeny], { stdin: readFileSync(cluster) });
  expect(out).toContain('shop/postgres (and 1 more): ingress[0]');
});

test('an admission by policies is reported for a packet that one of their rules may have logged', async () => {
  const stdin = stamped.replace('calico-drop:', 'DROP by policy shop/open');
  const { out } = await replay([...json, '--policies', write('open.json', admitsAll), '-'], { stdin });
  expect(out).toContain('shop/open ingress[0]');
});

test.each<[string, string, boolean]>([
  ["is not reported of what a policy of Calico may have logged, where none of Calico's is saved", admitsAll, false],
  [
    'is reported of it where some are',
    `${admitsAll}\n---\n${policyNamed('default.other', { selector: "app == 'other'", types: ['Ingress'] }, 'crd.projectcalico.org/v1')}`,
    true,
  ],
])('an admission by policies %s', async (title, content, isShown) => {
  const args = ['--pods', withoutPolicies, '-q', '--policies', write(`${title.length}.yaml`, content), '-'];
  const { out: events } = await replay([...args, '-o', 'json'], { stdin: stamped });
  expect(events.includes('shop/open ingress[0]')).toBe(isShown);
  const { out: rows } = await replay([...args, '-o', 'audit'], { stdin: stamped });
  expect(rows.includes('"policy.verdict":"admitted"')).toBe(isShown);
});

test('files of --policies: are used with those of --pods to explain one line', async () => {
  const args = ['--pods', cluster, '--policies', write('own.json', policyNamed('own', { podSelector: {} }))];
  const { out } = await replay([...args, '--node', 'node-b', '--explain', drop]);
  // The sample has two policies of its own for this Pod.
  expect(out).toContain('shop/postgres (and 2 more): ingress[0]');
});

test('if two policies have one name, that of --policies counts', async () => {
  const content = policyNamed('postgres', {
    podSelector: { matchLabels: { app: 'postgres' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'shell' } } }] }],
  });
  const { out } = await replay([...json, '--policies', write('postgres.json', content), '-'], { stdin: stamped });
  expect(out).toContain('allows only Pods app=shell');
});

test('one of them may be standard input', async () => {
  const stdin =
    '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"own","namespace":"shop"},"spec":{"podSelector":{}}}';
  const { out } = await start([...json, '--policies', '-', policyDeny], { stdin });
  expect(out).toContain('shop/postgres (and 2 more): ingress[0]');
});

test.each<[string, string]>([
  ['that has no policy', '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'],
  ['that is cut', '{"kind":"List","items":['],
  ['of other objects', '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}'],
  ['that is empty', ''],
])('files of --policies: a file %s ends it before a log is read', async (title, content) => {
  const file = write(`${title.replaceAll(' ', '-')}.json`, content);
  const args = ['--pods', withoutPolicies, '-q', '-o', 'json', '--policies', file, policyDeny];
  const { status, out, err } = await replay(args);
  expect([status, out]).toStrictEqual([2, '']);
  expect(err).toContain(`--policies ${file}:`);
});

test('files of --policies: a missing file is reported', async () => {
  const { status, err } = await replay([...json, '--policies', path('none.yaml'), policyDeny]);
  expect([status, subjectsIn(err)[0]]).toStrictEqual([2, `--policies ${path('none.yaml')}`]);
});
