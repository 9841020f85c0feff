import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { parseSelector } from '../../../src/explain/policies/calico/selector.ts';
import {
  collectCalicoObjects,
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type PolicyFlow,
  sentenceOf,
  Unknown,
} from '../../../src/explain/policies/policies.ts';
import { nine } from '../../builders.ts';
import { expectLines, messageOf } from '../../expected-file.ts';
import { calico, evaluator, namespace, shortObjects } from './objects.ts';
import { connection, end, external, namespaces, rowsOf, worker } from './rows.ts';

test('messages about selectors of Calico that are refused are as expected', async () => {
  const refused = [
    ['a comparison with =', 'a = "b"'],
    ['text after the end', 'has(a) b'],
    ['a text without its end', 'a == "b'],
    ['a text that is missing', 'a == '],
    ['a label of 513 characters', 'x'.repeat(513)],
    ['a set that does not end', 'a in {"x" "y"}'],
    ['more parentheses than the stack holds', '('.repeat(100_000)],
  ] as const;
  await expectLines(
    import.meta.dirname,
    'selectors.expected.txt',
    refused.map(([title, text]) => `${title}: ${messageOf(() => parseSelector(text))}`),
  );
});

test('sentences for an Event are as expected', async () => {
  const lines = rowsOf(join(import.meta.dirname, 'sentences.txt')).map(([title, row]) => {
    const { max = 1024, ...changes } = row.given;
    const { trace } = evaluator(row.policies, [namespace('shop'), namespace('batch', { team: 'batch' })]);
    const text = sentenceOf(trace({ ...connection, ...changes }, 'ingress'), { max, node: 'node-b', at: nine });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
    return `${title}: ${text}`;
  });
  await expectLines(import.meta.dirname, 'sentences.expected.txt', lines);
});

const naming = (side: 'source' | 'destination', services: object): object =>
  calico('NetworkPolicy', { ingress: [{ action: 'Allow', [side]: { services } }] }, 'db', 'shop');

test('sentences about rules that name a Service are as expected', async () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: 'db-x', labels: { 'kubernetes.io/service-name': 'db' } },
    ports: [{ port: 80 }],
    endpoints: [{ addresses: ['10.65.1.4'] }],
  };
  const many = Array.from({ length: 5001 }, (_, index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] }));
  const rows: [title: string, objects: object[], unread?: boolean][] = [
    ['an endpoint on another port', [naming('destination', { name: 'db' }), slice]],
    ['a stranger', [naming('source', { name: 'db' }), slice]],
    ['endpoints that were not read', [naming('source', { name: 'db' })]],
    ['EndpointSlices that may not be listed', [naming('source', { name: 'db' })], true],
    ['too many endpoints', [naming('source', { name: 'db' }), { ...slice, endpoints: many }]],
    ['a name that no Service can have', [naming('source', { name: 'db/x' })]],
    ['a field that is not known', [naming('source', { name: 'db', port: 1 })]],
  ];
  const lines = rows.map(([title, objects, unread = false]) => {
    const others = collectCalicoObjects();
    for (const each of objects) others.add(each);
    if (unread) others.services.unread('shop');
    const policies = createPolicySet(
      objects.flatMap((each) => compilePolicy(each)),
      others.read(),
    );
    const { trace } = createEvaluator({ policies, namespaces: [namespace('shop')] });
    return `${title}: ${sentenceOf(trace(connection, 'ingress'), { max: 1024 })}`;
  });
  await expectLines(import.meta.dirname, 'services.expected.txt', lines);
});

const ends: [title: string, peer: PolicyFlow['source']][] = [
  ['a Pod', connection.source],
  ['a Pod whose address is not known', { kind: 'pod', pod: worker, address: undefined }],
  ['a Pod on the network of its Node', end({ ...worker, hostNetwork: true }, '192.168.7.12')],
  ['a Node', { kind: 'node', node: { name: 'node-b', labels: { zone: 'b' } }, address: '192.168.7.12' }],
  ['an address outside the cluster', external('192.0.2.7')],
  ['an IPv6 address', external('2001:db8::1')],
  ['an address that may be of anybody', { kind: 'unknown', address: '10.65.2.9' }],
];
const transports: [title: string, changes: Partial<PolicyFlow>][] = [
  ['a fragment', { port: undefined }],
  ['UDP', { protocol: 'UDP' }],
  ['ICMP', { protocol: 'ICMP', port: undefined }],
];
interface Wanting {
  api: string;
  direction: 'ingress' | 'egress';
  objects: object[];
}

const allEnds = ends.map(([title]) => title).join('; ');
const questions: [title: string, changes: Partial<PolicyFlow>, peer: PolicyFlow['source']][] = [
  ...ends.map(([title, peer]): [string, Partial<PolicyFlow>, PolicyFlow['source']] => [title, {}, peer]),
  ...transports.map(([title, changes]): [string, Partial<PolicyFlow>, PolicyFlow['source']] => [
    title,
    changes,
    connection.source,
  ]),
];

test('rules are described in the expected words at each kind of peer and in each kind of packet', async () => {
  const wanting = load(readFileSync(join(import.meta.dirname, 'clauses.yaml'), 'utf8')) as Wanting[];
  const lines = wanting.flatMap(({ api, direction, objects }) => {
    const { trace } = evaluator(objects.flatMap(shortObjects), namespaces);
    const found = new Map<string, Map<string, string[]>>();
    for (const [title, changes, peer] of questions) {
      const own = { ...connection.destination, ...(peer.address?.includes(':') === true && { address: 'fd00::4' }) };
      const asked = direction === 'ingress' ? { source: peer, destination: own } : { source: own, destination: peer };
      const rules = trace({ ...connection, ...changes, ...asked }, direction).policies.flatMap(
        (policy) => policy.rules,
      );
      for (const { path, wants, match, has } of rules.flatMap(({ groups }) => groups.flat())) {
        const answers = found.get(`${api} ${path}: ${wants}`) ?? new Map<string, string[]>();
        found.set(`${api} ${path}: ${wants}`, answers);
        const answer = `${match instanceof Unknown ? match.missing : match}${has === '' ? '' : `, ${has}`}`;
        answers.set(answer, [...(answers.get(answer) ?? []), title]);
      }
    }
    return [...found].map(([clause, answers]) =>
      [...answers].reduce(
        (text, [answer, titles]) => `${text}\n  ${answer} (${titles.join('; ').replace(allEnds, 'each peer')})`,
        clause,
      ),
    );
  });
  await expectLines(import.meta.dirname, 'clauses.expected.txt', lines);
});
