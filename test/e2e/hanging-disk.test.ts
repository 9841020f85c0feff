import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { createFreezingDisk, type FreezingDisk } from './freezing-disk.ts';

const controlPlane = connect(inject('controlPlane'));
const node = 'hanging-node';
const namespace = 'hanging';
let rig: AgentRig;
let disk: FreezingDisk;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [nodeObject(node, '192.168.95.1'), podObject({ namespace, name: 'web', node, addresses: ['10.95.1.1'] })],
  });
  disk = await createFreezingDisk(rig.newFolder());
});

afterAll(async () => {
  // First: an agent that hangs on it cannot be killed.
  await disk.remove();
  await rig.killAll();
});

test('while the disk of the state does not answer, Events are written, and the log says that nothing is saved', async () => {
  const log = join(rig.newFolder(), 'kern.log');
  writeFileSync(log, '');
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, STATE_DIR: join(disk.folder, 'state') });
  await agent.untilReady();
  appendFileSync(log, dropLine('203.0.113.9', '10.95.1.1', 80));
  await rig.untilEvents(namespace, (all) => sumOf(all) === 1);

  await disk.freeze();
  appendFileSync(log, dropLine('203.0.113.10', '10.95.1.1', 81));
  await rig.untilEvents(namespace, (all) => sumOf(all) === 2);
  const { error } = await agent.untilLog((entry) => entry['level'] === 'error' && entry['error'] !== undefined);
  expect(error).toMatchObject({ message: expect.stringContaining('disk') as string });
  await untilMetric(agent, /state_errors_total\{operation="save"\} [1-9]/m);
  expect((await agent.get('/healthz')).status).toBe(200);

  await disk.thaw();
  await agent.untilLog(({ level, reports }) => level === 'info' && reports !== undefined);
  agent.signal('SIGTERM');
  expect(await agent.untilExit()).toEqual({ code: 0, signal: null });
});
