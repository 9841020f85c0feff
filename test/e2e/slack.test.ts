import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { chainHash } from '../../src/resolving/service-chains/chain-name.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createCriLog } from './kube-proxy/cri-log.ts';
import { kubeProxyPod } from './kube-proxy/objects.ts';
import { createInQuietHours } from './quiet-hours.ts';
import { type EventExporter, startEventExporter } from './slack/event-exporter.ts';
import { readExporterConfig } from './slack/exporter-config.ts';
import { failedSync } from './slack/failed-sync.ts';
import { type Reader, startReader } from './slack/reader.ts';
import { createScene, type Scene, shippedConfig } from './slack/scene.ts';
import { startWebhook, type Webhook } from './slack/webhook.ts';

/** From packets to Slack, by way of a stand-in for kubernetes-event-exporter, with the configuration in deploy/. */

const connection = connect(inject('controlPlane'));
const node = 'slack-node';
/** Until the second write of an Event, which is due 30 s after the first. */
const secondWrite = 60_000;
let rig: AgentRig;
let slack: Webhook;
let exporter: EventExporter;
let shared: Reader;

beforeAll(async () => {
  rig = await createAgentRig(connection);
  slack = await startWebhook();
  exporter = await startEventExporter(
    connection,
    readExporterConfig(shippedConfig(), { SLACK_WEBHOOK_URL: slack.url }),
  );
  await createInQuietHours(connection, [nodeObject(node, '192.168.90.1')]);
  shared = await startReader(rig, node);
});
afterAll(async () => {
  await rig.killAll();
  await exporter.stop();
  await slack.stop();
});

function scene(namespace: string, net: number, pods: readonly string[], reader = shared): Promise<Scene> {
  return createScene({ connection, reader, slack, node, namespace, net, pods });
}

describe.concurrent('one message for each problem and hour', () => {
  test('a thousand packets, published in several writes, are one message', async () => {
    const { namespace, addresses, outside, drop, messages } = await scene('slack-thousand', 81, ['web']);
    const [web = ''] = addresses;
    drop(outside, web, 80, 400);
    await rig.untilEvents(namespace, (all) => sumOf(all, 'web') === 400);
    drop(outside, web, 80, 350);
    await delay(2000);
    drop(outside, web, 80, 250);
    await rig.untilEvents(namespace, (all) => sumOf(all, 'web') === 1000, undefined, secondWrite);
    expect(await messages()).toEqual([
      expect.stringMatching(/^\*PacketDrop\* Pod slack-thousand\/web: .* 203\.0\.113\.81 .*on port 80\/TCP/),
    ]);
  });

  test('two problems are two', async () => {
    const { namespace, addresses, outside, drop, messages } = await scene('slack-two', 82, ['web']);
    const [web = ''] = addresses;
    drop(outside, web, 80, 5);
    drop(outside, web, 443, 5);
    await rig.untilEvents(namespace, (all) => sumOf(all) === 10);
    const sent = await messages();
    expect(sent.map((text) => /on port (\d+)/.exec(text)?.[1] ?? '').toSorted()).toEqual(['443', '80']);
  });

  test('a packet between two Pods has Events on both, and is one message', async () => {
    const { namespace, addresses, drop, messages } = await scene('slack-pair', 83, ['client', 'server']);
    const [client = '', server = ''] = addresses;
    drop(client, server, 5432, 3);
    await rig.untilEvents(namespace, (all) => sumOf(all, 'client') === 3 && sumOf(all, 'server') === 3);
    expect(await messages()).toEqual([expect.stringContaining(' slack-pair/server: ')]);
  });

  test.each([
    ['goes on', 'slack-restarted', 85, false],
    ['goes on without what it knew', 'slack-forgotten', 86, true],
  ])(
    'an agent that is killed and %s sends no second message',
    async (_, namespace, net, lost) => {
      const { addresses, outside, drop, messages, restart } = await scene(
        namespace,
        net,
        ['web'],
        await startReader(rig, node),
      );
      const [web = ''] = addresses;
      drop(outside, web, 80, 4);
      const [first] = await rig.untilEvents(namespace, (all) => sumOf(all) === 4);
      await restart(lost);
      // Stamps are cut to seconds: without its state it distinguishes its own packets from those of the first run by them.
      const later = Date.parse(first?.lastTimestamp ?? '') + 2000;
      await delay(Math.max(0, later - Date.now()));
      drop(outside, web, 80, 3);
      await rig.untilEvents(namespace, (all) => sumOf(all, 'web') === 7, undefined, secondWrite);
      expect(await messages()).toEqual([expect.stringContaining(` ${namespace}/web: `)]);
    },
    150_000,
  );

  test('an incident is one message for the Node and one for the Service, and none for Pod notices', async () => {
    const [name, proxyPod] = ['slack-incident', 'kube-proxy-slack-incident'];
    const podLogs = rig.newFolder();
    const sick = podObject({ namespace: name, name: 'sick', node: name, addresses: ['10.87.1.1'] });
    const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: sick.status?.['startTime'] }];
    await createInQuietHours(connection, [
      nodeObject(name, '192.168.90.97'),
      kubeProxyPod(proxyPod, name, '192.168.90.97'),
      { ...sick, status: { ...sick.status, conditions } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'db', namespace: name },
        spec: { ports: [{ port: 5432, protocol: 'TCP' }] },
      },
    ]);
    const uid = await uidOf('kube-system', proxyPod);
    const log = createCriLog({ podLogs, namespace: 'kube-system', pod: proxyPod, uid, container: 'kube-proxy' });
    log.write('I1121 15:10:03.000000       1 server.go:1] "Started"');
    const agent = rig.start({ NODE_NAME: name, SOURCES: 'containers', POD_LOGS: podLogs });
    await agent.untilReady();
    const chain = `KUBE-SVC-${chainHash(`${name}/dbtcp`)}`;
    for (let attempt = 0; attempt < 2; attempt++) {
      for (const line of failedSync(chain, new Date())) log.write(line);
      // Failures within two seconds are one attempt.
      await delay(3000);
    }
    // The Pod notice is written last.
    const notifiedPods = await rig.untilEvents(name, (all) => sumOf(all, 'sick') > 0);
    expect(notifiedPods.map(({ reason, involvedObject }) => `${reason} ${involvedObject.kind}`).toSorted()).toEqual([
      'NodeNetworkDegraded Pod',
      'ServiceChainMissing Service',
    ]);
    expect(await rig.events('kube-system', proxyPod)).toMatchObject([{ reason: 'ServiceChainMissing' }]);
    const { messages } = await scene('slack-after-incident', 88, []);
    await messages();
    const sent = slack.texts.filter((text) => text.includes(name)).map((text) => text.slice(0, text.indexOf(': ')));
    expect(sent.toSorted()).toEqual([`*ServiceChainMissing* Node ${name}`, `*ServiceChainMissing* Service ${name}/db`]);
  });
});

