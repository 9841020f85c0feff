import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { createAgentRig, dropLine, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** Settings that are inherited, and settings that change while the agent runs. */

const controlPlane = connect(inject('controlPlane'));
const rig = await createAgentRig(controlPlane);
afterAll(() => rig.killAll());

test('with only the variables of kube-iptables-tailer, it does the same work and names the settings to change', async () => {
  const [node, namespace] = ['inheriting-node', 'inherited'];
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.83.1'),
    podObject({ namespace, name: 'web', node, addresses: ['10.83.1.1'] }),
  ]);
  const log = rig.newLog();
  const agent = rig.start({
    NODE_NAME: node,
    IPTABLES_LOG_PATH: log,
    IPTABLES_LOG_PREFIX: 'EXAMPLE_LOG_PREFIX:',
    POD_IDENTIFIER: 'namespace',
    KUBE_EVENT_DISPLAY_REASON: 'PacketDrop',
    PACKET_DROP_EXPIRATION_MINUTES: '10',
  });
  await agent.untilReady();
  appendFileSync(log, lines('EXAMPLE_LOG_PREFIX:', '10.83.1.1', 3));
  const [event] = await rig.untilEvents(namespace, (all) => sumOf(all) === 3);
  expect(event).toMatchObject({
    reason: 'PacketDrop',
    message: expect.stringMatching(/ 203\.0\.113\.9 .*on port 80\/TCP/),
  });
  await untilMetric(agent, /^packet_drops_count\{src="203\.0\.113\.9",dst="inherited"\} 3$/m);
  const logged = agent.log
    .map(({ msg }) => String(msg))
    .filter((msg) => msg.includes('kube-iptables-tailer,') || msg.includes('kube-iptables-tailer and'));
  expect(new Set(logged.map((msg) => msg.split(' ', 1)[0]))).toEqual(
    new Set([
      'IPTABLES_LOG_PATH',
      'IPTABLES_LOG_PREFIX',
      'KUBE_EVENT_DISPLAY_REASON',
      'PACKET_DROP_EXPIRATION_MINUTES',
      'POD_IDENTIFIER',
    ]),
  );
  expect(logged).toHaveLength(5);
});

test('a prefix in a mounted ConfigMap is followed without a restart, and counts stay', async () => {
  const [node, namespace] = ['settings-node', 'reloaded'];
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.83.2'),
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
  // A drop that continues gets its next Event half a minute later.
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
