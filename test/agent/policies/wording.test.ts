/** The wording of what the agent logs of policies. */
import { expect, test } from 'vitest';
import { createListReport, createPolicyRights } from '../../../src/agent/policies/answers.ts';
import { createRateLimitedLog, type Log } from '../../../src/telemetry/logger.ts';
import { answered } from '../../commands/doctor/fake.ts';
import { nine } from '../../builders.ts';

test('a right that is missing, and then is there', async () => {
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
    'The list of networkpolicies of Namespace shop is too large (more than 16 MiB, 5,000 objects, or 200,000 values in specs) and is not read: of Pods that it may be about, Events do not say which policy denied a packet. Delete what is not needed of it, or set POLICIES=off',
    'The list of networkpolicies of Namespace shop is small enough to be read again',
    'The list of globalnetworkpolicies is too large (more than 16 MiB, 5,000 objects, or 200,000 values in specs) and is not read: of Pods that it may be about, Events do not say which policy denied a packet. Delete what is not needed of it, or set POLICIES=off',
  ]);
});
