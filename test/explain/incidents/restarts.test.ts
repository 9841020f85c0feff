import { expect, test } from 'vitest';
import { createRestarts } from '../../../src/explain/incidents/tracker/programs.ts';
import { failure, kubeProxy, play, scriptsIn, second, start, sync } from './scripts.ts';

test.each(scriptsIn('restarts.txt'))('restarts of a program: %s', (_, script, changes) => {
  expect(play(script)).toEqual(changes);
});

test('the incident names the Pod, its last words and the number of restarts', () => {
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

test('felix ends together with the container of calico-node', () => {
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

test('after a restart, the pause before the next try may differ', () => {
  const { tracker } = start();
  tracker.take(failure(), 0, undefined);
  tracker.take(sync('sync-failed', 'IPv4', { retry: 3_600_000 }), 1, undefined);
  expect(tracker.nextTick).toBe(7_202_000);
  tracker.restarted({ failing: 'kube-proxy', lastWords: undefined }, undefined, 10 * second);
  expect(tracker.nextTick).toBe(910_000);
});

test("a program's last words are its message and the first line of its error", () => {
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
  restarts.take({ ...log, restarts: 2 }, '', { ...record, message: 'x'.repeat(300), error: '' }, 3);
  const cut = restarts.take({ ...log, restarts: 3 }, '', { ...record, message: 'later', error: '' }, 4)?.lastWords;
  expect(cut).toBe('x'.repeat(200));
});
