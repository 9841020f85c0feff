/** The wording of the agent's log about policies. */
import { expect, test } from 'vitest';
import { createListReport, createPolicyRights } from '../../../src/agent/policies/answers.ts';
import { createRateLimitedLog, type Log } from '../../../src/agent/telemetry/logger.ts';
import { answered } from '../../cli/doctor/fake.ts';
import { nine } from '../../builders.ts';

test('a right that is missing, and is granted later', async () => {
  const logged: string[] = [];
  const scene = { now: nine, allowed: false };
  const { granted } = createPolicyRights(
    { request: () => Promise.resolve(answered({ status: { allowed: scene.allowed } })) },
    { info: (...given: unknown[]) => void logged.push(String(given.at(-1))) },
    () => scene.now,
  );
  expect(await granted()).toBe(false);
  scene.now += 600_000;
  scene.allowed = true;
  expect(await granted()).toBe(true);
  expect(logged).toStrictEqual([
    'Events do not say which policy denied a packet: the right to list networkpolicies is missing. Apply deploy/base/policies.yaml, or set POLICIES=off',
    'Policies can be listed now: Events say which one denied a packet',
  ]);
});

test('a list of policies that is too large, and is read again', () => {
  const logged: string[] = [];
  const say = (...given: unknown[]): void => void logged.push(String(given.at(-1)));
  const log = { error: say, warn: say, info: say } as unknown as Log;
  const listed = createListReport(createRateLimitedLog(log, { now: () => nine }));
  for (const isTooLarge of [true, true, false]) listed({ plural: 'networkpolicies', namespace: 'shop', isTooLarge });
  listed({ plural: 'globalnetworkpolicies', namespace: undefined, isTooLarge: true });
  expect(logged).toStrictEqual([
    'Some or all networkpolicies of Namespace shop are too large for the memory and are not evaluated: of Pods that they may be about, Events do not say which policy denied a packet. Delete what is not needed of them, raise the memory limit, or set POLICIES=off',
    'All networkpolicies of Namespace shop are small enough to be evaluated again',
    'Some or all globalnetworkpolicies are too large for the memory and are not evaluated: of Pods that they may be about, Events do not say which policy denied a packet. Delete what is not needed of them, raise the memory limit, or set POLICIES=off',
  ]);
});
