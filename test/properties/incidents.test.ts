import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Incident, IncidentChange } from '../../src/explain/incidents/incident.ts';
import type { TrackerState } from '../../src/explain/incidents/tracker/tracker.ts';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { Failing, Sign } from '../../src/base/model/program-record.ts';
import { failure, ledTracker, type LedTracker as Tracker, sync } from '../explain/incidents/scripts.ts';
import { referenceChanges } from './reference-incidents.ts';
import { forAll } from '../for-all.ts';

const runs = { numRuns: 500 };

/** One thing that happens, `wait` after the previous one. */
interface Step {
  wait: Millis;
  happens: Sign | 'restart' | 'tick';
}

const failings: Failing[] = ['kube-proxy', 'felix', 'bird', 'kernel'];
const codes = ['KN102', 'KN104', 'KN109', 'KN116', 'KN201', 'KN204', 'KN401'];
const family = fc.constantFrom('IPv4', 'IPv6', '');
/** Times at which the rules differ: within an attempt, one retry interval, two, a quiet period, and long after. */
const wait = fc.oneof(
  fc.integer({ min: 0, max: 2500 }),
  fc.constantFrom(2000, 2001, 30_000, 60_000, 60_001, 90_000, 900_000),
  fc.integer({ min: 0, max: 120_000 }),
  fc.integer({ min: 0, max: 1_200_000 }),
);
const failing = fc.constantFrom(...failings);
const sign: fc.Arbitrary<Sign> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ code: fc.constantFrom(...codes), failing, family, subject: fc.constantFrom('a', 'b', undefined) })
      .map(failure),
  },
  fc
    .record({ kind: fc.constantFrom('sync-failed' as const, 'sync-complete' as const), failing, family })
    .map((given) => sync(given.kind, given.family, { failing: given.failing })),
);
const inOrder: fc.Arbitrary<Step> = fc.record({
  wait,
  happens: fc.oneof({ weight: 8, arbitrary: sign }, fc.constantFrom('restart' as const, 'tick' as const)),
});
const disordered = fc.oneof(
  { weight: 4, arbitrary: inOrder },
  fc.record({ wait: fc.integer({ min: -300_000, max: 0 }), happens: sign }),
);

function step(tracker: Tracker, { happens }: Step, time: Millis): void {
  if (happens === 'tick') tracker.tick(time);
  else if (happens === 'restart') tracker.restarted({ failing: 'kube-proxy', lastWords: undefined }, undefined, time);
  else tracker.take(happens, time, undefined);
}

/** Hears of each change; returns whether it is published at once. */
type Listener = (change: IncidentChange) => boolean;

function trackerWith(listener: Listener, restored?: TrackerState): Tracker {
  return ledTracker((change, tracker) => {
    if (listener(change)) tracker.acknowledge(change.incident);
  }, restored);
}

/**
 * Takes the steps one after the other. `after` sees the tracker after each of them, and may return another one to
 * continue with.
 */
function run(
  steps: readonly Step[],
  listener: Listener,
  after: (tracker: Tracker, time: Millis, index: number) => Tracker = (tracker) => tracker,
): Tracker {
  let tracker = trackerWith(listener);
  let time = 1_800_000_000_000;
  for (const [i, next] of steps.entries()) {
    time += next.wait;
    step(tracker, next, time);
    tracker = after(tracker, time, i);
  }
  return tracker;
}

function textOf({ kind, incident }: IncidentChange): string {
  const { code, failing: program, unpublished, last, ended, endedBy, failures } = incident;
  return `${kind} ${code} ${program} ${unpublished} of ${failures} until ${last}, ${ended} ${endedBy}`;
}

function sum(of: Record<string, number>): number {
  return Object.values(of).reduce((a, b) => a + b, 0);
}

/** Publishes each change at once. */
function publishInto(published: string[]): Listener {
  return (change) => published.push(textOf(change)) > 0;
}

const throughDisk = (tracker: Tracker) => JSON.parse(JSON.stringify(tracker.state())) as TrackerState;

test('a single cause gives the result of a slow and simple reference', () => {
  forAll([fc.array(wait, { maxLength: 40 })], runs, (waits) => {
    let time = 0;
    const times = waits.map((each) => (time += each));
    const end = time + 4_000_000;
    const changes: string[] = [];
    let now = 0;
    const tracker = trackerWith(
      ({ kind, incident }) =>
        changes.push(kind === 'closed' ? `${now} closed` : `${now} ${kind} ${incident.unpublished}`) > 0,
    );
    const tickUntil = (until: Millis) => {
      while (tracker.nextTick <= until) tracker.tick((now = tracker.nextTick));
    };
    for (const at of times) {
      tickUntil(at);
      tracker.take(failure({ code: 'KN401', failing: 'kernel', family: '' }), (now = at), undefined);
    }
    tickUntil(end);
    expect(changes).toEqual(referenceChanges(times, 30_000, end));
  });
});

const anySteps = fc.array(disordered, { maxLength: 60 });

test('every failure of an incident is published once, at once or later', () => {
  forAll([anySteps, fc.func(fc.boolean())], runs, (all, isHeardAt) => {
    const published = new Map<Incident, number>();
    const bases = new Map<Incident, number>();
    const tracker = run(all, ({ incident }) => {
      if (!bases.has(incident)) bases.set(incident, incident.failures - incident.unpublished);
      const isPublished = isHeardAt(incident.failures);
      if (isPublished) published.set(incident, (published.get(incident) ?? 0) + incident.unpublished);
      return isPublished;
    });
    for (const incident of tracker.incidents) {
      if (incident.phase === 'suspected') expect(incident.unpublished).toBe(0);
      else {
        expect(bases.get(incident)).toBe(0);
        expect((published.get(incident) ?? 0) + incident.unpublished).toBe(incident.failures);
      }
    }
  });
});

