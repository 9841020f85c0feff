import { once } from 'node:events';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { flowCollector } from '../../src/read/sources/calico-flows/flow-collector.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** A client sends flows as Calico's Felix does, to an agent that writes Events to a real API server. */

const controlPlane = connect(inject('controlPlane'));
const node = 'flows-node';
const namespace = 'flows';
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.85.1'),
    podObject({ namespace, name: 'db-0', node, addresses: ['10.85.1.3'] }),
  ]);
});
afterAll(() => rig.killAll());

/** A flow that the receiver refused, as by a default deny. */
function denied(start_time: number, packets_in: number): object {
  const trigger = { kind: 'NetworkPolicy', namespace, name: 'default-deny', tier: 'default' };
  const Key = {
    source_name: 'web-6c8d5f7b94-*',
    source_namespace: namespace,
    source_type: 'WorkloadEndpoint',
    dest_name: 'db-*',
    dest_namespace: namespace,
    dest_type: 'WorkloadEndpoint',
    dest_port: 5432,
    proto: 'tcp',
    reporter: 'Dst',
    action: 'Deny',
    policies: { enforced_policies: [{ kind: 'EndOfTier', tier: 'default', action: 'Deny', trigger }] },
  };
  return { flow: { Key, start_time, packets_in } };
}

/** Resolves when the agent has acknowledged every flow. */
async function send(folder: string, flows: readonly object[]): Promise<void> {
  const { path, requestSerialize, responseDeserialize } = flowCollector['Connect'] as (typeof flowCollector)[string];
  const client = new Client(`unix:${join(folder, 'flows.sock')}`, credentials.createInsecure());
  const stream = client.makeBidiStreamRequest<object, object>(
    path,
    requestSerialize,
    (bytes) => responseDeserialize(bytes) as object,
  );
  // A killed agent ends its streams.
  stream.on('error', () => {});
  for (const flow of flows) {
    const receipt = once(stream, 'data');
    stream.write(flow);
    await receipt;
  }
  client.close();
}

test('flows denied by Calico have an Event with the policy, and count once if they are sent again after the agent was killed', async () => {
  const flows = rig.newFolder();
  const settings = { NODE_NAME: node, SOURCES: `calico-flows:${flows}`, STATE_DIR: rig.newFolder() };
  const first = rig.start(settings);
  await first.untilReady();
  const now = Math.floor(Date.now() / 1000);
  const before = Array.from({ length: 40 }, (_, each) => denied(now - each, 2));
  await send(flows, before);
  await first.kill();
  await rig.start(settings).untilReady();
  await send(flows, [...before.toReversed(), denied(now + 1, 5)]);
  const events = await rig.untilEvents(namespace, (all) => sumOf(all, 'db-0') >= 85);
  expect(sumOf(events, 'db-0')).toBe(85);
  expect(events[0]?.message).toContain('receiving traffic from Pods flows/web-6c8d5f7b94-* on port');
  expect(events[0]?.message).toContain('Denied by NetworkPolicy flows/default-deny.');
});
