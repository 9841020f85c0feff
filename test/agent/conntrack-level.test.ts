import { expect, test } from 'vitest';
import { createConntrackLevel } from '../../src/agent/node-checks.ts';
import { causeOf, signOf } from '../../src/explain/incidents/catalogue/catalogue.ts';
import type { FailureSign } from '../../src/base/model/program-record.ts';
import { nine } from '../builders.ts';
import { ledTracker } from '../explain/incidents/scripts.ts';

const second = 1000;
const max = 1000;

/** Looks at a table that has these numbers of entries, one after the other; returns the resulting changes. */
async function after(counts: readonly (number | undefined)[], wasHigh = false) {
  let now = nine;
  let count: number | undefined;
  const changes: string[] = [];
  const tracker = ledTracker(
    ({ kind, incident }) => void changes.push(`${(now - nine) / second} ${kind} ${incident.code}`),
  );
  const level = createConntrackLevel({
    proc: { conntrack: () => Promise.resolve({ count, max }) },
    wasHigh,
    take: (observation, time) => tracker.take(signOf(observation) as FailureSign, time, undefined),
    now: () => now,
  });
  for (count of counts) {
    // Housekeeping also calls it every five seconds.
    for (const end = now + 30 * second; now < end; now += 5 * second) {
      await level.look();
      tracker.tick(now);
    }
  }
  return { changes: changes.filter((change) => !change.includes('continued')), level: level.level };
}

test.each<[string, number[], string[]]>([
  ['89 % for an hour is nothing', Array.from({ length: 120 }, () => 890), []],
  ['90 % once is no incident', [900, 500, 500, 500], []],
  ['90 % at two looks is one', [900, 900], ['30 opened KN404']],
  ['between 80 and 90 % it goes on', [950, 950, 810, 890, 800, 810, 890, 800], ['30 opened KN404']],
  ['below 80 % it is over after 90 s', [950, 950, 799, 799, 799, 799], ['30 opened KN404', '120 closed KN404']],
  [
    'a table that goes up and down is not a stream of incidents',
    Array.from({ length: 40 }, (_, look) => (look % 2 === 0 ? 950 : 700)),
    ['60 opened KN404'],
  ],
])('a connection tracking table: %s', async (_, counts, expected) => {
  expect((await after(counts)).changes).toEqual(expected);
});

test('a table that was nearly full before a restart counts as such until it is below 80 %', async () => {
  expect((await after([850, 850], true)).changes).toEqual(['30 opened KN404']);
  expect((await after([850, 850])).changes).toEqual([]);
});

test('the level is that of the last look', async () => {
  expect((await after([500, 600])).level).toEqual({ count: 600, max });
});

test("a table that cannot be read, as in a Pod without the host's /proc, is neither high nor known", async () => {
  expect(await after([undefined, undefined, undefined])).toEqual({ changes: [], level: undefined });
  expect((await after([950, undefined, undefined])).level).toBeUndefined();
});

test('KN404 is a warning: Pods are not notified', () => {
  expect(causeOf('KN404').severity).toBe('warning');
});
