/** No Namespace costs others a verdict: look-ups, waits and time are shared out by Namespace. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import type { PolicyVerdict } from '../../../src/base/model/policy-answer.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { externalEnd, finding, flow, podRef, series } from '../../builders.ts';
import { answered } from '../../cli/doctor/fake.ts';
import { forAllAsync } from '../../for-all.ts';
import { networkPolicy, pod } from '../../explain/policies/objects.ts';
import { dropped, endsAtOnce, podObject, setUp } from './scene.ts';

const second = 1000;

/** A drop of outside traffic to a Pod. Without a uid, any Pod of this name is meant. */
function denied(namespace: string, name: string, last: number): Series {
  const details = flow({ enforcer: 'network-policy', peer: externalEnd() });
  return series({ last, finding: finding({ regarding: { ...podRef(name, namespace), uid: '' }, details }) });
}

const policiesOf = (namespace: string): string => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;

/** Each Namespace has a Pod, and a policy that denies. */
function answersOf(namespaces: readonly string[]) {
  return Object.fromEntries(
    namespaces.flatMap((namespace): [string, Answer][] => [
      [policiesOf(namespace), answered({ items: [networkPolicy({ podSelector: {} }, 'deny', namespace)] })],
      [`/api/v1/namespaces/${namespace}/pods`, answered({ items: [podObject('any', namespace, {})] })],
    ]),
  );
}

test('while 90 Pods of a Namespace lose packets each second, Events of another Namespace still name the policy', async () => {
  const { scene, answerOn } = setUp(answersOf(['evil', 'shop']));
  const verdicts: (PolicyVerdict | undefined)[] = [];
  for (let time = 0; time < 100; time++) {
    scene.now += second;
    for (let each = 0; each < 3; each++) await answerOn(denied('evil', `e-${(3 * time + each) % 90}`, scene.now));
    if (time % 15 === 0) verdicts.push(await answerOn(denied('shop', `web-${time}`, scene.now)));
  }
  expect(verdicts.map((verdict) => verdict?.outcome)).toEqual(verdicts.map(() => 'denies'));
});

const load = fc.array(
  fc.record({
    namespace: fc.integer({ min: 0, max: 2 }).map((index) => `evil-${index}`),
    pods: fc.integer({ min: 1, max: 40 }),
    pause: fc.integer({ min: 0, max: 10 }),
  }),
  { maxLength: 30 },
);

test('whatever three Namespaces ask for, a Namespace that asks every half minute gets each verdict', async () => {
  await forAllAsync([load], { numRuns: 30 }, async (steps) => {
    const { scene, answerOn } = setUp(answersOf(['evil-0', 'evil-1', 'evil-2', 'shop']));
    let asked = -Infinity;
    for (const { namespace, pods, pause } of steps) {
      scene.now += pause * second;
      for (let each = 0; each < pods; each++) await answerOn(denied(namespace, `e-${each}`, scene.now));
      if (scene.now - asked < 30 * second) continue;
      asked = scene.now;
      expect((await answerOn(denied('shop', 'web-0', scene.now)))?.outcome).toBe('denies');
    }
  });
});

test('if the policies of one Namespace are never answered, Events of other Namespaces still wait for theirs', async () => {
  const { scene, answerOn } = setUp(
    { ...answersOf(['evil', 'shop']), [policiesOf('evil')]: () => new Promise<Answer>(() => {}) },
    20,
  );
  expect(await answerOn(denied('evil', 'e-0', scene.now))).toBeUndefined();
  expect((await answerOn(denied('shop', 'web-0', scene.now)))?.outcome).toBe('denies');
});

test('if the policies of many Namespaces are not answered, the API server counts as hanging, and no Event waits', async () => {
  const { scene, answerOn } = setUp({ '/api/v1/namespaces': () => new Promise<Answer>(() => {}) }, 20);
  let waits = 0;
  for (let each = 0; each < 100; each++)
    if (!(await endsAtOnce(answerOn(denied(`shop-${each}`, 'web-0', scene.now))))) waits++;
  expect(waits).toBeLessThanOrEqual(8);
});

test('a verdict that takes seconds costs its own Namespace the next verdicts, and other Namespaces nothing', async () => {
  let time = 0;
  let each = 0;
  const { scene, answerOn } = setUp(answersOf(['evil', 'shop']), 2000, () => (time += each));
  each = 5000;
  expect((await answerOn(denied('evil', 'e-0', scene.now)))?.outcome).toBeUndefined();
  each = 1;
  expect((await answerOn(denied('evil', 'e-0', scene.now)))?.outcome).toBeUndefined();
  for (let again = 0; again < 5; again++)
    expect((await answerOn(denied('shop', 'web-0', scene.now)))?.outcome).toBe('denies');
  time += 3_600_000;
  expect((await answerOn(denied('evil', 'e-0', scene.now)))?.outcome).toBe('denies');
});

function ownPod(namespace: string, name: string) {
  return { pod: pod({ namespace, name }), uid: '' };
}

test('Pods of this node need no look-up: hundreds of them need only the one for their policies', async () => {
  const { scene, answerOn } = setUp(answersOf(['evil']), 2000, () => 0, ownPod);
  for (let each = 0; each < 200; each++)
    expect((await answerOn(denied('evil', `e-${each}`, scene.now)))?.outcome).toBe('denies');
  expect(scene.asked.filter((path) => path.endsWith('/pods'))).toEqual([]);
  expect(scene.asked.filter((path) => path === policiesOf('evil'))).toHaveLength(1);
});

test('policies found before a drop was counted are neither read nor evaluated again, however little time is left', async () => {
  let time = 0;
  let each = 1;
  const { scene, answerOn, factsOn, evaluate, prepare } = setUp({}, 2000, () => (time += each));
  const unasked = dropped();
  await prepare(unasked.finding, scene.now);
  const answer = evaluate(unasked.finding, scene.now);
  each = 60_000;
  evaluate(unasked.finding, scene.now);
  expect(await answerOn(unasked)).toBeUndefined();
  const { length } = scene.asked;
  const judged = dropped({ answer });
  expect(await answerOn(judged)).toMatchObject({ outcome: 'denies', policy: { name: 'default-deny' } });
  expect(factsOn([judged.finding], scene.now)).toMatchObject({ decidedBy: ['NetworkPolicy shop/default-deny'] });
  expect(scene.asked).toHaveLength(length);
});
