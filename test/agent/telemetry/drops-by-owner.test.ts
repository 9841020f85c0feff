import { expect, test } from 'vitest';
import { createDropsByOwner } from '../../../src/agent/telemetry/drop-metrics.ts';
import type { FlowMeaning } from '../../../src/count/pipeline/meaning.ts';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import { ends, externalEnd, observation, podEnd, podRef, workerEnd } from '../../builders.ts';

const meaning = (found: Partial<Ends>, noise?: string): FlowMeaning => ({
  node: 'node-a',
  ends: ends(found),
  noise,
  findings: [],
  sides: undefined,
});

const to = (namespace: string, name: string) =>
  meaning({
    source: externalEnd(),
    destination: podEnd({ object: podRef(name, namespace), workload: { kind: 'Deployment', namespace, name } }),
  });

let time = 0;
const now = (): number => time;

const shown = (drops: ReturnType<typeof createDropsByOwner>) =>
  [...drops.cells()].map(({ labels, packets }) => `${Object.values(labels).join(' ')} ${packets}`);

test('a packet between two Pods counts for both, by workload and direction', () => {
  const drops = createDropsByOwner(now);
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

test('noise of the link and addresses without a Pod are not counted', () => {
  const drops = createDropsByOwner(now);
  drops.count(meaning({ source: externalEnd(), destination: podEnd() }, 'multicast'), observation(), 1);
  drops.count(meaning({ source: externalEnd(), destination: externalEnd() }), observation(), 1);
  expect(shown(drops)).toEqual([]);
});

test('past its limit, a namespace has one more series even if others took all room; past the limit of those, all share one', () => {
  const drops = createDropsByOwner(now, { total: 4, perNamespace: 2, namespaces: 2 });
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

test('workloads without drops for an hour make room for others', () => {
  const drops = createDropsByOwner(now, { total: 3, perNamespace: 2, namespaces: 2 });
  for (const name of ['job-1', 'web']) drops.count(to('shop', name), observation(), 1);
  time += 1_800_000;
  drops.count(to('shop', 'web'), observation(), 1);
  drops.count(to('shop', 'early'), observation(), 1);
  time += 1_800_000;
  for (const name of ['job-2', 'job-3', 'early']) drops.count(to('shop', name), observation(), 1);
  drops.count(to('batch', 'worker'), observation(), 1);
  expect(shown(drops)).toEqual([
    'shop web ingress dropped network-policy 2',
    'shop other ingress dropped network-policy 3',
    'shop job-2 ingress dropped network-policy 1',
    'batch worker ingress dropped network-policy 1',
  ]);
});
