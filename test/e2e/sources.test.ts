import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** The agent and logs that are rotated. */

const controlPlane = connect(inject('controlPlane'));
const node = 'sources-node';
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, { items: [nodeObject(node, '192.168.90.1')] });
});
afterEach(() => rig.killAll());

test('counts are exact when a log is rotated and packed, and the agent killed all the while', async () => {
  const namespace = 'sources-rotated';
  await createInQuietHours(controlPlane, [podObject({ namespace, name: 'web', node, addresses: ['10.90.1.1'] })]);
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
  await rig.untilEvents(namespace, (all) => sumOf(all) === written);
});

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

/** Rotates as the kubelet does: the file before is packed. Nothing is deleted: these agents do not live to keep their state. */
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
