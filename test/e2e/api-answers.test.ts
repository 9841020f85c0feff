import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { loadConfig } from '../../src/kubernetes/config.ts';
import { type Connection, createConnection } from '../../src/kubernetes/connection.ts';
import { createEventStore } from '../../src/kubernetes/event-store.ts';
import { countAll, listAll, RefusedError } from '../../src/kubernetes/paged-list.ts';
import { createPodLookup } from '../../src/kubernetes/pod-lookup.ts';
import { slimPod } from '../../src/kubernetes/slim.ts';
import { type CoreEvent, eventOf } from '../../src/publishing/event.ts';
import { series } from '../builders.ts';
import { createAgentRig, nodeObject, podObject } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { freePorts } from './control-plane/ports.ts';

/**
 * What the agent takes for granted of an API server, held against a real one. The servers in test/kubernetes and
 * test/publishing, which show faults that this one cannot be made to show, answer as it does.
 */

const controlPlane = connect(inject('controlPlane'));
const namespace = 'answers';
/** Other test files make Pods at the same time. */
const ours = `/api/v1/namespaces/${namespace}/pods`;
let connection: Connection;

beforeAll(async () => {
  connection = connectAs(controlPlane.adminKubeconfig);
  const host = podObject({ namespace, name: 'host', node: 'answers-node', addresses: ['192.168.90.1'] });
  await createObjects(controlPlane, {
    items: [
      nodeObject('answers-node', '192.168.90.1'),
      { ...host, spec: { ...host.spec, hostNetwork: true } },
      podObject({ namespace, name: 'one', node: 'answers-node', addresses: ['10.90.0.1', 'fd00:90::1'] }),
      podObject({ namespace, name: 'two', node: 'answers-node', addresses: ['10.90.0.2'] }),
    ],
  });
});

describe('lists', () => {
  test('from the cache are whole, whatever the limit; by node too', async () => {
    const query = { resourceVersion: '0', limit: 1, fieldSelector: 'spec.nodeName=answers-node' };
    const answer = await connection.request('GET', '/api/v1/pods', { query });
    expect(answer).toMatchObject({ kind: 'answered', body: { items: { length: 3 } } });
  });

  test('in pages are the same', async () => {
    const whole = await listAll(connection, ours, { pageSize: undefined }, slimPod);
    const paged = await listAll(connection, ours, { pageSize: 2 }, slimPod);
    expect(whole.items).toHaveLength(3);
    expect(paged.items.map(({ uid }) => uid).toSorted()).toEqual(whole.items.map(({ uid }) => uid).toSorted());
    expect(Number(paged.resourceVersion)).toBeGreaterThan(0);
  });

  test('can be counted without being read', async () => {
    expect(await countAll(connection, ours)).toBe(3);
  });

  test('from a page that never was are refused', async () => {
    const answer = await connection.request('GET', '/api/v1/pods', { query: { limit: 1, continue: 'nonsense' } });
    expect(answer).toMatchObject({ kind: 'refused', status: 400, reason: 'BadRequest' });
  });
});

describe('a look-up', () => {
  test('finds Pods on the host’s network by the address of their node', async () => {
    const find = createPodLookup(connection, () => undefined);
    expect(await find('192.168.90.1')).toMatchObject([{ name: 'host', hostNetwork: true, node: 'answers-node' }]);
    expect(await find('10.90.0.99')).toEqual([]);
  });

  test('does not find a second address, unless it is known on which node it must be', async () => {
    expect(await createPodLookup(connection, () => undefined)('fd00:90::1')).toEqual([]);
    expect(await createPodLookup(connection, () => 'answers-node')('fd00:90::1')).toMatchObject([{ name: 'one' }]);
  });
});

