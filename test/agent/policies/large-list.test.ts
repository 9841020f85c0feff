import { afterEach, expect, test } from 'vitest';
import { createPolicyAnswers } from '../../../src/agent/policies/answers.ts';
import { createConnection } from '../../../src/kubernetes/connection.ts';
import { createSteadyClock } from '../../../src/platform/clock.ts';
import { type ScriptedServer, json, startScriptedServer } from '../../kubernetes/scripted-server.ts';
import { networkPolicy } from '../../policies/objects.ts';
import { cluster, dropped, shopPolicies } from './scene.ts';

/** A list of policies that is larger than an answer may be, of a server that sends it. */

let server: ScriptedServer;
afterEach(() => server.stop());

test('a list of policies above 16 MiB is reported, makes the verdict unknown, and is read again when it is smaller', async () => {
  const items = [networkPolicy({ podSelector: {} }, 'default-deny')];
  let filling = 'x'.repeat(17 * 2 ** 20);
  server = await startScriptedServer(({ path, response }) => {
    const known = Object.entries(cluster).find(
      ([key]) => key === path || (key.endsWith('*') && path.startsWith(key.slice(0, -1))),
    )?.[1];
    if (path === shopPolicies) json(response, 200, { items, filling });
    else if (typeof known === 'object' && known.kind === 'answered' && path.includes('review'))
      json(response, 201, { kind: 'SelfSubjectAccessReview', ...(known.body as object) });
    else if (typeof known === 'object' && known.kind === 'answered') json(response, 200, known.body);
    else json(response, 404, {});
  });
  const clock = createSteadyClock();
  const logged: string[] = [];
  const scene = { now: 1_000_000 };
  const { answerOn } = createPolicyAnswers({
    connection: createConnection({ access: server.access('t'), userAgent: 'test', onRequest: () => {}, clock }),
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
    stopwatch: () => 0,
  });
  const ofShop = (): string[] => logged.filter((each) => each.endsWith('networkpolicies of Namespace shop'));
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'unknown' });
  expect(ofShop()).toEqual(['warn large networkpolicies of Namespace shop']);
  filling = '';
  scene.now += 30_000;
  expect(await answerOn(dropped({}, scene.now))).toMatchObject({ outcome: 'denies' });
  expect(ofShop()).toEqual(['warn', 'well'].map((each) => `${each} large networkpolicies of Namespace shop`));
});
