import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { restoreState } from '../../../src/publish/state/state.ts';
import type { AgentProcess } from '../agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { everything } from './answers.ts';
import { type FaultProxy, startFaultProxy } from './proxy.ts';

/** An agent that is killed and started again while the API server is away continues with the Pods of its state. */

const controlPlane = connect(inject('controlPlane'));
const node = 'restart-away';
const namespace = node;
const subnet = '10.124.1';
const pods = ['stays', 'goes', 'is-replaced', 'comes-again'] as const;
/** Its packets are logged with its interface, which a new Pod of the same name has again. */
const byInterface = 'comes-again';
/** Lines that were read at the start are on disk a second later; it may be longer while the machine is busy, but not in each round. */
const atTheStart: Millis = 4000;
/** Waiting packets are on disk after five seconds; read positions alone after thirty. */
const withinOneLook: Millis = 15_000;

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

const addressOf = (pod: string): string => `${subnet}.${pods.indexOf(pod as (typeof pods)[number]) + 1}`;

/** `startTime`s are whole seconds. */
function podsHere(names: readonly string[], start: Millis, addresses = names.map(addressOf)) {
  const startTime = new Date(start).toISOString().replace(/\.\d+/, '');
  return names.map((name, index) =>
    podObject({ namespace, name, node, addresses: [addresses[index] ?? ''], startTime }),
  );
}

async function uidOf(name: string): Promise<string> {
  const { body } = await controlPlane.request('GET', `/api/v1/namespaces/${namespace}/pods/${name}`);
  return (body as { metadata: { uid: string } }).metadata.uid;
}

async function remove(name: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`;
  expect((await controlPlane.request('DELETE', path)).status).toBe(200);
}

/** A log with at most one older file. */
function createLog(path: string) {
  writeFileSync(path, '');
  return {
    drop(pod: string, packets: number, age: Millis = 0): void {
      const line = dropLine('203.0.113.9', addressOf(pod), 80, { time: new Date(Date.now() - age) });
      const veth = interfaceNames(namespace, pod)[0] ?? '';
      appendFileSync(path, (pod === byInterface ? line.replace('OUT=eth1', `OUT=${veth}`) : line).repeat(packets));
    },
    rotate(): void {
      renameSync(path, `${path}.1`);
      writeFileSync(path, '');
    },
  };
}

/** Waits until the state on disk has this many packets that wait for the API server. */
async function untilKept(stateDir: string, packets: number): Promise<void> {
  const kept = (): number =>
    restoreState(stateDir, node, new Date()).state?.waiting.reduce((sum, { weight }) => sum + weight, 0) ?? 0;
  await vi.waitFor(() => expect(kept()).toBe(packets), { timeout: withinOneLook, interval: 100 });
}

/** Returns how a Pod was found by the audit's rows. */
function evidenceOf({ log }: AgentProcess, pod: string): string[] {
  const rows = log.filter((row) => row['destination.k8s.pod.name'] === pod);
  return [...new Set(rows.map((row) => String(row['destination.evidence'])))].toSorted((a, b) => a.localeCompare(b));
}

test('killed again and again while the API server is away and logs are rotated: each packet counts, on its own Pod', async () => {
  const began = Date.now();
  await createObjects(controlPlane, { items: [nodeObject(node, `${subnet}.254`), ...podsHere(pods, began - 600_000)] });
  const uids = Object.fromEntries(await Promise.all(pods.map(async (name) => [name, await uidOf(name)] as const)));
  const folder = rig.newFolder();
  const log = createLog(join(folder, 'kern.log'));
  const env = {
    NODE_NAME: node,
    SOURCES: `file:${join(folder, 'kern.log')}`,
    STATE_DIR: join(folder, 'state'),
    KUBECONFIG: proxy.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig')),
    AUDIT: 'stdout',
    AUDIT_INTERVAL: '1',
    AUDIT_OPT_OUT: 'false',
  };
  const first = rig.start(env);
  await first.untilReady();
  // Everything known about the Pods is then on disk.
  const known = () => restoreState(env.STATE_DIR, node, new Date()).state?.pods?.records.length;
  await vi.waitFor(() => expect(known()).toBe(pods.length), { timeout: withinOneLook });
  await first.kill();

  proxy.fail(({ response }) => void response.destroy(), { concerns: everything, cut: true });
  let agent = first;
  let soonest: Millis = Infinity;
  for (let round = 1; round <= 3; round++) {
    // Two files: the one that is read in this round is deleted in the round after the next.
    for (const pod of pods) log.drop(pod, 50, 60_000);
    log.rotate();
    agent = rig.start(env);
    const { restoredPods } = await agent.untilLog(({ msg }) => msg === 'Started');
    expect(restoredPods).toBe(pods.length);
    const started = performance.now();
    await untilKept(env.STATE_DIR, (round * 100 - 50) * pods.length);
    soonest = Math.min(soonest, performance.now() - started);
    for (const pod of pods) log.drop(pod, 50, 60_000);
    await untilKept(env.STATE_DIR, round * 100 * pods.length);
    await agent.kill();
  }
  expect(soonest).toBeLessThan(atTheStart);
  await remove('goes');
  await remove('is-replaced');
  await remove('comes-again');
  await createObjects(controlPlane, {
    items: [...podsHere(['heir'], Date.now(), [addressOf('is-replaced')]), ...podsHere(['comes-again'], Date.now())],
  });
  log.rotate();
  agent = rig.start(env);
  await agent.untilLog(({ problem }) => problem === 'api server');
  for (const pod of pods) log.drop(pod, 7);
  proxy.heal();

  const expected = { stays: 307, goes: 307, 'is-replaced': 300, heir: 7, 'comes-again': 307 };
  const events = await rig.untilEvents(namespace, (all) =>
    Object.entries(expected).every(([pod, count]) => sumOf(all, pod) === count),
  );
  const countOn = (uid: string | undefined): number =>
    events.filter(({ involvedObject }) => involvedObject.uid === uid).reduce((sum, { count }) => sum + count, 0);
  expect([countOn(uids['goes']), countOn(uids['is-replaced'])]).toEqual([307, 300]);
  expect([countOn(uids['comes-again']), countOn(await uidOf('comes-again'))]).toEqual([300, 7]);
  await agent.untilReady();

  const evidence = {
    stays: ['pod-address'],
    goes: ['earlier-run'],
    'is-replaced': ['earlier-run'],
    heir: ['pod-address'],
    'comes-again': ['earlier-run', 'interface'],
  };
  const found = () => Object.fromEntries(Object.keys(evidence).map((pod) => [pod, evidenceOf(agent, pod)]));
  await vi.waitFor(() => expect(found()).toEqual(evidence), { timeout: 60_000 });
  agent.signal('SIGTERM');
  expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
});
