import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { flowCollector } from '../../src/sources/calico-flows/flow-collector.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** A client sends flows as Calico's Felix does, to an agent that writes Events to a real API server. */

const controlPlane = connect(inject('controlPlane'));
const node = 'flows-node';
let rig: AgentRig;
const clients: Client[] = [];

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createInQuietHours(controlPlane, [nodeObject(node, '192.168.85.1')]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await rig.killAll();
});
afterAll(() => rig.killAll());

interface Sent {
  readonly start_time: number;
  readonly port: number;
  readonly packets: number;
}

/** Refused by the receiver, as default deny does. */
function flowOf(namespace: string, { start_time, port, packets }: Sent): object {
  const hit = { kind: 'NetworkPolicy', namespace, name: 'default-deny', tier: 'default' };
  const Key = {
    source_name: 'web-6c8d5f7b94-*',
    source_namespace: namespace,
    source_type: 'WorkloadEndpoint',
    dest_name: 'db-*',
    dest_namespace: namespace,
    dest_type: 'WorkloadEndpoint',
    dest_port: port,
    proto: 'tcp',
    reporter: 'Dst',
    action: 'Deny',
    policies: { enforced_policies: [{ kind: 'EndOfTier', tier: 'default', action: 'Deny', trigger: hit }] },
  };
  return { flow: { Key, start_time, packets_in: packets } };
}

function connectTo(folder: string): ClientDuplexStream<object, object> {
  const { path, requestSerialize, responseDeserialize } = flowCollector['Connect'] as (typeof flowCollector)[string];
  const client = new Client(`unix:${join(folder, 'flows.sock')}`, credentials.createInsecure());
  clients.push(client);
  // A killed agent ends its streams.
  return client
    .makeBidiStreamRequest<object, object>(path, requestSerialize, (bytes) => responseDeserialize(bytes) as object)
    .on('error', () => {});
}

async function send(stream: ClientDuplexStream<object, object>, ...flows: object[]): Promise<void> {
  for (const flow of flows) {
    const receipt = once(stream, 'data');
    stream.write(flow);
    await receipt;
  }
}

async function pods(namespace: string, net: number): Promise<void> {
  await createInQuietHours(controlPlane, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    podObject({ namespace, name: 'db-0', node, addresses: [`10.85.${net}.3`] }),
  ]);
}

const now = (): number => Math.floor(Date.now() / 1000);

test('a flow that Calico denied has an Event on the Pod of this node, with the policy', async () => {
  await pods('flows', 1);
  const flows = rig.newFolder();
  const agent = rig.start({ NODE_NAME: node, SOURCES: `calico-flows:${flows}`, STATE_DIR: rig.newFolder() });
  await agent.untilReady();
  await send(connectTo(flows), flowOf('flows', { start_time: now(), port: 5432, packets: 3 }));
  const events = await rig.untilEvents('flows', (all) => sumOf(all, 'db-0') === 3);
  expect(events).toHaveLength(1);
  expect(events[0]?.message).toContain('receiving traffic from flows/web-6c8d5f7b94-* (');
  expect(events[0]?.message).toContain('Denied by NetworkPolicy flows/default-deny.');
});

test.each([
  ['a killed one', 'flows-kill', 2, 'SIGKILL'],
  ['one that was stopped', 'flows-stop', 3, 'SIGTERM'],
] as const)(
  'flows that are sent again to the agent after %s are counted once',
  async (_previous, namespace, net, signal) => {
    await pods(namespace, net);
    const flows = rig.newFolder();
    const settings = { NODE_NAME: node, SOURCES: `calico-flows:${flows}`, STATE_DIR: rig.newFolder() };
    const first = rig.start(settings);
    await first.untilReady();
    const start_time = now();
    const before = Array.from({ length: 40 }, (_, each) =>
      flowOf(namespace, { start_time: start_time - each, port: 5432, packets: 2 }),
    );
    await send(connectTo(flows), ...before);
    first.signal(signal);
    await first.untilExit();
    expect(existsSync(join(flows, 'flows.sock'))).toBe(true);
    const second = rig.start(settings);
    await second.untilReady();
    const stream = connectTo(flows);
    await send(
      stream,
      ...before.toReversed(),
      flowOf(namespace, { start_time: start_time + 1, port: 5432, packets: 5 }),
    );
    const events = await rig.untilEvents(namespace, (all) => sumOf(all, 'db-0') >= 85);
    expect(sumOf(events, 'db-0')).toBe(85);
  },
);
