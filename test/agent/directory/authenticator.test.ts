import { expect, test } from 'vitest';
import { createAuthenticator } from '../../../src/agent/directory/authenticator.ts';
import { audience } from '../../../src/agent/directory/replicas.ts';
import { nine } from '../../builders.ts';
import { fakeApi } from '../../cli/doctor/fake.ts';

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
  const authenticate = createAuthenticator(api, username, () => clock.now);
  const check = (authorization: string | undefined, address = '10.65.1.1') => authenticate(authorization, address);
  return { clock, reviewed, check };
}

/** A token of the Pod `uid`, as the API server makes it for a volume. */
const ofPod = (uid: string, id: number | string = 0): string =>
  `Bearer ${tokenOf({ sub: username, aud: [audience], id, 'kubernetes.io': { pod: { uid } } })}`;

const real = (token: string): Review => ({ authenticated: !token.includes('forged'), username });

const minute = 60_000;

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
])('a token that %s is refused, and reviewed again after ten seconds', async (_, review) => {
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
])('%s needs no request to the API server', async (_, authorization) => {
  const { check, reviewed } = scene();
  expect(await check(authorization)).toBe('stranger');
  expect(reviewed).toEqual([]);
});

test('a header of 8,192 characters is short enough for a review', async () => {
  const { check, reviewed } = scene();
  expect(await check(bearer().padEnd(8192, 's'))).toBe('agent');
  expect(reviewed).toHaveLength(1);
});

test('an API server that does not answer does not refuse the token, and is asked again', async () => {
  const { check, reviewed } = scene(() => undefined);
  expect([await check(bearer()), await check(bearer())]).toEqual(['busy', 'busy']);
  expect(reviewed).toHaveLength(2);
});

test('forged tokens from one address use up only the reviews of that address', async () => {
  const { check, reviewed, clock } = scene(real);
  await check(bearer());
  for (let number = 0; number < 2000; number++) await check(`${bearer(number)}forged`, '10.65.2.66');
  expect(reviewed.length).toBeLessThanOrEqual(11);
  expect([await check(bearer()), await check(bearer(7))]).toEqual(['agent', 'agent']);
  expect(await check(bearer(8), '10.65.2.66')).toBe('busy');
  clock.now += 2000;
  expect(await check(bearer(8), '10.65.2.66')).toBe('agent');
});

test('forged tokens from many addresses use up at most the reviews of a second; known agents are answered', async () => {
  const { check, reviewed, clock } = scene(real);
  await check(bearer());
  for (let number = 0; number < 2000; number++) await check(`${bearer(number)}forged`, `10.66.${number % 200}.1`);
  expect(reviewed.length).toBeLessThanOrEqual(501);
  expect([await check(bearer()), await check(bearer(7))]).toEqual(['agent', 'busy']);
  clock.now += 1000;
  expect(await check(bearer(7))).toBe('agent');
});

test('a flood of forged tokens with any addresses and claims does not lock out an agent whose token is renewed', async () => {
  const { check, clock } = scene(real);
  expect(await check(ofPod('agent'))).toBe('agent');
  const renewed: string[] = [];
  for (let second = 1; second <= 300; second++) {
    clock.now += 1000;
    for (let each = 0; each < 60; each++)
      await check(`${ofPod('agent', `${second} ${each}`)}forged`, `10.66.${each}.${second % 250}`);
    // A Pod gets a new token every 48 minutes; here every minute.
    if (second % 60 === 0) renewed.push(await check(ofPod('agent', second)));
  }
  expect(renewed).toEqual(Array.from({ length: 5 }, () => 'agent'));
});

test('an agent that asks once an hour is remembered through 20,000 forged tokens', async () => {
  const { check, clock } = scene(real);
  await check(ofPod('quiet'));
  for (let number = 0; number < 20_000; number++) {
    clock.now += 150;
    await check(`${bearer(number)}forged`, `10.${number % 128}.${number % 251}.1`);
  }
  expect(await check(ofPod('quiet'))).toBe('agent');
});

test("an agent's place belongs to its address: the same claims from another address are reviewed as unknown", async () => {
  const { check, reviewed } = scene(real);
  await check(ofPod('agent'));
  for (let number = 0; number < 100; number++) await check(`${ofPod('agent', number)}forged`, '10.65.2.66');
  expect(reviewed.length).toBeLessThanOrEqual(11);
});

test('a token that no longer belongs to an agent loses its place', async () => {
  let isAgent = true;
  const { check, clock } = scene(() => ({ authenticated: isAgent, username }));
  await check(bearer());
  isAgent = false;
  clock.now += 2 * minute;
  expect(await check(bearer())).toBe('stranger');
  for (let number = 0; number < 20; number++) await check(bearer(number));
  clock.now += 10_000;
  expect(await check(bearer())).toBe('stranger');
});

test('an agent is reviewed again even in the middle of a flood of forged tokens', async () => {
  let isAway = false;
  const { check, clock } = scene((token) =>
    isAway ? undefined : { authenticated: !token.includes('forged'), username },
  );
  await check(bearer());
  clock.now += 120_000;
  for (let number = 0; number < 2000; number++) await check(`${bearer(number)}forged`, `10.66.${number % 200}.1`);
  isAway = true;
  expect(await check(bearer())).toBe('busy');
  isAway = false;
  expect(await check(bearer())).toBe('agent');
});
