import { expect, test } from 'vitest';
import { createAuthenticator } from '../../src/directory/authenticator.ts';
import { audience } from '../../src/directory/replicas.ts';
import { nine } from '../builders.ts';
import { fakeApi } from '../commands/doctor/fake.ts';

const username = 'system:serviceaccount:drops:agent';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(claims: object): string {
  return `${part({ alg: 'RS256' })}.${part(claims)}.signature`;
}

const bearer = (id: number | string = 0): string => `Bearer ${tokenOf({ sub: username, aud: [audience], id })}`;

interface Review {
  authenticated: boolean;
  username: string;
  audiences?: readonly string[];
}

/** Undefined: the API server does not answer. */
function scene(answer: (token: string) => Review | undefined = () => ({ authenticated: true, username })) {
  const clock = { now: nine };
  const reviewed: string[] = [];
  const api = fakeApi(({ body }) => {
    const { token } = (body as { spec: { token: string } }).spec;
    reviewed.push(token);
    const review = answer(token);
    if (review === undefined) return { kind: 'refused', status: 0, reason: '', message: 'away', retryAfter: undefined };
    const { authenticated, audiences = [audience] } = review;
    return { kind: 'answered', body: { status: { authenticated, audiences, user: { username: review.username } } } };
  });
  return { clock, reviewed, check: createAuthenticator(api, username, () => clock.now) };
}

test('a token is reviewed once in two minutes, however many ask at once', async () => {
  const { check, reviewed, clock } = scene();
  expect(await Promise.all(Array.from({ length: 50 }, () => check(bearer())))).toEqual(
    Array.from({ length: 50 }, () => 'agent'),
  );
  clock.now += 119_999;
  await check(bearer());
  expect(reviewed).toHaveLength(1);
  clock.now += 1;
  await check(bearer());
  expect(reviewed).toHaveLength(2);
});

test.each([
  ['is not authenticated', { authenticated: false, username }],
  ['is not meant for the directory', { authenticated: true, username, audiences: [] }],
  ['is of another account', { authenticated: true, username: 'system:serviceaccount:drops:other' }],
])('one that %s is refused, and reviewed again after ten seconds', async (_, review) => {
  const { check, reviewed, clock } = scene(() => review);
  expect([await check(bearer()), await check(bearer())]).toEqual(['stranger', 'stranger']);
  expect(reviewed).toHaveLength(1);
  clock.now += 10_000;
  await check(bearer());
  expect(reviewed).toHaveLength(2);
});

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['another scheme', 'Basic eDp5'],
  ['no token', 'Bearer '],
  ['a token without claims', 'Bearer nonsense'],
  ['a token for another audience', `Bearer ${tokenOf({ sub: username, aud: 'other' })}`],
  ['a token of another account', `Bearer ${tokenOf({ sub: 'system:serviceaccount:drops:other', aud: audience })}`],
  ['a token with its claims in more than 8,192 characters', bearer('x'.repeat(9000))],
  ['a token with more than 8,192 characters after its claims', bearer().padEnd(8193, 's')],
])('%s costs the API server nothing', async (_, authorization) => {
  const { check, reviewed } = scene();
  expect(await check(authorization)).toBe('stranger');
  expect(reviewed).toEqual([]);
});

test('a header of 8,192 characters is short enough for a review', async () => {
  const { check, reviewed } = scene();
  expect(await check(bearer().padEnd(8192, 's'))).toBe('agent');
  expect(reviewed).toHaveLength(1);
});

test('an API server that does not answer is no refusal, and asked again', async () => {
  const { check, reviewed } = scene(() => undefined);
  expect([await check(bearer()), await check(bearer())]).toEqual(['busy', 'busy']);
  expect(reviewed).toHaveLength(2);
});

test('forged tokens use up the reviews of a second, and no more; who is known is answered', async () => {
  const { check, reviewed, clock } = scene((token) => ({ authenticated: !token.includes('forged'), username }));
  await check(bearer());
  const forged = (number: number): string => `${bearer(number)}forged`;
  for (let number = 0; number < 2000; number++) await check(forged(number));
  expect(reviewed.length).toBeLessThanOrEqual(500);
  expect([await check(bearer()), await check(bearer(7))]).toEqual(['agent', 'busy']);
  clock.now += 1000;
  expect(await check(bearer(7))).toBe('agent');
});

test('an agent is reviewed again, also in the middle of a flood of forged tokens', async () => {
  let isAway = false;
  const { check, clock } = scene((token) =>
    isAway ? undefined : { authenticated: !token.includes('forged'), username },
  );
  await check(bearer());
  clock.now += 120_000;
  for (let number = 0; number < 2000; number++) await check(`${bearer(number)}forged`);
  isAway = true;
  expect(await check(bearer())).toBe('busy');
  isAway = false;
  expect(await check(bearer())).toBe('agent');
});
