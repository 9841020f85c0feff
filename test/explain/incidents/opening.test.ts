import { expect, test } from 'vitest';
import type { TrackerState } from '../../../src/explain/incidents/tracker/tracker.ts';
import { failure, play, scriptsIn, start, sync } from './scripts.ts';

test.each(scriptsIn('opening.txt'))('an incident opens, or not yet: %s', (_, script, changes) => {
  expect(play(script)).toEqual(changes);
});

test('the retry interval is the one that kube-proxy logs', () => {
  const { heard, tracker } = start();
  tracker.take(failure(), 0, undefined);
  tracker.take(sync('sync-failed', 'IPv4', { retry: 600_000 }), 1, undefined);
  tracker.take(failure(), 1_200_000, undefined);
  tracker.take(sync('sync-failed'), 1_200_001, undefined);
  expect(heard).toEqual(['opened KN102 2']);
});

test('a flap is forgotten after 15 minutes and counted', () => {
  const started = start();
  play('0 KN102\n 899.9 tick', started);
  expect(started.tracker.incidents).toHaveLength(1);
  expect(started.tracker.nextTick).toBe(900_000);
  expect(started.tracker.unrepeated).toEqual({ KN102: 1 });
  play('900 tick', started);
  expect(started.tracker.incidents).toEqual([]);
  expect(started.tracker.nextTick).toBe(Infinity);
  expect(started.tracker.counts).toMatchObject({ failures: { KN102: 1 }, flaps: { KN102: 1 }, opened: {} });
  expect(started.tracker.unrepeated).toEqual({ KN102: 1 });
});

test('old flaps do not count towards opening', () => {
  const started = start();
  play('0 KN102\n 800 KN102\n 1600 KN102\n 2400 KN102\n 2401 KN102\n 2430 KN102', started);
  const [incident] = started.tracker.incidents;
  expect(incident).toMatchObject({ phase: 'open', first: 1_600_000, opened: 2_430_000, failures: 4 });
  expect(started.tracker.counts).toMatchObject({ flaps: { KN102: 2 }, failures: { KN102: 6 } });
  expect(started.tracker.unrepeated).toEqual({ KN102: 2 });
});

test('the oldest attempts are forgotten first, in any order of lines', () => {
  const started = start();
  play('2400 KN102\n 0 KN102\n 800 KN102\n 1600 KN102', started);
  expect(started.tracker.incidents).toMatchObject([{ phase: 'suspected', first: 800_000, failures: 3 }]);
});

test('a late line counts, and no time is negative', () => {
  const started = start();
  expect(play('100 KN102\n 60 KN102\n 20 KN102', started)).toEqual(['60 opened KN102 2', '20 continued KN102 1']);
  expect(started.tracker.incidents[0]).toMatchObject({ first: 20_000, last: 100_000, opened: 100_000 });
});

test('differing subjects and families are collected up to a limit', () => {
  const { tracker } = start();
  for (let i = 0; i < 1000; i++) tracker.take(failure({ subject: `chain-${i % 20}` }), i * 100, undefined);
  const [incident] = tracker.incidents;
  expect(incident?.subjects).toEqual(Array.from({ length: 16 }, (_, i) => `chain-${i}`));
  expect(incident?.moreSubjects).toBe(4);
  for (let i = 0; i < 10_000; i++) tracker.take(failure({ subject: `other-${i}` }), 200_000 + i, undefined);
  expect(incident?.moreSubjects).toBe(240);
  expect(JSON.stringify(tracker.state()).length).toBeLessThan(5000);
});

test('the quote of an open incident stays', () => {
  const { tracker } = start();
  for (let i = 0; i < 5; i++) tracker.take(failure({ quote: `line ${i}` }), i * 10_000, undefined);
  expect(tracker.incidents[0]).toMatchObject({ quote: 'line 1', failures: 5 });
});

