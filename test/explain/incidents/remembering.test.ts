import { expect, test } from 'vitest';
import type { TrackerState } from '../../../src/explain/incidents/tracker/tracker.ts';
import { failure, kubeProxy, ledTracker, play, start, type Started, sync } from './scripts.ts';

const throughDisk = (state: TrackerState): TrackerState => JSON.parse(JSON.stringify(state)) as TrackerState;

/** A tracker whose changes are not published. */
function startUnpublished(restored?: TrackerState): Started {
  const heard: string[] = [];
  return { heard, tracker: ledTracker(({ kind }) => void heard.push(kind), restored) };
}

test('unpublished changes are still unpublished after a restart, and are not reported again', () => {
  const before = startUnpublished();
  play('0 attempt KN102\n 30 attempt KN102\n 60 attempt KN102', before);
  const after = startUnpublished(throughDisk(before.tracker.state()));
  expect(play('61 tick', after)).toEqual([]);
  expect(after.tracker.incidents).toMatchObject([{ unpublished: 3, endUnpublished: false }]);
  play('62 complete', after);
  expect(after.tracker.incidents).toMatchObject([{ unpublished: 3, endUnpublished: true }]);
});

test('a published incident is the same after a restart', () => {
  const first = start();
  play('0 attempt KN102\n 30 attempt KN102\n 60 complete', first);
  const next = start(throughDisk(first.tracker.state()));
  expect(play('61 tick', next)).toEqual([]);
  expect(next.tracker.incidents).toEqual(first.tracker.incidents);
});

test('an unpublished end is forgotten when the failure returns', () => {
  const deaf = startUnpublished();
  play('0 attempt KN102\n 30 attempt KN102\n 60 complete\n 70 attempt KN102', deaf);
  expect(deaf.heard).toEqual(['opened', 'closed', 'opened']);
  expect(deaf.tracker.incidents[0]).toMatchObject({
    phase: 'open',
    unpublished: 3,
    endUnpublished: false,
    ended: undefined,
  });
});

test('the revision changes with the state, also on acknowledgement', () => {
  const { tracker } = startUnpublished();
  const seen = new Set([tracker.revision]);
  const isNew = () => {
    const { size } = seen;
    return seen.add(tracker.revision).size > size;
  };
  expect(isNew()).toBe(false);
  tracker.take(failure(), 0, kubeProxy);
  expect(isNew()).toBe(true);
  tracker.take(failure(), 30_000, kubeProxy);
  expect(isNew()).toBe(true);
  expect(isNew()).toBe(false);
  for (const incident of tracker.incidents) tracker.acknowledge(incident);
  expect(isNew()).toBe(true);
  tracker.tick(119_000);
  expect(isNew()).toBe(false);
  tracker.tick(120_000);
  expect(isNew()).toBe(true);
  for (const incident of tracker.incidents) tracker.acknowledge(incident);
  expect(isNew()).toBe(true);
  tracker.restarted({ failing: 'kube-proxy', lastWords: undefined }, undefined, 121_000);
  expect(isNew()).toBe(true);
  expect(isNew()).toBe(false);
});

test('the revision changes when a failed sync is followed by a complete one, even without an incident', () => {
  const { tracker } = start();
  tracker.take(sync('sync-failed'), 0, undefined);
  const before = tracker.revision;
  tracker.take(sync('sync-complete'), 1, undefined);
  expect(tracker.revision).not.toBe(before);
  const { revision } = tracker;
  tracker.take(sync('sync-complete'), 30_000, undefined);
  expect(tracker.revision).toBe(revision);
});

test('a state is a copy', () => {
  const { tracker } = start();
  tracker.take(failure(), 0, undefined);
  const state = tracker.state();
  const before = JSON.stringify(state);
  const next = start(state);
  next.tracker.take(failure(), 1000, undefined);
  tracker.take(failure(), 30_000, undefined);
  expect(JSON.stringify(state)).toBe(before);
});

test.each([
  ['null', null],
  ['a text', 'incidents'],
  ['an empty object', {}],
  ['a state with incidents of another shape', { incidents: [{ incident: {} }], syncs: {}, counts: {} }],
  ['a state with syncs of another shape', { incidents: [], syncs: [1], counts: {} }],
  ['a state with a text as a time', damaged((tracked) => (tracked['heard'] = 'yesterday'))],
  ['a state without attempts', damaged((tracked) => delete tracked['attempts'])],
])('%s is ignored', (_, state) => {
  const { tracker } = start(state as TrackerState);
  expect(tracker.incidents).toEqual([]);
  expect(() => tracker.take(sync('sync-complete'), 0, undefined)).not.toThrow();
  expect(tracker.counts.failures).toEqual({});
});

test('an incident with an unknown cause, as from a newer release, is left out', () => {
  const { tracker } = start();
  tracker.take(failure(), 0, undefined);
  const state = throughDisk(tracker.state());
  const [known] = state.incidents;
  if (known !== undefined) state.incidents.push({ ...known, incident: { ...known.incident, code: 'KN999' } });
  expect(start(state).tracker.incidents.map(({ code }) => code)).toEqual(['KN102']);
});

function damaged(damage: (tracked: Record<string, unknown>) => void): unknown {
  const { tracker } = start();
  tracker.take(failure(), 0, undefined);
  const state = throughDisk(tracker.state());
  damage(state.incidents[0] as unknown as Record<string, unknown>);
  return state;
}

test('an incident is kept while Pods still have to be notified', () => {
  const kept = new Set(['KN102 kube-proxy']);
  const tracker = ledTracker(({ incident }, published) => published.acknowledge(incident), undefined, kept);
  for (const time of [0, 30_000]) tracker.take(failure(), time, kubeProxy);
  tracker.tick(3_600_000);
  expect(tracker.incidents).toMatchObject([{ phase: 'over', unpublished: 0, endUnpublished: false }]);
  kept.clear();
  tracker.tick(3_600_000);
  expect(tracker.incidents).toEqual([]);
});

test('an unpublished incident is kept, and a tick does not change it', () => {
  const { tracker } = startUnpublished();
  for (const time of [0, 30_000]) tracker.take(failure(), time, kubeProxy);
  tracker.tick(3_600_000);
  const { revision } = tracker;
  tracker.tick(7_200_000);
  expect(tracker.revision).toBe(revision);
  expect(tracker.incidents).toMatchObject([{ phase: 'over', unpublished: 2, endUnpublished: true }]);
});