describe('a refusal', () => {
  test('of a wrong token', async () => {
    const stranger = connectAs(await controlPlane.writeKubeconfig('answers-stranger', 'nobody'));
    expect(await stranger.request('GET', '/api/v1/pods')).toMatchObject({ status: 401, reason: 'Unauthorized' });
  });

  test('names the missing right', async () => {
    const { kubeconfig } = await createAgentRig(controlPlane);
    const answer = await connectAs(kubeconfig).request('GET', '/api/v1/secrets');
    expect(answer).toMatchObject({
      status: 403,
      reason: 'Forbidden',
      message: expect.stringContaining('cannot list resource "secrets" in API group "" at the cluster scope'),
    });
    await expect(countAll(connectAs(kubeconfig), '/api/v1/secrets')).rejects.toThrow(RefusedError);
  });

  test('comes at once when nobody listens', async () => {
    const nowhere = connectAs(await writeUnreachable());
    expect(await nowhere.request('GET', '/api/v1/pods')).toMatchObject({
      status: 0,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('an Event', () => {
  test('is made once, changed by its version, and refused by an old one', async () => {
    const store = createEventStore(connection);
    const event = exampleEvent('changed', 1);
    const made = await store.create(event);
    expect(made).toMatchObject({ kind: 'stored', event: { count: 1, component: 'kube-netfilter-tailer' } });
    expect(await store.create(event)).toMatchObject({ status: 409, reason: 'AlreadyExists' });
    const version = made.kind === 'stored' ? made.event.resourceVersion : '';
    const changed = await store.update({ ...event, count: 2 }, version);
    expect(changed).toMatchObject({ kind: 'stored', event: { count: 2 } });
    expect(await store.update({ ...event, count: 3 }, version)).toMatchObject({ status: 409, reason: 'Conflict' });
    expect(await store.read(namespace, event.metadata.name)).toEqual(changed);
  });

  test('that is gone cannot be changed', async () => {
    const store = createEventStore(connection);
    const event = exampleEvent('gone', 1);
    expect(await store.update(event, '1')).toMatchObject({ status: 404 });
    expect(await store.read(namespace, event.metadata.name)).toMatchObject({ status: 404, reason: 'NotFound' });
  });

  test('cannot be made where there is no namespace, or one that is going', async () => {
    const store = createEventStore(connection);
    expect(await store.create(exampleEvent('elsewhere', 1, 'never-was'))).toMatchObject({ status: 404 });
    await controlPlane.kubectl(['create', 'namespace', 'answers-going']);
    await controlPlane.request('DELETE', '/api/v1/namespaces/answers-going');
    expect(await store.create(exampleEvent('elsewhere', 1, 'answers-going'))).toMatchObject({
      status: 403,
      reason: 'NamespaceTerminating',
    });
  });
});

test('its clock is ours: both run on this machine', async () => {
  const before = Date.now();
  const frozen = connectAs(controlPlane.adminKubeconfig, () => before);
  await frozen.request('GET', ours);
  const lasted = Date.now() - before;
  // The stamp is cut to seconds, the middle of which it is taken for, and was made at some time of the request.
  expect(frozen.clockSkew).toBeLessThanOrEqual(500);
  expect(frozen.clockSkew).toBeGreaterThanOrEqual(-500 - lasted);
});

function connectAs(kubeconfig: string, now = Date.now): Connection {
  return createConnection({
    load: () => loadConfig(kubeconfig),
    userAgent: 'test',
    onRequest: () => {},
    now,
  });
}

/** As the administrator's, but for a port on which nothing listens. */
async function writeUnreachable(): Promise<string> {
  const [port] = await freePorts(1);
  const text = await readFile(controlPlane.adminKubeconfig, 'utf8');
  const path = `${controlPlane.adminKubeconfig}-unreachable`;
  await writeFile(path, text.replace(controlPlane.server, `https://127.0.0.1:${port}`));
  return path;
}

function exampleEvent(name: string, count: number, place = namespace): CoreEvent {
  const event = eventOf(series({ count }), 'a message', Date.now());
  return {
    ...event,
    metadata: { namespace: place, name: `web.${name}` },
    involvedObject: { ...event.involvedObject, namespace: place },
  };
}