test('an uncertain incident begins with its first failure, however many attempts there are', () => {
  const { tracker } = start();
  tracker.take(failure({ code: 'KN104' }), 0, undefined);
  tracker.take(sync('sync-failed'), 100, undefined);
  // Each attempt waits 5 s for the lock, those of IPv6 as well. The sync of IPv4 has not ended yet.
  for (const later of [15, 18, 21, 24]) tracker.take(failure({ code: 'KN104' }), later * 1000, undefined);
  tracker.take(sync('sync-failed'), 24_500, undefined);
  expect(tracker.incidents[0]).toMatchObject({ phase: 'open', first: 0, failures: 5 });
});

const first = failure({ subject: 'KUBE-SVC-UOLAULR5MHUYULMB' });
const other = failure({ subject: 'KUBE-SVC-3KK4EHREJABVV2YJ' });

test.each([
  ['and another one', [first, other], 6, ['opened KN102 2']],
  ['and the same again', [first, first], 6, ['opened KN102 2']],
  ['within 15 minutes', [first, other], 899.9, ['opened KN102 2']],
  ['after that', [first, other], 900, []],
  ['two of one attempt', [first, other], 1.9, []],
  ['a shared one', [failure({ code: 'KN103', subject: 'KUBE-SERVICES' })], 6, ['opened KN103 2']],
  ['a failure that needs no other program', [failure({ code: 'KN107', subject: 'KUBE-SERVICES' })], 6, []],
  ['one that nothing names', [failure()], 6, []],
])('an incident opens whatever succeeds in between: %s', (_, [before = first, after = before], seconds, changes) => {
  const { heard, tracker } = start();
  tracker.take(before, 0, undefined);
  tracker.take(sync('sync-failed'), 1, undefined);
  tracker.take(sync('sync-complete'), 2, undefined);
  tracker.take(sync('sync-complete'), 1500, undefined);
  tracker.take(after, seconds * 1000, undefined);
  tracker.take(sync('sync-failed'), seconds * 1000 + 1, undefined);
  tracker.take(sync('sync-complete'), seconds * 1000 + 2, undefined);
  tracker.take(sync('sync-complete'), seconds * 1000 + 3000, undefined);
  expect(heard).toEqual(changes);
});

test('an incident opens even if a release logs no failed syncs', () => {
  const { heard, tracker } = start();
  tracker.take(first, 0, undefined);
  tracker.take(sync('sync-complete'), 3000, undefined);
  tracker.take(other, 6000, undefined);
  tracker.take(sync('sync-complete'), 9000, undefined);
  expect(heard).toEqual(['opened KN102 2']);
  expect(tracker.incidents[0]).toMatchObject({ phase: 'open', subjects: [first.subject, other.subject] });
});

test('a chain that only another program can have deleted opens an incident before the end of that sync is logged', () => {
  const { heard, tracker } = start();
  tracker.take(first, 0, undefined);
  tracker.take(sync('sync-failed'), 1, undefined);
  tracker.take(sync('sync-complete'), 2, undefined);
  tracker.take(other, 6000, undefined);
  expect(heard).toEqual(['opened KN102 2']);
  expect(tracker.incidents[0]).toMatchObject({ opened: 6000, failures: 2 });
});

test('an incident opens with the state from before a restart', () => {
  const { tracker } = start();
  tracker.take(first, 0, undefined);
  const { heard, tracker: next } = start(JSON.parse(JSON.stringify(tracker.state())) as TrackerState);
  next.take(sync('sync-complete'), 3000, undefined);
  next.take(other, 6000, undefined);
  expect(heard).toEqual(['opened KN102 2']);
});

test('at the end of a log, an incident that waits for the end of its attempt opens, and nothing else changes', () => {
  const { heard, tracker } = start();
  play('0 attempt KN111\n 30 KN111\n 30.1 KN104', { heard, tracker });
  expect(heard).toEqual([]);
  tracker.endOfLog();
  expect(heard).toEqual(['opened KN111 2']);
  const { revision } = tracker;
  tracker.endOfLog();
  expect([tracker.revision, heard.length]).toEqual([revision, 1]);
});
