import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Millis } from '../../../src/model/log-line.ts';
import type { AgentProcess, LogEntry } from '../agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from '../agent-rig.ts';
import { connect, type Connection } from '../control-plane/connection.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createDisk, type Disk } from './disk.ts';
import { type FaultProxy, startFaultProxy } from './proxy.ts';

/**
 * One row of the suite. An agent with a node of its own reads a log. Lines are written before the fault, while it lasts, and after it;
 * at the end the counts of all Events are the lines that were written, and the agent has logged one line when the fault began and one
 * when it was over.
 */
export interface Fault {
  /** Says the case when read alone. */
  readonly title: string;
  readonly begin: (scene: Scene) => unknown;
  /** It has lasted long enough when this resolves. */
  readonly lasts?: ((scene: Scene) => Promise<unknown>) | undefined;
  readonly end?: (scene: Scene) => unknown;
  /** What the log calls it (`problem`); nothing else is logged as a warning or an error. */
  readonly problems: readonly string[];
  /** Of /readyz, while it lasts; 200 by default. */
  readonly ready?: 200 | 503;
  /** Only the other namespace is affected: while it lasts, the Events of the first are written within 20 s. */
  readonly otherOnly?: boolean;
  /** The log may have lost lines: one line says so, and none that it is over. */
  readonly loses?: true;
  /** Lines that are still there after `begin`, are read again and count again, as documented. */
  readonly again?: Readonly<Partial<Record<PodName, number>>>;
  /** Packets that no Event counts, as documented. */
  readonly lost?: Readonly<Partial<Record<PodName, number>>>;
  /** How long the documented way back may take, counted from `end`; 95 s by default: a back-off of 60 s, and the 30 s of a second write. */
  readonly backWithin?: Millis;
  /** Settings of the agent beside the usual ones. */
  readonly settings?: (scene: Scene) => Readonly<Record<string, string>>;
  /** The state is on a disk of its own. */
  readonly disk?: true;
  /** An API server and an etcd of its own, which `scene.order` stops; with these flags. */
  readonly own?: { readonly flags: readonly string[] };
}

/** `steady` has drops in every phase, `other` is in another namespace and has them while the fault lasts, as `during`. */
export type PodName = 'steady' | 'before' | 'during' | 'after' | 'other';

const pods: readonly PodName[] = ['steady', 'before', 'during', 'after', 'other'];

export interface Scene {
  readonly controlPlane: Connection;
  /** Of the row's own. */
  readonly order: ControlPlane['order'];
  /** Between the agent and the API server. */
  readonly proxy: FaultProxy;
  readonly rig: AgentRig;
  readonly agent: AgentProcess;
  readonly node: string;
  readonly namespace: string;
  readonly otherNamespace: string;
  /** Path of the agent's. */
  readonly kubeconfig: string;
  /** Path of the log that the agent reads. */
  readonly log: string;
  /** Where the agent keeps its state. */
  readonly stateDir: string;
  /** Of the row's own. */
  readonly disk: Disk;
  readonly addressOf: (pod: PodName) => string;
  /** Appends log lines of dropped packets to a Pod; resolves when the agent has counted them. */
  readonly drop: (pod: PodName, lines: number) => Promise<void>;
  /** Until a scrape has a line that matches. */
  readonly untilMetric: (line: RegExp) => Promise<void>;
}

/** Megabytes; far above what an agent with a few Pods takes: only what grows without end gets there. */
const memoryLimit = 200;

const namespacesOf = ({ namespace, otherNamespace }: Scene): string[] => [namespace, otherNamespace];

/** Runs the rows at the same time. `name`: of nodes and namespaces; `subnet`: of their Pods, `10.110`; no other file's. */
export function testFaults({ name, subnet }: { name: string; subnet: string }, faults: readonly Fault[]): void {
  let shared: { controlPlane: Connection; rig: AgentRig };
  const results: string[] = [];

  beforeAll(async () => {
    const controlPlane = connect(inject('controlPlane'));
    shared = { controlPlane, rig: await createAgentRig(controlPlane) };
  });
  afterAll(() => console.log(['fault; until all counts were right; peak memory', ...results].join('\n')));

  describe.concurrent('fault', () => {
    test.for(faults.map((fault, index) => ({ title: fault.title, fault, number: index + 1 })))(
      '$title',
      async ({ fault, number }) => {
        const own = fault.own && (await startControlPlane(fault.own));
        const place = own === undefined ? shared : { controlPlane: own, rig: await createAgentRig(own) };
        const order = own?.order ?? (() => Promise.reject(new Error('the control plane is shared')));
        const scene = await setScene({ ...place, order }, `${name}-${number}`, `${subnet}.${number}`, fault);
        try {
          results.push(`${fault.title}; ${await play(fault, scene)}`);
        } finally {
          // First: an agent that hangs on it cannot be killed.
          if (fault.disk === true) await scene.disk.remove();
          await scene.agent.kill();
          await scene.proxy.stop();
          await own?.stop();
        }
      },
    );
  });
}

interface Played extends Scene {
  readonly written: ReadonlyMap<PodName, number>;
  /** Resolves when the agent has counted lines a second time. */
  readonly reread: (pod: PodName, lines: number) => Promise<void>;
}