test('each cause of a program exists once, opens and closes in turn, and has only possible times', () => {
  forAll([anySteps], runs, (all) => {
    const open = new Set<string>();
    run(
      all,
      ({ kind, incident }) => {
        const key = `${incident.code} ${incident.failing}`;
        expect(open.has(key)).toBe(kind !== 'opened');
        if (kind === 'closed') open.delete(key);
        else open.add(key);
        return false;
      },
      (tracker) => {
        const { incidents } = tracker;
        expect(new Set(incidents.map((each) => `${each.code} ${each.failing}`)).size).toBe(incidents.length);
        expect(incidents.filter(({ phase }) => phase === 'open')).toHaveLength(open.size);
        for (const { first, last, opened = first, ended, endedBy, phase, failures, restarts } of incidents) {
          expect(first).toBeLessThanOrEqual(Math.min(last, opened));
          expect(failures).toBeGreaterThan(0);
          expect(restarts).toBeLessThanOrEqual(failures);
          expect([ended === undefined, endedBy === undefined]).toEqual([phase !== 'over', phase !== 'over']);
          if (ended !== undefined) expect(ended).toBeGreaterThanOrEqual(last);
        }
        return tracker;
      },
    );
  });
});

test('all failures are counted, and as many incidents are opened as are closed or open', () => {
  forAll([anySteps], runs, (all) => {
    const { counts, incidents } = run(all, () => true);
    const failures = all.filter(({ happens }) => typeof happens === 'object' && happens.kind === 'failure');
    expect(sum(counts.failures)).toBeGreaterThanOrEqual(failures.length);
    expect(sum(counts.opened) - sum(counts.closed)).toBe(incidents.filter(({ phase }) => phase === 'open').length);
  });
});

test('a restart of the agent at any point changes no later result', () => {
  forAll([anySteps, fc.nat({ max: 60 })], runs, (all, at) => {
    const [whole, parted]: [string[], string[]] = [[], []];
    const one = run(all, publishInto(whole));
    const other = run(all, publishInto(parted), (tracker, _, i) =>
      i === at ? trackerWith(publishInto(parted), throughDisk(tracker)) : tracker,
    );
    expect(parted).toEqual(whole);
    expect(throughDisk(other)).toEqual(throughDisk(one));
  });
});

test('after a crash, unpublished changes are still unpublished, and no failure is published twice', () => {
  forAll([anySteps, fc.nat({ max: 60 })], runs, (all, at) => {
    const before = run(all.slice(0, at), () => false);
    const after = trackerWith(() => false, throughDisk(before));
    expect(after.incidents).toEqual(before.incidents);
    for (const { phase, unpublished, failures } of after.incidents)
      expect(unpublished).toBe(phase === 'suspected' ? 0 : failures);
  });
});

test('the revision changes whenever the state does', () => {
  forAll([anySteps, fc.func(fc.boolean())], runs, (all, isHeardAt) => {
    const states = new Map<number, string>();
    run(
      all,
      ({ incident }) => isHeardAt(incident.failures),
      (tracker) => {
        const state = JSON.stringify(tracker.state());
        const { revision } = tracker;
        expect(states.get(revision) ?? state).toBe(state);
        states.set(revision, state);
        return tracker;
      },
    );
  });
});

test('the number of ticks only affects how soon an end is known', () => {
  forAll([fc.array(inOrder, { maxLength: 60 }), fc.integer({ min: 10_000, max: 400_000 })], runs, (all, interval) => {
    expect(trace(all, interval)).toEqual(trace(all, Infinity));
  });
});

/** The changes of each cause if there is a tick every `interval` in addition to the steps that are signs. */
function trace(steps: readonly Step[], interval: Millis): unknown {
  const changes: Record<string, string[]> = {};
  const tracker = trackerWith(
    (change) => (changes[`${change.incident.code} ${change.incident.failing}`] ??= []).push(textOf(change)) > 0,
  );
  let time = 1_800_000_000_000;
  for (const next of steps) {
    for (let tick = time + interval; tick <= time + next.wait; tick += interval) tracker.tick(tick);
    time += next.wait;
    if (next.happens !== 'tick') step(tracker, next, time);
  }
  tracker.tick(time + 10_000_000);
  return { changes, counts: tracker.counts, left: tracker.incidents };
}

test('100,000 signs of any kind make few incidents', () => {
  const [first] = fc.sample(fc.array(disordered, { minLength: 1000, maxLength: 1000 }), { numRuns: 1, seed: 7 });
  const tracker = trackerWith(() => true);
  let time = 1_800_000_000_000;
  for (let i = 0; i < 100_000; i++) {
    const next = first?.[i % 1000] as Step;
    time += next.wait % 5000;
    const { happens } = next;
    if (typeof happens === 'object' && happens.kind === 'failure')
      tracker.take(
        { ...happens, family: `family ${i}`, subject: `${i} `.repeat(1000), quote: 'x'.repeat(5000) },
        time,
        undefined,
      );
    else step(tracker, next, time);
  }
  expect(tracker.incidents.length).toBeLessThanOrEqual(failings.length * codes.length + 1);
  expect(JSON.stringify(tracker.state()).length).toBeLessThan(10_000 * tracker.incidents.length);
});
