import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentProcess } from '../agent-process.ts';
import { dropLine, nodeObject, podObject, untilMetric } from '../agent-rig.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createDisk } from './disk.ts';
import { type Fault, type PodName, pods, type Scene } from './fault.ts';
import { startFaultProxy } from './proxy.ts';
import { createWallClock } from './wall-clock.ts';

/** A row that is played. */
export interface Played extends Scene {
  /** Lines by Pod. */
  readonly written: ReadonlyMap<PodName, number>;
  /** Ends the agent and everything around it. */
  readonly close: () => Promise<void>;
}

/** Nodes, Pods, a log and an agent for one row, with a proxy between it and the API server. `name`: of the Node and the first namespace. */
export async function setScene(
  place: Pick<Scene, 'controlPlane' | 'rig' | 'order'>,
  name: string,
  subnet: string,
  { settings, disk, clock }: Fault,
): Promise<Played> {
  const { controlPlane, rig } = place;
  const proxy = await startFaultProxy(controlPlane);
  const folder = rig.newFolder();
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  const ownDisk = disk && (await createDisk(folder));
  const ownClock = clock && createWallClock(folder);
  const written = new Map<PodName, number>();
  let agent: AgentProcess | undefined;
  const addressOf = (pod: PodName): string => `${subnet}.${pods.indexOf(pod) + 1}`;
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
    written,
    async drop(pod, count) {
      // The packet comes from outside the cluster.
      const line = dropLine('203.0.113.9', addressOf(pod), 80, { time: ownClock?.now() ?? new Date() });
      appendFileSync(log, line.repeat(count));
      written.set(pod, (written.get(pod) ?? 0) + count);
      const all = [...written.values()].reduce((sum, each) => sum + each, 0);
      await scene.untilMetric(new RegExp(`packets_total\\{verdict="dropped"\\} ${all}$`, 'm'));
    },
    untilMetric: (line) => untilMetric(scene.agent, line),
    async close() {
      // Done first: an agent that hangs on the disk cannot be killed.
      await ownDisk?.remove();
      await agent?.kill();
      await proxy.stop();
    },
  };
  await createObjects(controlPlane, {
    items: [
      nodeObject(name, `${subnet}.254`),
      ...pods.map((pod) => {
        const namespace = pod === 'other' ? scene.otherNamespace : scene.namespace;
        return podObject({ namespace, name: pod, node: name, addresses: [addressOf(pod)] });
      }),
    ],
  });
  const usual = { NODE_NAME: name, SOURCES: `file:${log}`, KUBECONFIG: scene.kubeconfig, STATE_DIR: scene.stateDir };
  agent = rig.start({ ...usual, ...ownClock?.env, ...(await settings?.(scene)) });
  return scene;
}

function owned<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`the row has no ${name}`);
  return part;
}
