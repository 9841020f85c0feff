import { describe, expect, test } from 'vitest';
import type { FlowRecord } from '../../src/audit/fields.ts';
import { expectLines } from '../expected-file.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { replay, sample, subjectsIn } from './program.ts';
import { cluster, drop, json, policyDeny, stamped, writerIn } from './scene.ts';

const policies = sample('network-policies.yaml');
const path = temporaryFolder();
const write = writerIn(path);

const messagesIn = (out: string): string[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { message: string; involvedObject: { namespace: string; name: string } })
    .map(({ message, involvedObject: { namespace, name } }) => `${namespace}/${name}: ${message}`);

test('Events of samples say what the saved policies say (npm run wording:update)', async () => {
  const lines: string[] = [];
  for (const name of ['policy-deny', 'dns-denied', 'reused-address', 'egress-denied']) {
    const { status, out } = await replay([...json, '--policies', policies, sample(`${name}.log`)]);
    expect(status).toBe(0);
    lines.push(name, ...new Set(messagesIn(out)));
  }
  await expectLines(import.meta.dirname, 'replay-policies.expected.txt', lines);
});

test('the annotation names the only policy that denies, and how that is known', async () => {
  const { out } = await replay([...json, '--policies', policies, sample('dns-denied.log')]);
  const annotations = out
    .split('\n')
    .filter((line) => line !== '')
    .map(
      (line) =>
        JSON.parse(line) as {
          metadata: { annotations: Record<string, string> };
          involvedObject: { namespace: string };
        },
    )
    .map(({ metadata, involvedObject }) => ({
      namespace: involvedObject.namespace,
      policy: metadata.annotations['kube-netfilter-tailer/policy'],
      evidence: metadata.annotations['kube-netfilter-tailer/policy-evidence'],
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

test('rows of --output audit have the verdict, the policies that decide, and the nearest rule', async () => {
  const { out } = await replay([
    '-q',
    '--pods',
    cluster,
    '-o',
    'audit',
    '--policies',
    policies,
    sample('dns-denied.log'),
  ]);
  const rows = out
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row) as FlowRecord);
  expect(rows).toContainEqual(
    expect.objectContaining({
      'source.k8s.namespace.name': 'shop',
      'policy.verdict': 'denied',
      'policy.verdict_evidence': 'evaluated',
      'policy.direction': 'egress',
      'policy.decided_by': 'NetworkPolicy shop/web-egress',
    }),
  );
  const { out: without } = await replay(['-q', '--pods', cluster, '-o', 'audit', sample('dns-denied.log')]);
  expect(without).not.toContain('policy.verdict');
});

describe.concurrent('files of --policies', () => {
  test('one line is explained with them', async () => {
    const { out } = await replay(['--pods', cluster, '--policies', policies, '--node', 'node-b', '--explain', drop]);
    expect(out).toContain('shop/postgres ingress[0]');
  });

  test('labels of --pods are known, as where all objects are in one file', async () => {
    const { out } = await replay([...json, '--policies', policies, '-'], { stdin: stamped });
    expect(out).toContain('has app=worker');
  });

  test('standard input can be one of them', async () => {
    const stdin =
      '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"own","namespace":"shop"},"spec":{"podSelector":{}}}';
    const { out } = await replay([...json, '--policies', '-', policyDeny], { stdin });
    expect(out).toContain('shop/own');
  });

  test.each<[string, string]>([
    ['that has no policy', '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'],
    ['that is cut', '{"kind":"List","items":['],
    ['of other objects', '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}'],
    ['that is empty', ''],
  ])('one %s ends it before a log is read', async (title, content) => {
    const file = write(`${title.replaceAll(' ', '-')}.json`, content);
    const { status, out, err } = await replay([...json, '--policies', file, policyDeny]);
    expect([status, out]).toStrictEqual([2, '']);
    expect(subjectsIn(err)[0]).toBe(`--policies ${file}`);
  });

  test('one that is missing', async () => {
    const { status, err } = await replay([...json, '--policies', path('none.yaml'), policyDeny]);
    expect([status, subjectsIn(err)[0]]).toStrictEqual([2, `--policies ${path('none.yaml')}`]);
  });
});
