import { expect, test } from 'vitest';
import { createDropsByOwner } from '../../src/telemetry/drop-metrics.ts';
import type { FlowMeaning } from '../../src/pipeline/meaning.ts';
import type { Ends } from '../../src/model/endpoint.ts';
import { ends, externalEnd, observation, podEnd, podRef, workerEnd } from '../builders.ts';

const meaning = (found: Partial<Ends>, noise?: string): FlowMeaning => ({
  node: 'node-a',
  ends: ends(found),
  noise,
  findings: [],
});

const to = (namespace: string, name: string) =>
  meaning({
    source: externalEnd(),
    destination: podEnd({ object: podRef(name, namespace), workload: { kind: 'Deployment', namespace, name } }),
  });

const shown = (drops: ReturnType<typeof createDropsByOwner>) =>
  [...drops.cells()].map(({ labels, packets }) => `${Object.values(labels).join(' ')} ${packets}`);

test('a packet between two Pods counts for both, by workload and direction', () => {
  const drops = createDropsByOwner();
  const flow = meaning({ source: workerEnd(1), destination: podEnd() });
  drops.count(flow, observation(), 2);
  drops.count(flow, observation(), 3);
  drops.count(meaning({ source: workerEnd(2), destination: podEnd() }), observation({ verdict: 'rejected' }), 1);
  expect(shown(drops)).toEqual([
    expect.stringMatching(/^shop .+ ingress dropped network-policy 5$/),
    'batch worker egress dropped network-policy 5',
    expect.stringMatching(/^shop .+ ingress rejected network-policy 1$/),
    'batch worker egress rejected network-policy 1',
  ]);
});

test('chatter of the link and addresses without a Pod count nowhere', () => {
  const drops = createDropsByOwner();
  drops.count(meaning({ source: externalEnd(), destination: podEnd() }, 'multicast'), observation(), 1);
  drops.count(meaning({ source: externalEnd(), destination: externalEnd() }), observation(), 1);
  expect(shown(drops)).toEqual([]);
});

test('past its limit a namespace has one more series, also where others took all room, and past the limit of those there is one for all', () => {
  const drops = createDropsByOwner({ total: 4, perNamespace: 2, namespaces: 2 });
  for (const name of ['a', 'b', 'c', 'd']) drops.count(to('greedy', name), observation(), 1);
  for (const name of ['a', 'b']) drops.count(to('shop', name), observation(), 1);
  for (const name of ['late', 'later']) drops.count(to(name, 'a'), observation(), 1);
  drops.count(to('late', 'b'), observation(), 1);
  drops.count(to('shop', 'a'), observation(), 1);
  expect(shown(drops)).toEqual([
    'greedy a ingress dropped network-policy 1',
    'greedy b ingress dropped network-policy 1',
    'greedy other ingress dropped network-policy 2',
    'shop a ingress dropped network-policy 2',
    'shop b ingress dropped network-policy 1',
    'late other ingress dropped network-policy 2',
    'other other ingress dropped network-policy 1',
  ]);
});