async function play(fault: Fault, scene: Played): Promise<string> {
  const { agent, rig, namespace } = scene;
  await agent.untilReady();
  await scene.drop('before', 5);
  await scene.drop('steady', 5);
  await rig.untilEvents(namespace, (all) => sumOf(all) === 10);

  await fault.begin(scene);
  for (const [pod, lines] of Object.entries(fault.again ?? {}) as [PodName, number][]) await scene.reread(pod, lines);
  await scene.drop('steady', 7);
  await scene.drop('other', 6);
  await scene.drop('during', 11);
  for (const problem of fault.problems) await agent.untilLog((entry) => entry['problem'] === problem, 120_000);
  if (fault.otherOnly === true)
    await rig.untilEvents(namespace, (all) => sumOf(all, 'during') === 11, undefined, 20_000);
  await fault.lasts?.(scene);
  await scene.drop('steady', 3);
  expect(await agent.get('/healthz')).toMatchObject({ status: 200 });
  expect((await agent.get('/readyz')).status).toBe(fault.ready ?? 200);

  const ended = performance.now();
  await fault.end?.(scene);
  await scene.drop('steady', 2);
  await scene.drop('after', 4);
  await untilAllIsPublished(fault, scene);
  const seconds = ((performance.now() - ended) / 1000).toFixed(1);

  await expectOneLineEach(fault, scene);
  const peak = peakMemory(agent);
  expect(peak).toBeLessThan(memoryLimit);
  agent.signal('SIGTERM');
  expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
  return `${seconds} s; ${peak} MB`;
}

/** Every Pod has its Events, and they count what was written. */
async function untilAllIsPublished({ lost, backWithin = 95_000 }: Fault, scene: Played): Promise<void> {
  const deadline = performance.now() + backWithin;
  for (const namespace of namespacesOf(scene)) {
    const own = pods.filter((pod) => (pod === 'other') === (namespace === scene.otherNamespace));
    const due = own.map((pod) => [pod, (scene.written.get(pod) ?? 0) - (lost?.[pod] ?? 0)] as const);
    await scene.rig.untilEvents(
      namespace,
      (all) => due.every(([pod, count]) => sumOf(all, pod) === count),
      undefined,
      deadline - performance.now(),
    );
  }
}

async function expectOneLineEach({ problems, loses }: Fault, { agent, log }: Played): Promise<void> {
  for (const problem of problems)
    await agent.untilLog((entry) => entry['problem'] === problem && entry['reports'] !== undefined);
  const lines = agent.log.filter(
    ({ level, problem }) => problem !== undefined || level === 'warn' || level === 'error',
  );
  const expected = problems.flatMap((problem) => [`${problem} begins`, `${problem} ends`]);
  if (loses === true) expected.push(`lost ${log} begins`);
  if (!isDeepStrictEqual(lines.map(shown).toSorted(), expected.toSorted()))
    throw new Error(
      `expected: ${expected.join(', ')}; logged:\n${lines.map((line) => JSON.stringify(line)).join('\n')}`,
    );
}

function shown({ problem, reports, msg }: LogEntry): string {
  if (typeof problem !== 'string') return String(msg);
  return `${problem} ${reports === undefined ? 'begins' : 'ends'}`;
}

/** Megabytes. */
function peakMemory({ pid }: AgentProcess): number {
  const [, kilobytes = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

async function setScene(
  place: Pick<Scene, 'controlPlane' | 'rig' | 'order'>,
  node: string,
  subnet: string,
  { settings, disk }: Fault,
): Promise<Played> {
  const { controlPlane, rig } = place;
  const proxy = await startFaultProxy(controlPlane);
  const folder = rig.newFolder();
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  const ownDisk = disk && (await createDisk(folder));
  const written = new Map<PodName, number>();
  const scene: Omit<Played, 'agent'> = {
    ...place,
    proxy,
    node,
    namespace: node,
    otherNamespace: `${node}-other`,
    log,
    stateDir: join(ownDisk?.folder ?? folder, 'state'),
    get disk() {
      if (ownDisk === undefined) throw new Error('the row has no disk of its own');
      return ownDisk;
    },
    kubeconfig: proxy.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig')),
    written,
    addressOf: (pod) => `${subnet}.${pods.indexOf(pod) + 1}`,
    async drop(pod, lines) {
      appendFileSync(log, dropLine('203.0.113.9', scene.addressOf(pod), 80).repeat(lines));
      await scene.reread(pod, lines);
    },
    async reread(pod, lines) {
      written.set(pod, (written.get(pod) ?? 0) + lines);
      const all = [...written.values()].reduce((sum, each) => sum + each, 0);
      await scene.untilMetric(new RegExp(`packets_total\\{verdict="dropped"\\} ${all}$`, 'm'));
    },
    untilMetric: (line) => untilMetric(agent, line),
  };
  await createObjects(controlPlane, {
    items: [
      nodeObject(node, `${subnet}.254`),
      ...pods.map((pod) => {
        const namespace = pod === 'other' ? scene.otherNamespace : scene.namespace;
        return podObject({ namespace, name: pod, node, addresses: [scene.addressOf(pod)] });
      }),
    ],
  });
  const usual = { NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: scene.kubeconfig, STATE_DIR: scene.stateDir };
  const agent: AgentProcess = rig.start({ ...usual, ...settings?.({ ...scene, agent: undefined as never }) });
  return Object.assign(scene, { agent });
}
