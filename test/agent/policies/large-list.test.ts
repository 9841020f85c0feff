import { afterEach, expect, test } from 'vitest';
import { createPolicyAnswers } from '../../../src/agent/policies/answers.ts';
import { createConnection } from '../../../src/agent/kubernetes/connection.ts';
import { createSteadyClock } from '../../../src/base/platform/clock.ts';
import { type ScriptedServer, json, startScriptedServer } from '../kubernetes/scripted-server.ts';
import { networkPolicy } from '../../explain/policies/objects.ts';
import { answered } from '../../cli/doctor/fake.ts';
import { calico, cluster, dropped, setUp, shopPolicies } from './scene.ts';

/** A server that sends a list of policies larger than an answer may be. */

let server: ScriptedServer | undefined;
afterEach(() => server?.stop());

test('a list of policies above 16 MiB is reported, makes the verdict unknown, and is read again when it is smaller', async () => {
  const items = [networkPolicy({ podSelector: {} }, 'default-deny')];
  let filling = 'x'.repeat(17 * 2 ** 20);
  const started = (server = await startScriptedServer(({ path, response }) => {
    const known = Object.entries(cluster).find(
      ([key]) => key === path || (key.endsWith('*') && path.startsWith(key.slice(0, -1))),
    )?.[1];
    if (path === shopPolicies) json(response, 200, { items, filling });
    else if (typeof known === 'object' && known.kind === 'answered' && path.includes('review'))
      json(response, 201, { kind: 'SelfSubjectAccessReview', ...(known.body as object) });
    else if (typeof known === 'object' && known.kind === 'answered') json(response, 200, known.body);
    else json(response, 404, {});
  }));
  const clock = createSteadyClock();
  const logged: string[] = [];
  const scene = { now: 1_000_000 };
  const { answerOn } = createPolicyAnswers({
    connection: createConnection({ access: started.access('t'), userAgent: 'test', onRequest: () => {}, clock }),
    log: { info: () => {} },
    rateLimitedLog: {
      report: (level, key) => void logged.push(`${level} ${key}`),
      resolve: (key) => {
        logged.push(`well ${key}`);
        return true;
      },
    },
    clock: { now: () => scene.now, toWall: (time) => time },
    longestWait: 60_000,
    verdictClocks: { now: () => 0, worked: () => 0 },
  });
  const ofShop = (): string[] => logged.filter((each) => each.endsWith('networkpolicies of Namespace shop'));
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'unknown' });
  expect(ofShop()).toEqual(['warn large networkpolicies of Namespace shop']);
  filling = '';
  scene.now += 30_000;
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
  expect(ofShop()).toEqual(['warn', 'well'].map((each) => `${each} large networkpolicies of Namespace shop`));
});

const ports = (count: number): object => ({
  podSelector: {},
  ingress: [{ ports: Array.from({ length: count }, (_, index) => ({ port: index + 1 })) }],
});

test.each([
  ['one policy that may take more than a quarter of the memory', shopPolicies, [networkPolicy(ports(300))]],
  [
    'a list of policies that has no room',
    shopPolicies,
    Array.from({ length: 900 }, (_, index) => networkPolicy({ podSelector: {} }, `policy-${index}`)),
  ],
  [
    'network sets that have no room',
    '/apis/crd.projectcalico.org/v1/globalnetworksets',
    Array.from({ length: 60 }, (_, index) => ({
      metadata: { name: `set-${index}` },
      spec: { nets: Array.from({ length: 99 }, (__, net) => `10.0.${net}.0/24`) },
    })),
  ],
])('an object that is too large counts as left out until it has room: %s', async (_, path, items) => {
  const { answerOn, memory, scene } = setUp(
    { ...calico, [path]: answered({ items }) },
    2000,
    () => 0,
    undefined,
    800_000,
  );
  const leftOut = (): number => [...memory.accounts].reduce((sum, account) => sum + account.leftOut, 0);
  await answerOn(dropped());
  expect(leftOut()).toBe(1);
  scene.answers[path] = answered({ items: [] });
  scene.now += 120_000;
  await answerOn(dropped({}, scene.now));
  expect(leftOut()).toBe(0);
});
