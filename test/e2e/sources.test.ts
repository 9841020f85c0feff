import { randomInt } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { startJournald } from './journal/rig.ts';
import { createNetwork } from './network/network.ts';

/** The agent and where its lines come from: several sources of the same lines, and logs that are rotated. */

const controlPlane = connect(inject('controlPlane'));
const node = 'sources-node';
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, { items: [nodeObject(node, '192.168.90.1')] });
});
afterEach(() => rig.killAll());

test('a packet that the journal and the ring buffer both have is counted once, also over a kill', async () => {
  // Others in each run: a journald that has just begun takes in all that the ring buffer has, and dates it now.
  const net = randomInt(100, 200);
  const namespace = `sources-twice-${randomInt(1_000_000)}`;
  const web = { namespace, name: 'web', addresses: [`10.${net}.9.10`, `fd00:${net}:9::10`] };
  const db = { namespace, name: 'db', addresses: [`10.${net}.9.20`, `fd00:${net}:9::20`] };
  await createObjects(controlPlane, { items: [podObject({ ...web, node }), podObject({ ...db, node })] });
  const journald = await startJournald();
  const network = await createNetwork({ backend: 'iptables-nft', pods: [web, db] });
  try {
    await network.refuse();
    const flow = { from: `${namespace}/web`, to: `${namespace}/db`, family: 4, protocol: 'udp', port: 5353 } as const;
    const env = {
      NODE_NAME: node,
      SOURCES: `journal:${journald.directory},kernel`,
      STATE_DIR: rig.newFolder(),
    };
    const agent = rig.start(env);
    await agent.untilReady();
    await network.send({ ...flow, count: 7 });
    await rig.untilEvents(namespace, (all) => sumOf(all, 'db') === 7 && sumOf(all, 'web') === 7);
    // Beside the lines of other tests, of the ten minutes before.
    await untilMetric(agent, /^kube_netfilter_tailer_repeated_lines_total ([7-9]|\d{2,})$/m);
    await agent.kill();

    await network.send({ ...flow, count: 5 });
    const next = rig.start(env);
    await next.untilReady();
    // Killed before the first snapshot of both, some of the seven may come again through one of them.
    await untilMetric(next, /^kube_netfilter_tailer_repeated_lines_total ([5-9]|\d{2,})$/m);
    await rig.untilEvents(namespace, (all) => sumOf(all, 'db') === 12 && sumOf(all, 'web') === 12, undefined, 60_000);
  } finally {
    await network.destroy();
    await journald.stop();
  }
}, 120_000);

test('counts are exact when a log is rotated and packed, and the agent killed all the while', async () => {
  const namespace = 'sources-rotated';
  await createObjects(controlPlane, {
    items: [podObject({ namespace, name: 'web', node, addresses: ['10.90.1.1'] })],
  });
  const log = join(rig.newFolder(), 'kern.log');
  writeFileSync(log, '');
  const env = { NODE_NAME: node, SOURCES: `file:${log}`, STATE_DIR: rig.newFolder() };
  const first = rig.start(env);
  await first.untilReady();
  let written = 0;
  const write = (lines: number): void => {
    written += lines;
    for (let each = 0; each < lines; each++) appendFileSync(log, dropLine('203.0.113.9', '10.90.1.1', 8080));
  };
  write(20);
  await rig.untilEvents(namespace, (all) => sumOf(all) > 0);
  await first.kill();
  for (let round = 0; round < 5; round++) {
    write(15);
    rotate(log, round);
    write(25);
    const agent = rig.start(env);
    await agent.untilReady();
    write(10);
    rotate(log, round + 0.5);
    write(5);
    await agent.kill();
  }
  const last = rig.start(env);
  await last.untilReady();
  await rig.untilEvents(namespace, (all) => sumOf(all) === written, undefined, 90_000);
}, 180_000);

test("logs of containers are found, and followed through the kubelet's rotation", async () => {
  const pods = rig.newFolder();
  const agent = rig.start({ NODE_NAME: node, SOURCES: 'containers', POD_LOGS: pods });
  await agent.untilReady();
  const folder = join(pods, 'kube-system_kube-proxy-abcde_3c5f9d0e', 'kube-proxy');
  mkdirSync(folder, { recursive: true });
  const log = join(folder, '0.log');
  const write = (): void =>
    appendFileSync(log, `${new Date().toISOString()} stderr F I1121 12:00:00.000000 1 a.go:1] x\n`);
  write();
  await untilMetric(agent, /^kube_netfilter_tailer_lines_total\{source="containers"\} 1$/m);
  write();
  renameSync(log, `${log}.20261121-120000`);
  write();
  await untilMetric(agent, /^kube_netfilter_tailer_lines_total\{source="containers"\} 3$/m);
  expect((await agent.get('/healthz')).status).toBe(200);
});

/** As the kubelet does: what was rotated before is packed. Nothing is deleted: these agents do not live to keep their state. */
function rotate(log: string, number: number): void {
  const previous = rotatedName(log, number - 0.5);
  if (existsSync(previous)) {
    writeFileSync(`${previous}.tmp`, gzipSync(readFileSync(previous)));
    renameSync(`${previous}.tmp`, `${previous}.gz`);
    unlinkSync(previous);
  }
  renameSync(log, rotatedName(log, number));
}

function rotatedName(log: string, number: number): string {
  return `${log}.20261121-${String(100_000 + 10 * number)}`;
}
