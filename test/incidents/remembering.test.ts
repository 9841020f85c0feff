import { expect, test } from 'vitest';
import type { IncidentsState } from '../../src/incidents/tracker/state.ts';
import { createIncidentTable } from '../../src/incidents/tracker/table.ts';
import type { Course } from '../../src/incidents/tracker/rules.ts';
import { createListener, failure, kubeProxy, play, courseOf, start, sync } from './scripts.ts';

const throughDisk = (state: IncidentsState): IncidentsState => JSON.parse(JSON.stringify(state)) as IncidentsState;

/** Listens, and tells nothing. */
function startDeaf(restored?: IncidentsState) {
  const heard: string[] = [];
  const table = createIncidentTable({ restored, courseOf, onChange: ({ kind }) => void heard.push(kind) });
  return { heard, table };
}

test('what nobody was told of is offered again, once', () => {
  const deaf = startDeaf();
  play('0 attempt KN102\n 30 attempt KN102\n 60 attempt KN102', deaf);
  expect(deaf.table.incidents[0]).toMatchObject({ unpublished: 3 });
  const next = start(throughDisk(deaf.table.state()));
  expect(next.table.nextTick).toBe(0);
  expect(play('61 tick\n 62 tick', next)).toEqual(['61 opened KN102 3']);
  expect(next.table.nextTick).toBe(150_000);
});

test('also the end, before anything else', () => {
  const deaf = startDeaf();
  play('0 attempt KN102\n 30 attempt KN102\n 60 complete', deaf);
  const next = start(throughDisk(deaf.table.state()));
  expect(play('61 KN102', next)).toEqual(['61 opened KN102 2', '61 closed KN102 by success', '61 opened KN102 1']);
});

test('what was told is not', () => {
  const first = start();
  play('0 attempt KN102\n 30 attempt KN102\n 60 complete', first);
  const next = start(throughDisk(first.table.state()));
  expect(play('61 tick', next)).toEqual([]);
  expect(next.table.incidents).toEqual(first.table.incidents);
});

test('an end that was not told of was none when it fails again', () => {
  const deaf = startDeaf();
  play('0 attempt KN102\n 30 attempt KN102\n 60 complete\n 70 attempt KN102', deaf);
  expect(deaf.heard).toEqual(['opened', 'closed', 'opened']);
  expect(deaf.table.incidents[0]).toMatchObject({
    phase: 'open',
    unpublished: 3,
    endUnpublished: false,
    ended: undefined,
  });
});

test('the revision changes with the state, also when a listener has told', () => {
  const { table } = startDeaf();
  const seen = new Set([table.revision]);
  const isNew = () => {
    const { size } = seen;
    return seen.add(table.revision).size > size;
  };
  expect(isNew()).toBe(false);
  table.take(failure(), 0, kubeProxy);
  expect(isNew()).toBe(true);
  table.take(failure(), 30_000, kubeProxy);
  expect(isNew()).toBe(true);
  expect(isNew()).toBe(false);
  for (const incident of table.incidents) incident.unpublished = 0;
  expect(isNew()).toBe(true);
  table.tick(119_000);
  expect(isNew()).toBe(false);
  table.tick(120_000);
  expect(isNew()).toBe(true);
  for (const incident of table.incidents) incident.endUnpublished = false;
  expect(isNew()).toBe(true);
  table.restarted('kube-proxy', undefined, 121_000, undefined);
  expect(isNew()).toBe(true);
  expect(isNew()).toBe(false);
});

test('the revision changes when what failed is complete, also where nothing is wrong', () => {
  const { table } = start();
  table.take(sync('sync-failed'), 0, undefined);
  const before = table.revision;
  table.take(sync('sync-complete'), 1, undefined);
  expect(table.revision).not.toBe(before);
  const { revision } = table;
  table.take(sync('sync-complete'), 30_000, undefined);
  expect(table.revision).toBe(revision);
});

test('a state is a copy', () => {
  const { table } = start();
  table.take(failure(), 0, undefined);
  const state = table.state();
  const before = JSON.stringify(state);
  const next = start(state);
  next.table.take(failure(), 1000, undefined);
  table.take(failure(), 30_000, undefined);
  expect(JSON.stringify(state)).toBe(before);
});

test.each([
  ['null', null],
  ['a text', 'incidents'],
  ['nothing of it', {}],
  ['incidents that are none', { incidents: [{ incident: {} }], syncs: {}, counts: {} }],
  ['syncs of another shape', { incidents: [], syncs: [1], counts: {} }],
  ['a time that is none', damaged((tracked) => (tracked['heard'] = 'yesterday'))],
  ['no attempts', damaged((tracked) => delete tracked['attempts'])],
])('%s is no state', (_, state) => {
  const { table } = start(state as IncidentsState);
  expect(table.incidents).toEqual([]);
  expect(() => table.take(sync('sync-complete'), 0, undefined)).not.toThrow();
  expect(table.counts.failures).toEqual({});
});

test('a cause that only a newer release knows is left out', () => {
  const { table } = start();
  table.take(failure({ code: 'KN199' }), 0, undefined);
  table.take(failure(), 0, undefined);
  const { onChange } = createListener();
  const older = createIncidentTable({ restored: throughDisk(table.state()), courseOf: courseOfKnown, onChange });
  expect(older.incidents.map(({ code }) => code)).toEqual(['KN102']);
});

function courseOfKnown(code: string): Course {
  if (code === 'KN199') throw new Error(`no cause has the code ${code}`);
  return courseOf(code);
}

function damaged(damage: (tracked: Record<string, unknown>) => void): unknown {
  const { table } = start();
  table.take(failure(), 0, undefined);
  const state = throughDisk(table.state());
  damage(state.incidents[0] as unknown as Record<string, unknown>);
  return state;
}

test('what somebody is still to be told of is not forgotten', () => {
  let isNeeded = true;
  const { onChange } = createListener();
  const table = createIncidentTable({ courseOf, onChange, isNeeded: () => isNeeded });
  for (const time of [0, 30_000]) table.take(failure(), time, kubeProxy);
  table.tick(3_600_000);
  expect(table.incidents).toMatchObject([{ phase: 'over', unpublished: 0, endUnpublished: false }]);
  isNeeded = false;
  table.tick(3_600_000);
  expect(table.incidents).toEqual([]);
});

test('nor what nobody was told of, and it changes nothing to look at it', () => {
  const { table } = startDeaf();
  for (const time of [0, 30_000]) table.take(failure(), time, kubeProxy);
  table.tick(3_600_000);
  const { revision } = table;
  table.tick(7_200_000);
  expect(table.revision).toBe(revision);
  expect(table.incidents).toMatchObject([{ phase: 'over', unpublished: 2, endUnpublished: true }]);
});

test('a clock that is set back makes it due', () => {
  const { table } = start();
  for (const time of [0, 30_000]) table.take(failure(), 28_800_000 + time, kubeProxy);
  expect([table.wasAhead(28_800_000), table.wasAhead(60_000)]).toEqual([false, true]);
  table.tick(60_000);
  expect(table.wasAhead(60_000)).toBe(false);
  expect(table.incidents).toMatchObject([{ phase: 'open', first: 60_000, last: 60_000, opened: 60_000 }]);
});
