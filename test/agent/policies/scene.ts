/** An agent that evaluates policies for drops. The test gives the API server's answers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPolicyAnswers, type PolicyAnswersOptions } from '../../../src/agent/policies/answers.ts';
import type { Clocks } from '../../../src/agent/policies/verdict-time.ts';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import { createMemoryBudget } from '../../../src/base/platform/memory-budget.ts';
import type { Series } from '../../../src/base/model/series.ts';
import type { FlowDetails } from '../../../src/base/model/finding.ts';
import { createRateLimitedLog, type Log } from '../../../src/agent/telemetry/logger.ts';
import { finding, flow, nine, podRef, series, workerEnd } from '../../builders.ts';
import { answered, refused } from '../../cli/doctor/fake.ts';
import { networkPolicy } from '../../explain/policies/objects.ts';

export const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
export const shopPolicies = '/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies';

/** A path, or its beginning if it ends with `*`, and the answer. */
export type Answers = Readonly<Record<string, Answer | (() => Promise<Answer>)>>;

export const podObject = (name: string, namespace: string, labels: object, uid = `uid-of-${name}`) => ({
  metadata: { name, namespace, uid, labels },
  status: { phase: 'Running' },
});

export const cluster: Answers = {
  [review]: answered({ status: { allowed: true } }),
  '/apis/networking.k8s.io/v1': answered({ resources: [{ name: 'networkpolicies' }] }),
  '/api/v1/namespaces/shop/pods': answered({ items: [podObject('web-0', 'shop', { app: 'web' })] }),
  '/api/v1/namespaces/batch/pods': answered({ items: [podObject('worker-7', 'batch', { app: 'worker' })] }),
  '/api/v1/namespaces': answered({ items: [{ metadata: { name: 'any', labels: {} } }] }),
  [shopPolicies]: answered({ items: [networkPolicy({ podSelector: {} }, 'default-deny')] }),
  '/apis/networking.k8s.io/v1/namespaces/*': answered({ items: [] }),
};

/** An agent's policy answers. The API server answers as `answers` say, which a test may change. */
export function setUp(
  given: Answers = {},
  wait: number | readonly [first: number, longest: number] = 2000,
  stopwatch: (() => number) | Clocks = () => 0,
  ownPod?: PolicyAnswersOptions['ownPod'],
  room = 32 * 2 ** 20,
) {
  const answers: Record<string, Answer | (() => Promise<Answer>)> = { ...cluster, ...given };
  const [firstWait, longestWait] = typeof wait === 'number' ? [wait, wait] : wait;
  const say = (): void => void scene.logged++;
  const log = { info: say, warn: say } as unknown as Log;
  const scene = { now: nine, asked: [] as string[], queries: [] as string[], logged: 0, answers };
  const memory = createMemoryBudget({ total: room, isPreferred: (namespace) => namespace === '' });
  const { answerOn, factsOn, evaluate, prepare } = createPolicyAnswers({
    connection: {
      async request(_, path, { query = {} } = {}) {
        scene.asked.push(path);
        scene.queries.push(`${path}?${new URLSearchParams(query as Record<string, string>).toString()}`);
        const wild = Object.keys(answers).find((key) => key.endsWith('*') && path.startsWith(key.slice(0, -1)));
        const answer = answers[path] ?? answers[wild ?? ''] ?? refused(404);
        return typeof answer === 'function' ? await answer() : answer;
      },
    },
    ownPod,
    log,
    rateLimitedLog: createRateLimitedLog(log, { now: () => scene.now }),
    clock: { now: () => scene.now, toWall: (time) => time },
    longestWait,
    firstWait,
    verdictClocks: typeof stopwatch === 'function' ? { now: stopwatch, worked: stopwatch } : stopwatch,
    memory,
  });
  return { scene, answerOn, factsOn, evaluate, prepare, memory };
}

/** Returns whether this ends within a few turns of the event loop. What waits for a time takes more. */
export async function endsAtOnce(answer: Promise<unknown>): Promise<boolean> {
  let turns = 0;
  const ended = answer.then(() => turns);
  while (turns < 10) {
    await nextTurn();
    turns++;
  }
  return (await ended) < 10;
}

export function dropped(details: Partial<FlowDetails> = {}, last = nine, name = 'web-0'): Series {
  const given = flow({ enforcer: 'network-policy', peer: workerEnd(7), ...details });
  return series({ last, finding: finding({ regarding: podRef(name), details: given }) });
}

/** Answers of an API server with Calico's stored objects. */
export const calico = {
  '/apis/crd.projectcalico.org/v1': answered({
    resources: ['globalnetworkpolicies', 'tiers', 'globalnetworksets'].map((name) => ({ name })),
  }),
  '/apis/crd.projectcalico.org/v1/tiers': answered({
    items: [{ metadata: { name: 'default' }, spec: { order: 1_000_000 } }],
  }),
  '/apis/crd.projectcalico.org/v1/globalnetworkpolicies': answered({
    items: [
      {
        metadata: { name: 'default.lockdown' },
        spec: {
          tier: 'default',
          order: 1,
          selector: "app == 'web'",
          types: ['Ingress'],
          ingress: [{ action: 'Deny', source: { nets: ['203.0.113.0/24'] } }],
        },
      },
    ],
  }),
  '/apis/crd.projectcalico.org/v1/globalnetworksets': answered({ items: [] }),
};
