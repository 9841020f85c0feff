import { expect, test } from 'vitest';
import { nodeRefByName } from '../../../src/base/model/endpoint.ts';
import { annotationsOf, removableAnnotations } from '../../../src/publish/events/event.ts';
import type { ScanDetails } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import {
  externalEnd,
  finding,
  flow,
  incident,
  nodeEnd,
  podEnd,
  podRef,
  series,
  serviceEnd,
  workerEnd,
} from '../../builders.ts';

/** Returns the annotations without the prefix that all keys have. */
function annotated(given: Partial<Series>): Record<string, string> {
  const entries = Object.entries(annotationsOf(series(given)));
  expect(entries.filter(([key]) => !key.startsWith('kube-netfilter-tailer/'))).toEqual([]);
  return Object.fromEntries(entries.map(([key, value]) => [key.split('/')[1], value]));
}

const values = (...seen: string[]) => ({ seen, past: 0 });
const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'default-deny', tier: undefined };

test('a drop between one Pod and an unknown peer has these annotations', () => {
  expect(annotated({ finding: finding({ details: flow({ protocol: 'TCP', port: 5432 }) }) })).toEqual({
    schema: '1',
    node: 'node-a',
    direction: 'receiving',
    verdict: 'dropped',
    protocol: 'TCP',
    port: '5432',
    peer: 'external/203.0.113.9',
  });
});

test('a workload is named with the number of its Pods', () => {
  const details = flow({ peer: workerEnd(1), direction: 'sending', verdict: 'rejected' });
  expect(annotated({ finding: finding({ details }), peers: values('worker-1', 'worker-2') })).toMatchObject({
    direction: 'sending',
    verdict: 'rejected',
    peer: 'Deployment/batch/worker',
    peers: '2',
  });
});

test.each([
  ['a Pod without a workload', podEnd({ object: podRef('db-0') }), 'Pod/shop/db-0'],
  ['a Service', serviceEnd(), 'Service/shop/api'],
  ['a Node', nodeEnd(), 'Node/node-a'],
  ['an address of nobody', externalEnd({ kind: 'unknown' }), 'unknown/203.0.113.9'],
])('annotations of a drop name a peer that is %s', (_, end, peer) => {
  expect(annotated({ finding: finding({ details: flow({ peer: end }) }) })).toMatchObject({ peer });
});

test('annotations of a drop name the policy that the log names', () => {
  expect(annotated({ finding: finding({ details: flow({ policy }) }) })).toMatchObject({
    policy: 'NetworkPolicy/shop/default-deny',
  });
});

test('annotations of a drop say that the policy was evaluated if the log names none', () => {
  const evidence = [undefined, policy].map((logged) => {
    const dropped = series({ finding: finding({ details: flow({ policy: logged }) }) });
    return annotationsOf(dropped, policy)['kube-netfilter-tailer/policy-evidence'];
  });
  expect(evidence).toEqual(['evaluated', undefined]);
});

test('annotations of a drop omit an unnamed policy, a missing port and an unknown node', () => {
  const details = flow({ protocol: 'ICMP', port: undefined, policy: undefined });
  const keys = Object.keys(annotated({ finding: finding({ details, node: '' }) }));
  expect(keys.filter((key) => /^(?:policy|port|node)/.test(key))).toEqual([]);
});

test.each([
  ['ICMP', flow({ protocol: 'ICMP', port: undefined, icmpType: 8, icmpCode: 0 }), { icmp: '8/0' }],
  ['an answer', flow({ reply: true }), { packet: 'reply' }],
  ['a Node', flow({ peer: nodeEnd() }), { 'peer-address': nodeEnd().address }],
])('annotations of a drop have the fields for a query about %s', (_, details, expected) => {
  expect(annotated({ finding: finding({ details }) })).toMatchObject(expected);
});

test('a martian has its code', () => {
  expect(annotated({ finding: finding({ details: flow({ martian: true }) }) })).toMatchObject({ code: 'KN403' });
});

const example = flow({ peer: externalEnd(), protocol: 'TCP', port: 22, policy });

test('an Event past the places of a Pod only has the numbers of peers and ports', () => {
  const given = { peers: values('a', 'b', 'c'), ports: values('22/TCP', '80/TCP') };
  expect(annotated({ finding: finding({ details: { kind: 'overflow', example } }), ...given })).toEqual({
    schema: '1',
    node: 'node-a',
    peers: '3',
    ports: '2',
    'port-list': '22/TCP,80/TCP',
  });
});

test('an Event of many ports of one peer has the peer, the direction and the number of ports', () => {
  const given = { peers: values('external/203.0.113.9'), ports: values('22/TCP', '80/TCP', '53/UDP') };
  expect(annotated({ finding: finding({ details: { kind: 'ports', example } }), ...given })).toEqual({
    schema: '1',
    node: 'node-a',
    direction: 'receiving',
    verdict: 'dropped',
    peer: 'external/203.0.113.9',
    ports: '3',
    'port-list': '22/TCP,80/TCP,53/UDP',
  });
});

const ofScan = (of: ScanDetails['of']): Record<string, string> =>
  annotated({ finding: finding({ details: { kind: 'scan', of, example } }), peers: values('shop/a', 'shop/b') });

test.each(['target', 'scanner'] as const)('a scan on the %s has no single peer, port, policy or verdict', (of) => {
  expect(ofScan(of)).toEqual({ schema: '1', node: 'node-a', direction: 'receiving', peers: '2', ports: '0' });
});

test('a scan on the Node has the scanning peer and the number of Pods tried', () => {
  expect(ofScan('stranger')).toMatchObject({ peer: 'external/203.0.113.9', peers: '2' });
});

test('an Event on the Node says that Events of Pods also count its packets', () => {
  const details = { kind: 'scan', of: 'stranger', example } as const;
  expect(annotated({ finding: finding({ regarding: nodeRefByName('node-a'), details }) })).toMatchObject({
    summary: 'true',
  });
  expect(annotated({ finding: incident() })).not.toHaveProperty('summary');
});

test('annotations of an incident have its code as in the message, and whether it is over', () => {
  expect(annotated({ finding: incident() })).toEqual({
    schema: '1',
    node: 'node-a',
    code: expect.stringMatching(/^KN\d{3}$/),
    phase: 'open',
  });
});

test('annotations contain no long, unprintable or markup text from outside', () => {
  const name = `<!channel> https://x\u202e\n${'é'.repeat(300)}`;
  const strange = { kind: undefined, namespace: undefined, name, tier: undefined };
  const { policy: value = '' } = annotated({ finding: finding({ details: flow({ policy: strange }) }) });
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(400);
  expect(value).toMatch(/^‹!channel> https\[:\]\/\/x\\u202e\\x0aé+…$/);
});

test('a later write removes only annotations that name a policy', () => {
  expect(removableAnnotations).toEqual(['kube-netfilter-tailer/policy', 'kube-netfilter-tailer/policy-evidence']);
});
