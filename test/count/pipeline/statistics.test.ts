import { expect, test } from 'vitest';
import { createStatistics, type Statistics } from '../../../src/count/pipeline/statistics.ts';
import type { Unparsable } from '../../../src/base/model/observation.ts';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import { ends, externalEnd, line, observation, podEnd } from '../../builders.ts';

const bad = (reason: string): Unparsable => ({ kind: 'unparsable', format: 'netfilter', reason });

test('observed counts each kind', () => {
  const statistics = createStatistics();
  const seen: Parameters<Statistics['observed']>[1][] = [
    observation({ repeat: 3 }),
    observation({ verdict: 'rejected' }),
    observation({ verdict: 'accepted' }),
    observation({ verdict: 'logged', prefix: 'calico-packet' }),
    observation({ verdict: 'logged', prefix: 'calico-packet' }),
    { kind: 'conntrack-full', netns: undefined },
    { kind: 'neighbour-overflow', family: 'IPv4' },
    { kind: 'martian', impossible: 'source', source: '10.0.0.1', destination: '10.0.0.2', device: 'eth0' },
    { kind: 'suppressed', by: 'net_ratelimit', count: 40, affects: 'kernel-warnings' },
    { kind: 'suppressed', by: 'journald', count: undefined, affects: 'everything' },
  ];
  for (const each of seen) statistics.observed(line(), each);
  expect(statistics).toMatchObject({
    // A martian also counts as a drop.
    verdicts: { dropped: 4, rejected: 1, logged: 2, accepted: 1 },
    conntrackFull: 1,
    neighbourOverflow: 1,
    martian: 1,
    suppressed: 41,
    unparsable: 0,
  });
  expect([...statistics.loggedPrefixes]).toEqual([['calico-packet', 2]]);
});

test('observed: unparsable lines keep their reasons, each with the first place', () => {
  const statistics = createStatistics();
  statistics.observed(line({ line: 3 }), bad('no DST='));
  statistics.observed(line({ line: 5 }), bad('no DST='));
  statistics.observed(line({ line: 8 }), bad('no SRC='));
  expect(statistics.unparsable).toBe(3);
  expect([...statistics.unparsableReasons]).toEqual([
    ['netfilter: no DST=', { count: 2, place: 'kern.log:3' }],
    ['netfilter: no SRC=', { count: 1, place: 'kern.log:8' }],
  ]);
});

const stranger = externalEnd();
const nobody = externalEnd({ kind: 'unknown', address: '10.65.9.9' });

test.each<[string, Partial<Ends>, { withPods: number; unresolved?: string[] }]>([
  ['a Pod at its source', { source: podEnd(), destination: stranger }, { withPods: 3 }],
  ['a Pod at its destination', { source: stranger, destination: podEnd() }, { withPods: 3 }],
  [
    'more than one Pod that may have sent it',
    { source: { ...nobody, candidates: [podEnd()] } },
    { withPods: 3, unresolved: ['10.65.9.9'] },
  ],
  [
    'a Pod that sent what its error shows',
    { source: stranger, inner: { source: podEnd(), destination: stranger } },
    { withPods: 3 },
  ],
  [
    'an address without an owner at each end',
    { source: nobody, destination: { ...nobody, address: '10.65.9.8' } },
    { withPods: 0, unresolved: ['10.65.9.9', '10.65.9.8'] },
  ],
  ['a name where an address should be', { source: { ...nobody, address: 'shop/web-*' } }, { withPods: 0 }],
])('a lost packet with %s', (_, given, { withPods, unresolved = [] }) => {
  const lost: number[] = [];
  const statistics = createStatistics((_ends, weight) => void lost.push(weight));
  statistics.resolved(ends({ source: stranger, destination: stranger, ...given }), false, 3, 2);
  expect([statistics.withPods, statistics.withoutPods, lost]).toEqual([withPods, 3 - withPods, [3]]);
  expect([...statistics.unresolved]).toEqual(unresolved.map((address) => [address, 2]));
});

test('noise counts neither as with nor as without Pods', () => {
  const lost: number[] = [];
  const statistics = createStatistics((_ends, weight) => void lost.push(weight));
  statistics.resolved(ends(), true, 3);
  expect([statistics.noise, statistics.withPods, statistics.withoutPods, lost]).toEqual([3, 0, 0, []]);
});

test('a hostile log does not fill the memory', () => {
  const statistics = createStatistics();
  for (let value = 0; value < 1000; value++) {
    statistics.observed(line(), { kind: 'unparsable', format: 'netfilter', reason: `${value}` });
    statistics.observed(line(), observation({ verdict: 'logged', prefix: `${value}` }));
  }
  statistics.observed(line(), { kind: 'unparsable', format: 'netfilter', reason: '0' });
  expect(statistics.unparsableReasons.size).toBe(256);
  expect(statistics.loggedPrefixes.size).toBe(256);
  expect(statistics.unparsable).toBe(1001);
  expect(statistics.unparsableReasons.get('netfilter: 0')?.count).toBe(2);
});
