import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** Settings that change while the agent runs. */

const controlPlane = connect(inject('controlPlane'));
const node = 'settings-node';
const rig = await createAgentRig(controlPlane);
afterAll(() => rig.killAll());

test('a prefix in a mounted ConfigMap is followed without a restart, and what was counted stays', async () => {
  const namespace = 'reloaded';
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.83.1'),
    podObject({ namespace, name: 'web', node, addresses: ['10.83.1.2'] }),
  ]);
  const log = rig.newLog();
  const mount = rig.newFolder();
  mountRevision(mount, '..1', `sources: ["file:${log}"]\nprefixes: {first: dropped}\n`);
  symlinkSync('..data/settings.yaml', join(mount, 'settings.yaml'));
  const agent = rig.start({ NODE_NAME: node, CONFIG_FILE: join(mount, 'settings.yaml') });
  await agent.untilReady();
  appendFileSync(log, lines('first:', '10.83.1.2', 2) + lines('second:', '10.83.1.2', 5));
  await rig.untilEvents(namespace, (all) => sumOf(all) === 2);

  mountRevision(mount, '..2', `sources: ["file:${log}"]\nprefixes: {first: dropped, second: rejected}\nmaxNodes: 7\n`);
  await agent.untilLog(({ level, settings }) => level === 'info' && settings !== undefined);
  await agent.untilLog(({ level, settings }) => level === 'warn' && String(settings) === 'maxNodes');
  appendFileSync(log, lines('first:', '10.83.1.2', 1) + lines('second:', '10.83.1.2', 4));
  // What goes on has its next Event half a minute later.
  await untilMetric(agent, /packets_total\{verdict="dropped"\} 3$/m);
  await untilMetric(agent, /packets_total\{verdict="rejected"\} 4$/m);
  await rig.untilEvents(namespace, (all) => sumOf(all) >= 6);

  mountRevision(mount, '..3', 'prefixes: {first: accepted}\nlogLevel: x\n');
  const { problems } = await agent.untilLog(({ level, problems: some }) => level === 'error' && some !== undefined);
  expect(problems).toEqual([expect.stringMatching(/settings\.yaml:2:11: logLevel "x": /)]);
});

function lines(prefix: string, destination: string, count: number): string {
  return dropLine('203.0.113.9', destination, 80).replace('calico-drop:', prefix).repeat(count);
}

/** Mounts as the kubelet does: a new folder, then one link is swapped. */
function mountRevision(mount: string, revision: string, settings: string): void {
  mkdirSync(join(mount, revision));
  writeFileSync(join(mount, revision, 'settings.yaml'), settings);
  symlinkSync(revision, join(mount, '..data_tmp'));
  renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
}
