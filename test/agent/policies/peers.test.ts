/** Slow policies of a peer are charged to the peer's Namespace, usual ones to the Namespace that asks. */
import { expect, test } from 'vitest';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import type { KnownPod } from '../../../src/agent/kubernetes/kubernetes.ts';
import type { PolicyVerdict } from '../../../src/base/model/policy-answer.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { externalEnd, finding, flow, podEnd, podRef, series } from '../../builders.ts';
import { answered } from '../../cli/doctor/fake.ts';
import { networkPolicy, pod } from '../../explain/policies/objects.ts';
import { setUp } from './scene.ts';

const policies = '/apis/networking.k8s.io/v1/namespaces/';
const podSelector = { matchExpressions: [{ key: 'other', operator: 'DoesNotExist' }] };
const admitting = networkPolicy({ podSelector, ingress: [{}], egress: [{}] }, 'admitting');
const denying = networkPolicy({ podSelector, policyTypes: ['Ingress', 'Egress'] }, 'denying');

/** Every Pod is on this node. Evaluating a Namespace's policies takes as long as `takes` says. */
function setUpTimes(takes: Readonly<Record<string, number>>, answers: Readonly<Record<string, Answer>>) {
  let time = 0;
  const ownPod = (namespace: string, name: string): KnownPod => ({
    pod: {
      ...pod({ namespace, name }),
      // No policy here compares labels of a peer, so each evaluation reads this Pod's own labels once.
      get labels() {
        time += takes[namespace] ?? 0;
        return {};
      },
    },
    uid: '',
  });
  return setUp(answers, 2000, () => time, ownPod);
}

/** A packet from a Pod of one Namespace to a Pod of another, with the Event on the receiver. */
function denied(to: string, from: string | undefined, last: number, name = 'web-0'): Series {
  const object = { ...podRef('client-0', from), uid: '' };
  const peer = from === undefined ? externalEnd() : podEnd({ address: '10.65.2.7', object });
  const details = flow({ enforcer: 'network-policy', peer });
  return series({ last, finding: finding({ regarding: { ...podRef(name, to), uid: '' }, details }) });
}

const outcomes = (verdicts: readonly (PolicyVerdict | undefined)[]) => verdicts.map((verdict) => verdict?.outcome);

test('slow policies of a sender cost its own Namespace its verdicts, and the receiver none', async () => {
  const { scene, answerOn } = setUpTimes(
    { evil: 200 },
    {
      [`${policies}shop/networkpolicies`]: answered({ items: [admitting] }),
      [`${policies}evil/networkpolicies`]: answered({ items: [admitting] }),
    },
  );
  const fromEvil: (PolicyVerdict | undefined)[] = [];
  for (let each = 0; each < 20; each++) fromEvil.push(await answerOn(denied('shop', 'evil', scene.now)));
  expect(outcomes(fromEvil)).toEqual(['admits', ...Array.from({ length: 19 }, () => 'unknown')]);
  expect(fromEvil.map((verdict) => verdict?.isOwn).slice(1)).toEqual(Array.from({ length: 19 }, () => false));
  expect(outcomes([await answerOn(denied('shop', undefined, scene.now))])).toEqual(['admits']);
  expect(outcomes([await answerOn(denied('shop', 'batch', scene.now))])).toEqual(['admits']);
});

test("if the receiver's policies deny, slow policies of the sender change nothing", async () => {
  const { scene, answerOn, factsOn } = setUpTimes(
    { evil: 200 },
    { [`${policies}shop/networkpolicies`]: answered({ items: [denying] }) },
  );
  for (let each = 0; each < 20; each++) {
    const { finding: about } = denied('shop', 'evil', scene.now);
    expect(outcomes([await answerOn(denied('shop', 'evil', scene.now))])).toEqual(['denies']);
    expect(factsOn([about], scene.now)?.verdict).toBe('denied');
  }
});

test('rows of a Namespace have the verdict of its own policies, however slow those of its peers are', async () => {
  const { scene, answerOn, factsOn } = setUpTimes(
    { evil: 200 },
    {
      [`${policies}shop/networkpolicies`]: answered({ items: [admitting] }),
      [`${policies}evil/networkpolicies`]: answered({ items: [admitting] }),
    },
  );
  await answerOn(denied('shop', 'evil', scene.now));
  await answerOn(denied('shop', undefined, scene.now));
  const verdictOf = (from: string | undefined) =>
    factsOn([denied('shop', from, scene.now).finding], scene.now)?.verdict;
  const fromEvil = Array.from({ length: 10 }, () => verdictOf('evil'));
  expect(new Set(fromEvil.slice(1))).toEqual(new Set(['unknown']));
  expect(verdictOf(undefined)).toBe('admitted');
});

test("a sender of packets to thousands of a Pod's ports uses up its own time, not that of the Pod or of the Pod's other peers", async () => {
  const { scene, answerOn } = setUpTimes(
    { shop: 0.9 },
    {
      [`${policies}evil/networkpolicies`]: answered({ items: [admitting] }),
      [`${policies}shop/networkpolicies`]: answered({ items: [denying] }),
    },
  );
  const byEvil: (PolicyVerdict | undefined)[] = [];
  for (let each = 0; each < 3000; each++) byEvil.push(await answerOn(denied('evil', 'shop', scene.now)));
  expect(outcomes(byEvil).at(0)).toBe('denies');
  expect(outcomes(byEvil).at(-1)).toBeUndefined();
  expect(outcomes([await answerOn(denied('shop', undefined, scene.now))])).toEqual(['denies']);
  expect(outcomes([await answerOn(denied('batch', 'shop', scene.now))])).toEqual(['denies']);
});
