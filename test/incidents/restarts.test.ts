import { expect, test } from 'vitest';
import { createRestarts } from '../../src/incidents/tracker/programs.ts';
import { failure, kubeProxy, play, second, start, sync } from './scripts.ts';

test.each([
  ['two restarts are none', '0 restart\n 60 restart', []],
  ['the third within ten minutes is one', '0 restart\n 300 restart\n 600 restart', ['600 opened KN117 3']],
  ['the third after that is none', '0 restart\n 300 restart\n 601 restart', []],
  [
    'nothing but silence ends it',
    '0 restart\n 9 restart\n 19 restart\n 20 complete\n 918 tick\n 919 tick',
    ['19 opened KN117 3', '919 closed KN117 by silence'],
  ],
  ['one start that fails is a flap', '0 KN116\n 10 restart\n 11 complete', []],
  [
    'a program that cannot start is one incident',
    '0 KN116\n 10 restart\n 10.5 KN116\n 30 restart\n 30.5 KN116\n 70 restart',
    ['10.5 opened KN116 3', '30 continued KN116 1', '30.5 continued KN116 1', '70 continued KN116 1'],
  ],
  [
    'what failed in an earlier life has nothing to do with it',
    '0 KN105\n 10 restart\n 20 restart\n 30 restart\n 40 restart',
    ['40 opened KN117 3'],
  ],
  [
    'nor has what is well',
    '0 attempt KN102\n 30 complete\n 40 restart\n 50 restart\n 60 restart',
    ['60 opened KN117 3'],
  ],
  ['nor has what no program dies of', '0 KN109\n 10 restart\n 20 restart\n 30 restart', ['30 opened KN117 3']],
  [
    'what is open is the reason before what is suspected',
    '0 KN104\n 30 KN104\n 31 KN105\n 40 restart',
    ['30 opened KN104 2', '40 continued KN104 1'],
  ],
  [
    'who dies in an attempt has not succeeded in it later',
    '0 attempt KN102\n 200 KN102\n 202 restart\n 205 complete\n 400 attempt KN102',
    ['400 opened KN102 4'],
  ],
  [
    'who dies in an attempt has failed',
    '0 attempt KN102\n 30 KN102\n 32 restart\n 33 complete',
    ['32 opened KN102 3', '33 closed KN102 by success'],
  ],
  [
    'what is suspected does not split a loop that is known',
    '0 restart\n 10 restart\n 20 restart\n 25 KN105\n 40 restart',
    ['20 opened KN117 3', '40 continued KN117 1'],
  ],
])('restarts of a program: %s', (_, script, changes) => {
  expect(play(script)).toEqual(changes);
});

test('the incident has the Pod, its last words and how often', () => {
  const started = start();
  play('0 restart\n 10 restart\n 20 restart', started);
  expect(started.tracker.incidents[0]).toMatchObject({
    failingPod: kubeProxy,
    quote: 'its last words',
    restarts: 3,
    failures: 3,
    families: [],
  });
});

test('felix takes the container of calico-node with it', () => {
  const { heard, tracker } = start();
  const panic = failure({ code: 'KN202', failing: 'felix' });
  tracker.take(panic, 0, undefined);
  tracker.restarted({ failing: 'calico-node', lastWords: undefined }, undefined, 10 * second);
  tracker.take(panic, 40 * second, undefined);
  tracker.restarted({ failing: 'bird', lastWords: undefined }, undefined, 50 * second);
  expect(heard).toEqual(['opened KN202 3', 'continued KN202 1']);
  expect(tracker.incidents).toHaveLength(1);
  expect(tracker.incidents[0]).toMatchObject({ restarts: 2, code: 'KN202' });
});

test('a new life may try again after another time', () => {
  const { tracker } = start();
  tracker.take(failure(), 0, undefined);
  tracker.take(sync('sync-failed', 'IPv4', { retry: 3_600_000 }), 1, undefined);
  expect(tracker.nextTick).toBe(7_202_000);
  tracker.restarted({ failing: 'kube-proxy', lastWords: undefined }, undefined, 10 * second);
  expect(tracker.nextTick).toBe(910_000);
});

test('the last words of a program are its message and the first line of its error', () => {
  const restarts = createRestarts();
  const record = { kind: 'program-record', program: 'felix', severity: 'error', caller: '', fields: {} } as const;
  const log = { namespace: 'n', pod: 'p', uid: 'u', container: 'c' };
  restarts.take({ ...log, restarts: 0 }, '', { ...record, message: 'it failed', error: 'because\nof more' }, 0);
  expect(restarts.take({ ...log, restarts: 1 }, '', { ...record, message: 'and again', error: '' }, 1)?.lastWords).toBe(
    'it failed: because',
  );
  expect(
    restarts.take({ ...log, restarts: 2 }, '', { ...record, severity: 'info', message: 'started', error: '' }, 2)
      ?.lastWords,
  ).toBe('and again');
});