describe('packets that had to wait, at an exporter with the usual 5 s', () => {
  test('late packets make a message, because an Event begins with the time of its first write, not with that of the packet', async () => {
    const usual = shippedConfig().replace(/^maxEventAgeSeconds:.*\n/m, '');
    const other = await startWebhook();
    const config = readExporterConfig(usual, { SLACK_WEBHOOK_URL: other.url });
    expect(config.maxEventAgeSeconds).toBe(5);
    const strict = await startEventExporter(connection, config);
    try {
      const { namespace, addresses, outside, drop, messages } = await scene('slack-late', 89, ['web']);
      drop(outside, addresses[0] ?? '', 80, 3, new Date(Date.now() - 20_000));
      const [event] = await rig.untilEvents(namespace, (all) => sumOf(all, 'web') === 3);
      if (event === undefined) throw new Error('no Event');
      expect(Date.parse(event.lastTimestamp) - Date.parse(event.firstTimestamp)).toBeGreaterThanOrEqual(19_000);

      const { name } = event.metadata;
      const metadata = { name: `${name}-by-packet`, namespace };
      const body = { ...event, metadata, lastTimestamp: event.firstTimestamp };
      expect((await connection.request('POST', `/api/v1/namespaces/${namespace}/events`, { body })).status).toBe(201);
      await messages();
      await other.until((texts) => texts.some((text) => text.includes(`${namespace}/last:`)));
      expect(other.texts.filter((text) => text.includes(`${namespace}/web:`))).toHaveLength(1);
    } finally {
      await strict.stop();
      await other.stop();
    }
  });
});

async function uidOf(namespace: string, pod: string): Promise<string> {
  const { body } = await connection.request('GET', `/api/v1/namespaces/${namespace}/pods/${pod}`);
  return (body as { metadata: { uid: string } }).metadata.uid;
}
