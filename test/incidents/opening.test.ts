import { describe, expect, test } from 'vitest';
import type { TrackerState } from '../../src/incidents/tracker/tracker.ts';
import { failure, play, start, sync } from './scripts.ts';

test.each([
  ['one failure is a flap', '0 KN102', []],
  ['a second within two retry intervals opens an incident', '0 KN102\n 60 KN102', ['60 opened KN102 2']],
  ['a second after that is another flap', '0 KN102\n 61 KN102', []],
  ['a third within 15 minutes opens an incident', '0 KN102\n 450 KN102\n 900 KN102', ['900 opened KN102 3']],
  ['a third after 15 minutes is a flap', '0 KN102\n 450 KN102\n 901 KN102', []],
  ['failures of two causes are two flaps', '0 KN102\n 30 KN104', []],
  ['failures of two families are one incident', '0 KN102 IPv4\n 30 KN102 IPv6', ['30 opened KN102 2']],
  ['lines of one attempt are no repeat', '0 KN102\n 0.1 KN102\n 0.2 KN102\n 1.9 KN102', []],
  ['lines of one attempt that come late are no repeat', '500 KN102\n 100 KN102\n 100.1 KN102\n 100.2 KN102', []],
  ['lines of one attempt are counted one by one', '0 KN102\n 0.1 KN102\n 0.2 KN102\n 30 KN102', ['30 opened KN102 4']],
  [
    'lines without a pause open an incident',
    '0 KN401\n 1 KN401\n 2 KN401\n 2.5 KN401\n 3 KN401',
    ['2.5 opened KN401 4', '3 continued KN401 1'],
  ],
  ['a success between two makes two flaps', '0 attempt KN102\n 30 complete\n 60 attempt KN102', []],
  [
    'successes between three failures do not make flaps',
    '0 attempt KN102\n 30 complete\n 60 attempt KN102\n 90 complete\n 120 attempt KN102',
    ['120 opened KN102 3'],
  ],
  [
    'the success of another family does not count',
    '0 attempt KN102\n 30 complete IPv6\n 31 attempt KN102',
    ['31 opened KN102 2'],
  ],
  ['a problem in a sync that succeeds is no repeat', '0 attempt KN111\n 30 KN111\n 30.1 complete\n 60 tick', []],
  [
    'a problem in a sync that succeeds is not one of three',
    '0 attempt KN111\n 30 KN111\n 30.1 complete\n 300 attempt KN111\n 330 KN111\n 330.1 complete\n 600 attempt KN111',
    ['600 opened KN111 3'],
  ],
  [
    'a problem is a repeat when no line says that the sync succeeded',
    '0 attempt KN111\n 30 KN111\n 39.9 tick\n 40 tick',
    ['40 opened KN111 2'],
  ],
  [
    'the failure of another family does not confirm a repeat',
    '0 attempt KN111\n 30 KN111\n 30.1 failed IPv6\n 30.2 complete IPv6\n 30.3 failed',
    ['30.3 opened KN111 2'],
  ],
  ['a sync that failed opens nothing', '0 failed\n 30 failed\n 60 failed\n 90 failed', []],
  ['a sync that failed does not make a flap an incident', '0 KN102\n 30 failed\n 70 KN102', []],
])('an incident opens, or not yet: %s', (_, script, changes) => {
  expect(play(script)).toEqual(changes);
});

test('the retry interval is what kube-proxy logs of its next attempt', () => {
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
  play('900 tick', started);
  expect(started.tracker.incidents).toEqual([]);
  expect(started.tracker.nextTick).toBe(Infinity);
  expect(started.tracker.counts).toMatchObject({ failures: { KN102: 1 }, flaps: { KN102: 1 }, opened: {} });
});

test('flaps of long ago are no part of what opens', () => {
  const started = start();
  play('0 KN102\n 800 KN102\n 1600 KN102\n 2400 KN102\n 2401 KN102\n 2430 KN102', started);
  const [incident] = started.tracker.incidents;
  expect(incident).toMatchObject({ phase: 'open', first: 1_600_000, opened: 2_430_000, failures: 4 });
  expect(started.tracker.counts).toMatchObject({ flaps: { KN102: 2 }, failures: { KN102: 6 } });
});

test('a late line counts, and nothing is negative', () => {
  const started = start();
  expect(play('100 KN102\n 60 KN102\n 20 KN102', started)).toEqual(['60 opened KN102 2', '20 continued KN102 1']);
  expect(started.tracker.incidents[0]).toMatchObject({ first: 20_000, last: 100_000, opened: 100_000 });
});

