/** The wording of what the agent logs of policies. */
import { expect, test } from 'vitest';
import { createPolicyRights } from '../../../src/agent/policies/rights.ts';
import { answered } from '../../commands/doctor/fake.ts';
import { nine } from '../../builders.ts';

test('a right that is missing, and then is there', async () => {
  const logged: string[] = [];
  const scene = { now: nine, allowed: false };
  const { granted } = createPolicyRights({
    connection: { request: () => Promise.resolve(answered({ status: { allowed: scene.allowed } })) },
    log: { info: (...given: unknown[]) => void logged.push(String(given.at(-1))) },
    now: () => scene.now,
  });
  expect(await granted()).toBe(false);
  scene.now += 600_000;
  scene.allowed = true;
  expect(await granted()).toBe(true);
  expect(logged).toStrictEqual([
    'Events do not say which policy denied a packet: the right to list networkpolicies is missing. Grant it with the component policies, or set POLICIES=off',
    'Policies can be listed now: Events say which one denied a packet',
  ]);
});
