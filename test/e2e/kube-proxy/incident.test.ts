import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { fillConntrack, limitConntrack } from './conntrack.ts';
import { installFelixConfigurations, removeFelixConfigurations, setFelixConfiguration } from './felix.ts';
import { createNodeNamespace } from './node-namespace.ts';
import { createStage, fight, type Stage } from './stage.ts';
import { createPublished, failuresIn, gist, haveBothEnds, type Published, typesOf } from './published.ts';

/** Incidents from their beginning to their end; they wait for it at the same time. */

const connection = connect(inject('controlPlane'));
/** Counted from the last failure; see `dueOf` in src/incidents/tracker/lifecycle.ts. */
const quietPeriod = 150_000;
let rig: AgentRig;
let published: Published;
let stage: Stage;

beforeAll(async () => {
  rig = await createAgentRig(connection);
  published = createPublished(connection, rig);
  stage = createStage(connection, rig);
  await installFelixConfigurations(connection);
  await setFelixConfiguration(connection, { bpfEnabled: true }, 'node.incident-fight');
});
afterAll(async () => {
  await rig.killAll();
  await removeFelixConfigurations(connection);
});

describe.concurrent('incidents', () => {
  test('chains that felix deletes: Events on all affected objects, and again at the end', async (context) => {
    const { name, proxyPod } = await stage.play(context, 'incident-fight', 101, { retry: 2 }, async (here) => {
      await stage.startAgent(context, here);
      await fight(here);
      // A fight is over only after some time in which it did not go on.
      await here.change();
    });
    const events = await published.until('kube-system', (all) => failuresIn(all) === 3, proxyPod);

    expect(gist(events)).toEqual(['Warning KN101, KN102 CalicoDeletesServiceChains']);
    expect(events.at(-1)?.message).toContain(
      'kubectl patch felixconfiguration node.incident-fight --type=merge --patch=\'{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}\'',
    );
    const onPod = await published.describe('pod', proxyPod, '-n', 'kube-system');
    expect(onPod).toMatch(/Warning +CalicoDeletesServiceChains .*kube-netfilter-tailer.*\[KN101, KN102\]/);
    expect(onPod).toContain(`Service ${name}/db port 5432`);
    expect(await published.describe('node', name)).toMatch(/Warning +CalicoDeletesServiceChains .*\[KN101, KN102\]/);
    expect(await published.eventsFor(name, 'service/db')).toMatch(/Warning +CalicoDeletesServiceChains +Service\/db /);
    // Pods whose rules were written are not named, and Pods on the node's own network have nothing wrong.
    const notifiedPods = await published.until(name, (all) => typesOf(all)['Pod/web'] !== undefined);
    expect(typesOf(notifiedPods)).toEqual({ 'Pod/sick': 'Warning', 'Pod/web': 'Normal', 'Service/db': 'Warning' });
    expect(await published.describe('pod', 'sick', '-n', name)).toMatch(
      new RegExp(`Warning +NodeNetworkDegraded .*kubectl describe node ${name} \\[KN101, KN102\\]`),
    );

    const ended = await published.until('kube-system', haveBothEnds, proxyPod, quietPeriod);
    expect(gist(ended)).toEqual([
      'Normal KN101, KN102 ServiceChainsRestored',
      'Warning KN101, KN102 CalicoDeletesServiceChains',
    ]);
    expect(ended.find(({ type }) => type === 'Normal')?.message).toMatch(
      /^Resolved on incident-fight: .*\b3 failures /,
    );
    for (const [namespace, object, overReason] of [
      ['default', name, 'ServiceChainsRestored'],
      [name, 'db', 'ServiceChainsRestored'],
      [name, 'sick', 'NodeNetworkRecovered'],
      [name, 'web', 'NodeNetworkRecovered'],
    ] as const) {
      const both = await published.until(namespace, haveBothEnds, object);
      const over = both.filter(({ message }) => message.startsWith(`Resolved on ${name}`));
      expect(gist(over)).toEqual([`Normal KN101, KN102 ${overReason}`]);
    }
    expect(await published.describe('node', name)).toMatch(
      /Normal +ServiceChainsRestored .*Resolved on incident-fight: /,
    );
    expect(Object.keys(typesOf(await rig.events(name)))).not.toContain('Pod/monitor');
  }, 600_000);

  test('a full connection tracking table: an Event on the node whose kernel says so, and one when it has room', async (context) => {
    const name = 'incident-conntrack';
    await createObjects(connection, { items: [nodeObject(name, '192.168.96.107')] });
    const place = await createNodeNamespace(connection.server);
    context.onTestFinished(place.destroy);
    const { stdout } = await place.run('readlink', ['/proc/self/ns/net']);
    const inode = /\d+/.exec(stdout)?.[0];
    const stateDir = rig.newFolder();
    // The first run of all would read what earlier tests have had the kernel print in the last ten minutes.
    const first = rig.start({
      NODE_NAME: name,
      SOURCES: 'containers',
      POD_LOGS: rig.newFolder(),
      STATE_DIR: stateDir,
    });
    context.onTestFinished(first.kill);
    await first.untilReady();
    first.signal('SIGTERM');
    await first.untilExit();
    const agent = rig.start({ NODE_NAME: name, SOURCES: 'kernel', STATE_DIR: stateDir });
    context.onTestFinished(agent.kill);
    await agent.untilReady();
    // Those beside it track less.
    const restore = await limitConntrack(512);
    try {
      await fillConntrack(place, 1024);
      // Failures within 2 s of each other are one attempt.
      await delay(3000);
      await fillConntrack(place, 1024);
      const events = await published.until('default', (all) => all.length > 0, name);
      expect(gist(events)).toEqual(['Warning KN401 ConntrackTableFull']);
      expect(events[0]?.message).toMatch(new RegExp(`namespace ${inode} is full \\(5\\d\\d of 512 entries\\)`));
    } finally {
      await restore();
    }
    expect(await published.describe('node', name)).toMatch(/Warning +ConntrackTableFull .*\[KN401\]/);
    const both = await published.until('default', haveBothEnds, name, quietPeriod);
    expect(gist(both)).toEqual(['Normal KN401 ConntrackTableHasRoom', 'Warning KN401 ConntrackTableFull']);
  }, 600_000);

  test('an agent that is killed in the middle goes on with the same incident, and counts each failure once', async (context) => {
    const { name, proxyPod, failures } = await stage.play(
      context,
      'incident-killed',
      104,
      { retry: 2 },
      async (here) => {
        const stateDir = rig.newFolder();
        const agent = await stage.startAgent(context, here, { stateDir });
        await fight(here);
        await published.until('default', (all) => failuresIn(all) === 3, here.name);
        await agent.kill();
        // No process reads it now.
        await here.fail();
        await stage.startAgent(context, here, { stateDir });
        await here.fail();
      },
    );
    const total = failures();
    expect(total).toBe(5);
    for (const [namespace, object] of [
      ['kube-system', proxyPod],
      ['default', name],
      [name, 'db'],
    ] as const) {
      const counted = await published.until(namespace, (all) => failuresIn(all) === total, object);
      expect(gist(counted)).toEqual(['Warning KN102 ServiceChainMissing']);
    }
  }, 600_000);
});
