import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentProcess } from '../agent-process.ts';
import { dropLine, nodeObject, podObject, untilMetric } from '../agent-rig.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createDisk } from './disk.ts';
import { type Fault, type PodName, pods, type Scene } from './fault.ts';
import { startFaultProxy } from './proxy.ts';
import { createWallClock } from './wall-clock.ts';

/** Outside the cluster. */
const stranger = '203.0.113.9';

/** A row that is played. */
export interface Played extends Scene {
  /** Lines by Pod. */
  readonly written: ReadonlyMap<PodName, number>;
  /** All lines, also those of no Pod. */
  readonly lines: () => number;
  /** Calls what was given to `atEnd`, the last first. */
  readonly close: () => Promise<void>;
}

/** Nodes, Pods, a log and an agent for one row, with a proxy between it and the API server. `name`: of the Node and the first namespace. */
export async function setScene(
  place: Pick<Scene, 'controlPlane' | 'rig' | 'order'>,
  name: string,
  subnet: string,
  { settings, disk, clock, senderOf = () => stranger }: Fault,
): Promise<Played> {
  const { controlPlane, rig } = place;
  const proxy = await startFaultProxy(controlPlane);
  const folder = rig.newFolder();
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  const ownDisk = disk && (await createDisk(folder));
  const ownClock = clock && createWallClock(folder);
  const written = new Map<PodName, number>();
  const closing: (() => Promise<unknown>)[] = [];
  let agent: AgentProcess | undefined;
  let lines = 0;
  const untilCounted = async (more: number): Promise<void> => {
    lines += more;
    await scene.untilMetric(new RegExp(`packets_total\\{verdict="dropped"\\} ${lines}$`, 'm'));
  };
  const timeNow = () => ({ time: ownClock?.now() ?? new Date() });
  const scene: Played = {
    ...place,
    get agent() {
      return owned(agent, 'agent');
    },
    proxy,
    node: name,
    namespace: name,
    otherNamespace: `${name}-other`,
    stateDir: join(ownDisk?.folder ?? folder, 'state'),
    get disk() {
      return owned(ownDisk, 'disk');
    },
    get clock() {
      return owned(ownClock, 'clock');
    },
    kubeconfig: proxy.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig')),
    subnet,
    written,
    lines: () => lines,
    addressOf: (pod) => `${subnet}.${pods.indexOf(pod) + 1}`,
    async drop(pod, count) {
      const line = dropLine(senderOf(scene, pod), scene.addressOf(pod), 80, timeNow());
      appendFileSync(log, line.repeat(count));
      written.set(pod, (written.get(pod) ?? 0) + count);
      await untilCounted(count);
    },
    async dropBetween(source, destination) {
      appendFileSync(log, dropLine(source, destination, 80, timeNow()));
      await untilCounted(1);
    },
    untilMetric: (line) => untilMetric(scene.agent, line),
    atEnd: (close) => void closing.unshift(close),
    async close() {
      for (const close of closing) await close();
    },
  };
  scene.atEnd(proxy.stop);
  await createObjects(controlPlane, {
    items: [
      nodeObject(name, `${subnet}.254`),
      ...pods.map((pod) => {
        const namespace = pod === 'other' ? scene.otherNamespace : scene.namespace;
        return podObject({ namespace, name: pod, node: name, addresses: [scene.addressOf(pod)] });
      }),
    ],
  });
  const usual = { NODE_NAME: name, SOURCES: `file:${log}`, KUBECONFIG: scene.kubeconfig, STATE_DIR: scene.stateDir };
  agent = rig.start({ ...usual, ...ownClock?.env, ...(await settings?.(scene)) });
  scene.atEnd(agent.kill);
  // Before that: an agent that hangs on it cannot be killed.
  if (ownDisk !== undefined) scene.atEnd(ownDisk.remove);
  return scene;
}

function owned<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`the row has no ${name}`);
  return part;
}
