import { execFileSync } from 'node:child_process';
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import type { AgentProcess } from '../agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { type FaultProxy, startFaultProxy } from './proxy.ts';

/**
 * Agents that are killed, stopped with work left, or out of file descriptors, and two agents on one node: the counts of
 * all Events equal the written lines.
 */

const controlPlane = connect(inject('controlPlane'));
/** A node may write this many Events at once; for further ones it waits minutes for its budget. */
const podsOfStorm = 20;
/** The time limit of a test that starts an agent a dozen times on a loaded machine. */
const manyStarts: Millis = 600_000;

let rig: AgentRig;
let proxy: FaultProxy;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  proxy = await startFaultProxy(controlPlane);
});

afterAll(async () => {
  await rig.killAll();
  await proxy.stop();
});

/** A Node with Pods `web-0` and so on, and a log of drops to them. */
async function scene(name: string, pods: number, subnet: string) {
  const addresses = Array.from({ length: pods }, (_, index) => `${subnet}.${index + 1}`);
  await createObjects(controlPlane, {
    items: [
      nodeObject(name, `${subnet}.254`),
      ...addresses.map((address, index) =>
        podObject({ namespace: name, name: `web-${index}`, node: name, addresses: [address] }),
      ),
    ],
  });
  const folder = rig.newFolder();
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  let written = 0;
  return {
    env: { NODE_NAME: name, SOURCES: `file:${log}`, STATE_DIR: join(folder, 'state') },
    folder,
    rotate: (): void => {
      renameSync(log, `${log}.1`);
      writeFileSync(log, '');
    },
    /**
     * Logs this many drops to each Pod. Each Pod has a peer of its own, because a peer of many Pods counts as a scan,
     * whose targets are written only every 15 minutes.
     */
    write: (times: number): void => {
      for (let each = 0; each < times; each++) {
        for (const [index, address] of addresses.entries())
          appendFileSync(log, dropLine(`203.0.113.${index + 1}`, address, 80));
        written++;
      }
    },
    /** Waits until the Events of each Pod count all written packets; more at any time fails. */
    untilExact: (within: Millis = 150_000): Promise<unknown> =>
      rig.untilEvents(
        name,
        (all) => {
          const counts = addresses.map((_, index) => sumOf(all, `web-${index}`));
          expect(Math.max(...counts)).toBeLessThanOrEqual(written);
          return counts.every((count) => count === written);
        },
        undefined,
        within,
      ),
  };
}

/** Sets a limit: new file descriptors must have numbers below it. */
function limitDescriptors({ pid }: AgentProcess, limit: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
}

describe.concurrent('an agent', () => {
  test(
    'counts each line once while it is killed again and again and a storm of problems is saved and written',
    async () => {
      const { env, write, untilExact } = await scene('killed-in-a-storm', podsOfStorm, '10.114.1');
      const first = rig.start(env);
      await first.untilReady();
      write(2);
      await untilMetric(first, /packets_total\{verdict="dropped"\} 40$/m);
      await first.kill();
      for (let round = 0; round < 10; round++) {
        write(3);
        const agent = rig.start(env);
        await agent.untilLog(({ msg }) => msg === 'Started');
        write(3);
        await delay(Math.random() * 3000);
        await agent.kill();
      }
      await rig.start(env).untilReady();
      // After its third write, an Event is written again after two minutes, and then after four.
      await untilExact(280_000);
    },
    manyStarts,
  );

  test('ends in time if it is stopped with much due while the API server is away, and the next agent writes everything', async () => {
    const { env, folder, write, untilExact } = await scene('stopped-with-a-backlog', podsOfStorm, '10.114.2');
    const KUBECONFIG = proxy.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig'));
    const agent = rig.start({ ...env, KUBECONFIG });
    await agent.untilReady();
    proxy.fail(() => {}, { concerns: /^\w+ \/api\/v1\/namespaces\/[^/]+\/events/ });
    write(5);
    await untilMetric(agent, /packets_total\{verdict="dropped"\} 100$/m);
    await untilMetric(agent, /api_requests_total\{verb="POST",resource="events",code="0"\} [1-9]/);
    const began = performance.now();
    agent.signal('SIGTERM');
    expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
    // Kubernetes gives it 30 s, of which the agent takes ten to write.
    expect(performance.now() - began).toBeLessThan(30_000);
    proxy.heal();
    write(1);
    await rig.start({ ...env, KUBECONFIG }).untilReady();
    await untilExact();
  });

  test('without file descriptors, while its log is rotated and its connections break, says so, continues, and counts each line once', async () => {
    const { env, folder, write, rotate, untilExact } = await scene('out-of-descriptors', 5, '10.114.5');
    const ownProxy = await startFaultProxy(controlPlane);
    try {
      const KUBECONFIG = ownProxy.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig'));
      const agent = rig.start({ ...env, KUBECONFIG });
      await agent.untilReady();
      write(2);
      await untilExact();
      // Open files stay open, but no other can be opened.
      limitDescriptors(agent, 3);
      rotate();
      write(3);
      ownProxy.fail(({ pass }) => pass(), { cut: true });
      await agent.untilLog((entry) => entry['problem'] === `source ${env.SOURCES.slice('file:'.length)} unreadable`);
      write(1);
      limitDescriptors(agent, 1024);
      write(1);
      await agent.untilLog(
        ({ level, problem }) =>
          level === 'info' && problem === `source ${env.SOURCES.slice('file:'.length)} unreadable`,
      );
      await untilExact();
      await agent.untilReady();
      agent.signal('SIGTERM');
      expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
    } finally {
      await ownProxy.stop();
    }
  });

  test.each([
    ['each with a state of its own', 'two-agents', '10.114.3'],
    ['with one state', 'two-agents-one-state', '10.114.4'],
  ])('that is one of two on a node, %s: counts each line once, and so does the next agent', async (_, name, subnet) => {
    const { env, folder, write, untilExact } = await scene(name, 5, subnet);
    const other = name === 'two-agents' ? { STATE_DIR: join(folder, 'other-state') } : {};
    const agents = [env, { ...env, ...other }].map((each) => rig.start(each));
    await Promise.all(agents.map((agent) => agent.untilReady()));
    write(3);
    await untilExact();
    write(4);
    await untilExact();
    if (name === 'two-agents') {
      for (const agent of agents) await untilMetric(agent, /packets_total\{verdict="dropped"\} 35$/m);
      // Both wrote the same Events: the API server has refused the later write, which was then merged.
      await Promise.any(
        agents.map((agent) =>
          untilMetric(agent, /api_requests_total\{verb="POST",resource="events",code="409"\} [1-9]/),
        ),
      );
    }
    await Promise.all(agents.map((agent) => agent.kill()));
    write(2);
    await rig.start(env).untilReady();
    await untilExact();
  });
});
