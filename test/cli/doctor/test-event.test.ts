import { expect, test } from 'vitest';
import { sendTestEvent } from '../../../src/cli/doctor/test-event.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import { nine } from '../../builders.ts';
import { answered, fakeApi } from './fake.ts';

const now = (): number => nine;
const metadata = { namespace: 'tools', name: 'agent-x', uid: 'u1', resourceVersion: '5' };
const node = { metadata: { name: 'node-a', uid: 'n1' } };

function cluster(create = answered({})): ReturnType<typeof fakeApi> {
  return fakeApi(({ verb, path, query }) => {
    if (verb === 'POST') return create;
    if (path === '/api/v1/nodes')
      return answered({ items: query['fieldSelector'] === 'metadata.name=node-a' ? [node] : [] });
    if (path === '/api/v1/namespaces/tools/pods')
      return answered({ items: query['fieldSelector'] === 'metadata.name=agent-x' ? [{ metadata }] : [] });
    return answered({ items: [] });
  });
}

function eventIn({ asked }: ReturnType<typeof fakeApi>): CoreEvent {
  return asked.find(({ verb }) => verb === 'POST')?.body as CoreEvent;
}

test("the test Event is written on the agent's own Pod", async () => {
  const api = cluster();
  const result = await sendTestEvent({ api, node: 'node-a', pod: undefined, ownPod: metadata, now });
  const event = eventIn(api);
  expect(event).toMatchObject({
    metadata: { namespace: 'tools', name: expect.stringMatching(/^agent-x\.[0-9a-f]{20}$/) as string },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', ...metadata },
    reason: 'TestEvent',
    type: 'Normal',
    count: 1,
    source: { component: 'kube-netfilter-tailer', host: 'node-a' },
    message: expect.stringContaining(' from node-a: ') as string,
  });
  expect(result).toEqual({
    kind: 'written',
    event: { namespace: 'tools', name: event.metadata.name },
    on: 'Pod tools/agent-x',
    look: 'kubectl get events -n tools --field-selector involvedObject.name=agent-x,reason=TestEvent',
  });
});

test('the test Event is written on the Node if no Pod has that name', async () => {
  const api = cluster();
  const ownPod = { namespace: 'tools', name: 'node-a' };
  const result = await sendTestEvent({ api, node: 'node-a', pod: undefined, ownPod, now });
  expect(eventIn(api)).toMatchObject({
    metadata: { namespace: 'default' },
    involvedObject: { kind: 'Node', name: 'node-a', uid: 'n1' },
  });
  expect(result).toMatchObject({ on: 'Node node-a', look: expect.stringContaining('-n default') as string });
});

test('each call writes another test Event', async () => {
  const names = new Set<string>();
  for (let time = 0; time < 3; time++) {
    const api = cluster();
    await sendTestEvent({ api, node: 'node-a', pod: metadata, ownPod: undefined, now });
    names.add(eventIn(api).metadata.name);
  }
  expect(names.size).toBe(3);
});
