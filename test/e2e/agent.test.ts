import { appendFileSync } from 'node:fs';
import { afterAll, expect, inject, test } from 'vitest';
import { createAgentRig, dropLine, nodeObject, podObject, type StoredEvent } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createInQuietHours } from './quiet-hours.ts';

/**
 * The bundle at a real API server. The lines come from a file, because the test also runs where it may not use the
 * kernel (scripts/arm64-proof.sh).
 */

const controlPlane = connect(inject('controlPlane'));
const node = 'agent-node';
const namespace = 'remote';
const rig = await createAgentRig(controlPlane);
afterAll(() => rig.killAll());

test('a drop between Pods of two nodes has Events on both Pods; the remote one is looked up', async () => {
  const ports = [{ name: 'postgres', containerPort: 5432 }];
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.80.1'),
    nodeObject('other-node', '192.168.80.2'),
    podObject({ namespace, name: 'web', node, addresses: ['10.80.1.1', 'fd00:80::1'] }),
    podObject({ namespace, name: 'db', node: 'other-node', addresses: ['10.80.2.1', 'fd00:80::2'], ports }),
  ]);
  const log = rig.newLog();
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}` });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.80.1.1', '10.80.2.1', 5432));
  const events = await rig.untilEvents(namespace, (all) => all.length === 2);
  expect(messagesOf(events)).toEqual({
    db: [expect.stringContaining(` ${namespace}/web (10.80.1.1) on port 5432/TCP (postgres).`)],
    web: [expect.stringContaining(` ${namespace}/db (10.80.2.1) on port 5432/TCP (postgres).`)],
  });
  expect(events[0]).toMatchObject({
    source: { component: 'kube-netfilter-tailer', host: node },
    related: { kind: 'Pod' },
    reportingComponent: 'kube-netfilter-tailer',
    reportingInstance: `kube-netfilter-tailer-${node}`,
  });
  expect(annotationsOn(events, 'db')).toMatchObject({
    schema: '1',
    node,
    direction: 'receiving',
    verdict: 'dropped',
    protocol: 'TCP',
    port: '5432',
    peer: `Pod/${namespace}/web`,
  });
  expect(annotationsOn(events, 'web')).toMatchObject({ direction: 'sending', peer: `Pod/${namespace}/db` });

  // Its second address cannot be looked up, but was found together with the first.
  appendFileSync(log, dropLine('fd00:80::1', 'fd00:80::2', 5433));
  const more = await rig.untilEvents(namespace, (all) => all.length === 4);
  expect(messagesOf(more)['db']).toContainEqual(expect.stringContaining('on port 5433/TCP.'));
});

function messagesOf(events: StoredEvent[]): Record<string, string[]> {
  const messages: Record<string, string[]> = {};
  for (const { involvedObject, message } of events) (messages[involvedObject.name] ??= []).push(message);
  return messages;
}

/** Annotations of the only Event of an object, without their prefix. */
function annotationsOn(events: StoredEvent[], object: string): Record<string, string> {
  const [event, ...others] = events.filter(({ involvedObject }) => involvedObject.name === object);
  expect(others).toEqual([]);
  const entries = Object.entries(event?.metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace('kube-netfilter-tailer/', ''), value]));
}
