import { randomInt } from 'node:crypto';
import { afterEach, beforeAll, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf, untilMetric } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { startJournald } from './journal/rig.ts';
import { createNetwork } from './network/network.ts';
import { createInQuietHours } from './quiet-hours.ts';

/**
 * The agent and several sources of the same lines. It reports every drop that the kernel's log has, those of other tests too: beside
 * tests that look at all Events of their Pods it must not run.
 */

const controlPlane = connect(inject('controlPlane'));
const node = 'sources-kernel-node';
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, { items: [nodeObject(node, '192.168.91.1')] });
});
afterEach(() => rig.killAll());

test('a packet that the journal and the ring buffer both have is counted once, also over a kill', async () => {
  // Others than in all runs whose lines the ring buffer still has: a journald that has just begun takes them in, and dates them now.
  const [net, part] = [randomInt(100, 200), randomInt(256)];
  const namespace = `sources-twice-${randomInt(1_000_000)}`;
  const web = { namespace, name: 'web', addresses: [`10.${net}.${part}.10`, `fd00:${net}:${part}::10`] };
  const db = { namespace, name: 'db', addresses: [`10.${net}.${part}.20`, `fd00:${net}:${part}::20`] };
  await createInQuietHours(controlPlane, [podObject({ ...web, node }), podObject({ ...db, node })]);
  const journald = await startJournald();
  const network = await createNetwork({ backend: 'iptables-nft', pods: [web, db] });
  try {
    await network.refuse();
    const flow = { from: `${namespace}/web`, to: `${namespace}/db`, family: 4, protocol: 'udp', port: 5353 } as const;
    const env = { NODE_NAME: node, SOURCES: `journal:${journald.directory},kernel`, STATE_DIR: rig.newFolder() };
    const agent = rig.start(env);
    await agent.untilReady();
    await network.send({ ...flow, count: 7 });
    await rig.untilEvents(namespace, (all) => sumOf(all, 'db') === 7 && sumOf(all, 'web') === 7);
    // Lines of other tests, of the ten minutes before, count as well.
    await untilMetric(agent, /^kube_netfilter_tailer_repeated_lines_total ([7-9]|\d{2,})$/m);
    await agent.kill();

    await network.send({ ...flow, count: 5 });
    const next = rig.start(env);
    await next.untilReady();
    // Killed before the first snapshot of both, some of the seven may come again through one of them.
    await untilMetric(next, /^kube_netfilter_tailer_repeated_lines_total ([5-9]|\d{2,})$/m);
    await rig.untilEvents(namespace, (all) => sumOf(all, 'db') === 12 && sumOf(all, 'web') === 12);
  } finally {
    await network.destroy();
    await journald.stop();
  }
});
