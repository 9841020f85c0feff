import { expect, test } from 'vitest';
import { createStatistics, type Statistics } from '../../src/pipeline/statistics.ts';
import type { Unparsable } from '../../src/model/observation.ts';
import { line, observation } from '../builders.ts';

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
    // A martian is a drop, too.
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