test('what differs is gathered, within bounds', () => {
  const { tracker } = start();
  for (let i = 0; i < 1000; i++) tracker.take(failure({ subject: `chain-${i % 20}` }), i * 100, undefined);
  const [incident] = tracker.incidents;
  expect(incident?.subjects).toEqual(Array.from({ length: 16 }, (_, i) => `chain-${i}`));
  expect(incident?.moreSubjects).toBe(4);
  for (let i = 0; i < 10_000; i++) tracker.take(failure({ subject: `other-${i}` }), 200_000 + i, undefined);
  expect(incident?.moreSubjects).toBe(240);
  expect(JSON.stringify(tracker.state()).length).toBeLessThan(5000);
});

test('the line that it opened with stays', () => {
  const { tracker } = start();
  for (let i = 0; i < 5; i++) tracker.take(failure({ quote: `line ${i}` }), i * 10_000, undefined);
  expect(tracker.incidents[0]).toMatchObject({ quote: 'line 1', failures: 5 });
});

test('what is doubtful until its attempt has ended begins with its first failure, however many attempts there are', () => {
  const { tracker } = start();
  tracker.take(failure({ code: 'KN104' }), 0, undefined);
  tracker.take(sync('sync-failed'), 100, undefined);
  // Each waits 5 s for the lock, and IPv6 with it: the sync of IPv4 has not ended yet.
  for (const later of [15, 18, 21, 24]) tracker.take(failure({ code: 'KN104' }), later * 1000, undefined);
  tracker.take(sync('sync-failed'), 24_500, undefined);
  expect(tracker.incidents[0]).toMatchObject({ phase: 'open', first: 0, failures: 5 });
});

describe('a chain that only another program can have deleted', () => {
  const first = failure({ subject: 'KUBE-SVC-UOLAULR5MHUYULMB' });
  const other = failure({ subject: 'KUBE-SVC-3KK4EHREJABVV2YJ' });

  test.each([
    ['and another one', [first, other], 6, ['opened KN102 2']],
    ['and the same again', [first, first], 6, ['opened KN102 2']],
    ['within 15 minutes', [first, other], 899.9, ['opened KN102 2']],
    ['after that', [first, other], 900, []],
    ['two of one attempt', [first, other], 1.9, []],
    ['a shared one', [failure({ code: 'KN103', subject: 'KUBE-SERVICES' })], 6, ['opened KN103 2']],
    ['what may fail by itself', [failure({ code: 'KN107', subject: 'KUBE-SERVICES' })], 6, []],
    ['one that nothing names', [failure()], 6, []],
  ])('it opens whatever succeeds in between: %s', (_, [before = first, after = before], seconds, changes) => {
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

  test('it opens also where a release says of no sync that it failed', () => {
    const { heard, tracker } = start();
    tracker.take(first, 0, undefined);
    tracker.take(sync('sync-complete'), 3000, undefined);
    tracker.take(other, 6000, undefined);
    tracker.take(sync('sync-complete'), 9000, undefined);
    expect(heard).toEqual(['opened KN102 2']);
    expect(tracker.incidents[0]).toMatchObject({ phase: 'open', subjects: [first.subject, other.subject] });
  });

  test('opens it before any other line says how that sync ended', () => {
    const { heard, tracker } = start();
    tracker.take(first, 0, undefined);
    tracker.take(sync('sync-failed'), 1, undefined);
    tracker.take(sync('sync-complete'), 2, undefined);
    tracker.take(other, 6000, undefined);
    expect(heard).toEqual(['opened KN102 2']);
    expect(tracker.incidents[0]).toMatchObject({ opened: 6000, failures: 2 });
  });

  test('it opens also with the state of before a restart', () => {
    const { tracker } = start();
    tracker.take(first, 0, undefined);
    const { heard, tracker: next } = start(JSON.parse(JSON.stringify(tracker.state())) as TrackerState);
    next.take(sync('sync-complete'), 3000, undefined);
    next.take(other, 6000, undefined);
    expect(heard).toEqual(['opened KN102 2']);
  });
});

test('at the end of a log, what waits for the end of its attempt opens, and nothing else changes', () => {
  const { heard, tracker } = start();
  play('0 attempt KN111\n 30 KN111\n 30.1 KN104', { heard, tracker });
  expect(heard).toEqual([]);
  tracker.endOfLog();
  expect(heard).toEqual(['opened KN111 2']);
  const { revision } = tracker;
  tracker.endOfLog();
  expect([tracker.revision, heard.length]).toEqual([revision, 1]);
});
