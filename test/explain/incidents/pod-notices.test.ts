import { expect, test } from 'vitest';
import {
  nextPodNotice,
  type NotifiedPod,
  podNoticeLimit,
  type AffectedPod,
  affectedPodsOf,
} from '../../../src/explain/incidents/reporting/details.ts';
import { nine } from '../../builders.ts';
import { affectedPod } from './node-incidents.ts';

const second = 1000;
const hour = 3_600_000;

test('affected Pods: restarting Pods come first, then unready ones', () => {
  const pods = [
    affectedPod('well'),
    affectedPod('unready', { problem: 'unready' }),
    affectedPod('restarting', { problem: 'restarting' }),
  ];
  expect(affectedPodsOf(pods).map(({ name }) => name)).toEqual(['restarting', 'unready', 'well']);
});

test("affected Pods: Pods on the host's network and Pods that have ended are left out", () => {
  const pods = [
    affectedPod('host', { hostNetwork: true }),
    affectedPod('done', { running: false }),
    affectedPod('web'),
  ];
  expect(affectedPodsOf(pods).map(({ name }) => name)).toEqual(['web']);
});

test('restarting and unready Pods are notified a second apart, the others a quarter of a minute', () => {
  const pods = affectedPodsOf([
    affectedPod('a', { problem: 'restarting' }),
    affectedPod('b', { problem: 'unready' }),
    affectedPod('c'),
    affectedPod('d'),
  ]);
  expect(notifyAll(pods, nine + 60 * second)).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 17],
    ['d', 32],
  ]);
});

test('a Pod that restarts meanwhile is notified next', () => {
  const notifiedPods = { 'uid-of-a': notified('a', nine) };
  const pods = affectedPodsOf([affectedPod('a'), affectedPod('b'), affectedPod('z', { problem: 'restarting' })]);
  expect(nextPodNotice(pods, notifiedPods, nine)).toMatchObject({ pod: { name: 'z' }, at: nine + second });
});

test('no more Pods than the limit are notified, all of them within minutes', () => {
  const pods = affectedPodsOf(Array.from({ length: 110 }, (_, i) => affectedPod(`pod-${i}`)));
  const notices = notifyAll(pods, nine + hour / 2);
  expect(notices).toHaveLength(podNoticeLimit);
  expect(notices.at(-1)?.[1]).toBe(300);
});

test('each Pod is notified again after an hour, when its Event is gone', () => {
  const pods = affectedPodsOf([affectedPod('a'), affectedPod('b')]);
  expect(notifyAll(pods, nine + hour + 60 * second).map(([name]) => name)).toEqual(['a', 'b', 'a', 'b']);
});

test('a deleted Pod keeps its place for an hour; then another one is notified instead', () => {
  const notifiedPods = Object.fromEntries(
    Array.from({ length: podNoticeLimit }, (_, i) => [`uid-of-gone-${i}`, notified(`gone-${i}`, nine + i * second)]),
  );
  const pods = affectedPodsOf([affectedPod('later', { problem: 'unready' })]);
  expect(nextPodNotice(pods, notifiedPods, nine)).toMatchObject({
    pod: { name: 'later' },
    at: nine + hour,
    inPlaceOf: 'uid-of-gone-0',
  });
  delete notifiedPods['uid-of-gone-7'];
  expect(nextPodNotice(pods, notifiedPods, nine)).toMatchObject({ at: nine + 20 * second, inPlaceOf: undefined });
});

test('no Pod is notified if none is affected', () => {
  expect(nextPodNotice([], {}, nine)).toBeUndefined();
});

/** The name of each Pod that is notified until then, and the seconds after nine o'clock. */
function notifyAll(pods: readonly AffectedPod[], until: number): [string, number][] {
  const notifiedPods: Record<string, NotifiedPod> = {};
  const notices: [string, number][] = [];
  for (
    let step = nextPodNotice(pods, notifiedPods, nine);
    step && step.at <= until;
    step = nextPodNotice(pods, notifiedPods, nine)
  ) {
    const { pod, at } = step;
    delete notifiedPods[pod.uid];
    notifiedPods[pod.uid] = notified(pod.name, at);
    notices.push([pod.name, (at - nine) / second]);
  }
  return notices;
}

function notified(name: string, at: number): NotifiedPod {
  const object = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name, uid: `uid-of-${name}` };
  return { object: { ...object, resourceVersion: undefined }, at };
}
