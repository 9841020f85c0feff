import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { usedBy } from '../../bench/used.ts';
import type { LogEntry } from '../agent-process.ts';
import { type AgentRig, createAgentRig, type StoredEvent, sumOf } from '../agent-rig.ts';
import { connect, type Connection } from '../control-plane/connection.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { type Fault, type FaultRows, pods } from './fault.ts';
import { type Played, setScene } from './scene.ts';

/** In megabytes, far above what an agent with a few Pods takes: only endless growth reaches it. */
const memoryLimit = 200;

/** Reached only if a test hangs: an outage of more than a minute and the API server's own pause take less. */
const longestRow: Millis = 600_000;

/** How long a documented recovery may take on a busy machine: a back-off of 60 s, and the 30 s of a second write. */
const backWithin: Millis = 120_000;

/** Runs all rows at the same time, because they mostly wait for back-offs and second writes of Events. */
export function testFaults(kinds: readonly FaultRows[]): void {
  let shared: { controlPlane: Connection; rig: AgentRig };

  beforeAll(async () => {
    const controlPlane = connect(inject('controlPlane'));
    shared = { controlPlane, rig: await createAgentRig(controlPlane) };
  });

  const cases = kinds.flatMap(({ name, subnet, rows }) =>
    rows.map((fault, index) => ({
      title: fault.title,
      fault,
      node: `${name}-${index + 1}`,
      network: `${subnet}.${index + 1}`,
    })),
  );
  describe.concurrent('fault', () => {
    test.for(cases)('$title', { timeout: longestRow }, async ({ fault, node, network }) => {
      const own = fault.own && (await startControlPlane());
      try {
        const place = own === undefined ? shared : { controlPlane: own, rig: await createAgentRig(own) };
        const order = own?.order ?? (() => Promise.reject(new Error('the control plane is shared')));
        const scene = await setScene({ ...place, order }, node, network, fault);
        try {
          await play(fault, scene);
        } finally {
          await scene.close();
        }
      } finally {
        await own?.stop();
      }
    });
  });
}

async function play(fault: Fault, scene: Played): Promise<void> {
  const { agent, rig, namespace } = scene;
  await agent.untilReady();
  await scene.drop('before', 5);
  await scene.drop('steady', 5);
  await rig.untilEvents(namespace, (all) => sumOf(all, 'before') + sumOf(all, 'steady') === 10);

  await fault.begin(scene);
  await scene.drop('steady', 7);
  await scene.drop('other', 6);
  await scene.drop('during', 11);
  for (const problem of fault.problems) await agent.untilLog((entry) => entry['problem'] === problem, 120_000);
  if (fault.goesOn === true) await rig.untilEvents(namespace, (all) => sumOf(all, 'during') === 11, undefined, 40_000);
  await fault.lasts?.(scene);
  await scene.drop('steady', 3);
  expect(await agent.get('/healthz')).toMatchObject({ status: 200 });
  expect((await agent.get('/readyz')).status).toBe(200);

  await fault.end?.(scene);
  await scene.drop('steady', 2);
  await scene.drop('after', 4);
  const events = await untilAllIsPublished(fault, scene);

  await fault.check?.(scene, events);
  await expectOneLineEach(fault, scene);
  expect(usedBy(agent.pid ?? 0).peakBytes / 2 ** 20).toBeLessThan(memoryLimit);
  agent.signal('SIGTERM');
  expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
}

/** Every Pod has its Events, and they count all written packets. */
async function untilAllIsPublished(fault: Fault, scene: Played): Promise<StoredEvent[]> {
  const { lost } = fault;
  const deadline = performance.now() + backWithin;
  const published: StoredEvent[] = [];
  for (const namespace of [scene.namespace, scene.otherNamespace]) {
    const own = pods.filter((pod) => (pod === 'other') === (namespace === scene.otherNamespace));
    const due = own.map((pod) => [pod, (scene.written.get(pod) ?? 0) - (lost?.[pod] ?? 0)] as const);
    const events = await scene.rig.untilEvents(
      namespace,
      (all) => due.every(([pod, count]) => sumOf(all, pod) === count),
      undefined,
      deadline - performance.now(),
    );
    published.push(...events);
  }
  return published;
}

async function expectOneLineEach(fault: Fault, { agent }: Played): Promise<void> {
  const { problems, tolerated = [] } = fault;
  for (const problem of problems)
    await agent.untilLog((entry) => entry['problem'] === problem && entry['reports'] !== undefined);
  const lines = agent.log.filter(
    ({ level, problem }) =>
      (problem !== undefined || level === 'warn' || level === 'error') &&
      !tolerated.some((start) => String(problem).startsWith(start)),
  );
  const expected = [...problems.map((problem) => `${problem} begins`), ...problems.map((problem) => `${problem} ends`)];
  if (!isDeepStrictEqual(lines.map(shown).toSorted(), expected.toSorted()))
    throw new Error(
      `expected: ${expected.join(', ')}; logged:\n${lines.map((line) => JSON.stringify(line)).join('\n')}`,
    );
}

function shown({ problem, reports, msg }: LogEntry): string {
  if (typeof problem !== 'string') return String(msg);
  return `${problem} ${reports === undefined ? 'begins' : 'ends'}`;
}
