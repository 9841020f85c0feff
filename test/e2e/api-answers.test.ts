import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { readKubeconfig } from '../../src/agent/kubernetes/kubeconfig.ts';
import { type Connection, createConnection } from '../../src/agent/kubernetes/connection.ts';
import { createEventStore } from '../../src/agent/kubernetes/written-objects.ts';
import { countAll, listAll, watchEvents } from '../../src/agent/kubernetes/list-watch.ts';
import { createCalicoBlockFinder } from '../../src/agent/kubernetes/calico-block.ts';
import { createFieldSelectorFinder, createPodCidrFinder } from '../../src/agent/kubernetes/pod-finders.ts';
import { createSteadyClock } from '../../src/base/platform/clock.ts';
import { slimPod } from '../../src/agent/kubernetes/slim.ts';
import { denierOf } from '../../src/publish/events/denial.ts';
import { type CoreEvent, eventOf } from '../../src/publish/events/event.ts';
import type { Refusal } from '../../src/publish/events/event-writer.ts';
import { series } from '../builders.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { accountWith, createAgentRig, kubeconfigWith, nodeObject, podObject } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { CERTIFICATES } from './control-plane/servers.ts';
import { rulesIn } from './granted.ts';

/**
 * The agent's assumptions about an API server, tested at a real one. The fake servers in test/agent/kubernetes and
 * test/publish/events, which show faults that this one cannot be made to show, answer in the same way.
 */

const controlPlane = connect(inject('controlPlane'));
const namespace = 'answers';
/** Only these Pods, because other test files create Pods at the same time. */
const ours = `/api/v1/namespaces/${namespace}/pods`;
const clock = createSteadyClock();
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

/** An object as large as etcd accepts. JSON writes `<` as six characters. */
function largeRole(name: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { namespace: 'answers-large', name },
    rules: [{ apiGroups: [''], resources: ['x'], verbs: ['get'], resourceNames: ['<'.repeat(1_500_000)] }],
  };
}

function nameOf(object: unknown): string {
  return (object as { metadata: { name: string } }).metadata.name;
}

describe('lists', () => {
  test('lists from the cache are complete whatever the limit, also by node', async () => {
    const query = { resourceVersion: '0', limit: 1, fieldSelector: 'spec.nodeName=answers-node' };
    const answer = await connection.request('GET', '/api/v1/pods', { query });
    expect(answer).toMatchObject({ kind: 'answered', body: { items: { length: 3 } } });
  });

  test('lists in pages are equal to complete ones', async () => {
    const whole = await listAll(connection, ours, { pageSize: undefined }, slimPod);
    const paged = await listAll(connection, ours, { pageSize: 2 }, slimPod);
    expect(whole.items).toHaveLength(3);
    expect(paged.items.map(({ uid }) => uid).toSorted()).toEqual(whole.items.map(({ uid }) => uid).toSorted());
    expect(Number(paged.resourceVersion)).toBeGreaterThan(0);
  });

  test('lists of objects of the largest accepted size, in characters that JSON escapes, are complete, and so are watch events', async () => {
    const large = '/apis/rbac.authorization.k8s.io/v1/namespaces/answers-large/roles';
    const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'answers-large' } };
    expect(await controlPlane.request('POST', '/api/v1/namespaces', { body: space })).toMatchObject({ status: 201 });
    for (const name of ['a', 'b', 'c'])
      expect(await controlPlane.request('POST', large, { body: largeRole(name) })).toMatchObject({ status: 201 });

    for (const pageSize of [undefined, 100])
      expect((await listAll(connection, large, { pageSize }, nameOf)).items).toEqual(['a', 'b', 'c']);

    const stopping = new AbortController();
    const seen: string[] = [];
    for await (const event of watchEvents(connection, large, {}, 60_000, stopping.signal)) {
      if (event !== undefined) seen.push(nameOf(event.object));
      if (seen.length === 3) break;
    }
    expect(seen.toSorted()).toEqual(['a', 'b', 'c']);
    expect(await controlPlane.request('DELETE', large)).toMatchObject({ status: 200 });
  });

  test('lists can be counted without being read', async () => {
    expect(await countAll(connection, ours)).toBe(3);
  });

  test('lists from an invalid page are refused', async () => {
    const answer = await connection.request('GET', '/api/v1/pods', { query: { limit: 1, continue: 'nonsense' } });
    expect(answer).toMatchObject({ kind: 'refused', status: 400, reason: 'BadRequest' });
  });
});

test("a look-up by field selector finds Pods on the host's network by their node's address", async () => {
  const { find } = createFieldSelectorFinder({ connection, clock });
  expect(await find('192.168.90.1', 'shop')).toMatchObject({
    pods: [{ name: 'host', hostNetwork: true, node: 'answers-node' }],
  });
  expect(await find('10.90.0.99', 'shop')).toEqual({ pods: [] });
  expect(await find('fd00:90::1', 'shop')).toEqual({ pods: [] });
});

test("a look-up by a node's range finds all its Pods, by each of their addresses", async () => {
  const ranges = { homeOf: () => 'answers-node', followed: () => true, describe: () => '' };
  const { find } = createPodCidrFinder({ connection, ranges, clock });
  expect(await find('fd00:90::1', 'shop')).toMatchObject({ pods: [{ name: 'one' }, { name: 'two' }] });
  expect(await find('10.90.0.99', 'shop')).toBeUndefined();
});

test("a look-up by a block of Calico finds a second Pod of the block with one request and the component's rights", async () => {
  // This makes the namespace of the accounts.
  await createAgentRig(controlPlane);
  const group = 'crd.projectcalico.org';
  const kinds = ['IPPool', 'IPAMBlock'];
  await controlPlane.apply(...kinds.map((kind) => definitionOf({ group, version: 'v1', kind, scope: 'Cluster' })));
  await controlPlane.succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const attributes = ['one', 'two'].map((pod) => ({ secondary: { namespace, node: 'answers-node', pod } }));
  const allocations = Array.from({ length: 64 }, (_, ordinal) => ([1, 2].includes(ordinal) ? ordinal - 1 : null));
  const [pool, block] = [
    { cidr: '10.90.0.0/16', blockSize: 26 },
    { cidr: '10.90.0.0/26', affinity: 'host:answers-node', allocations, attributes, unallocated: [] },
  ];
  const objects = [
    { apiVersion: `${group}/v1`, kind: 'IPPool', metadata: { name: 'answers' }, spec: pool },
    { apiVersion: `${group}/v1`, kind: 'IPAMBlock', metadata: { name: '10-90-0-0-26' }, spec: block },
  ];
  await vi.waitFor(() => controlPlane.apply(...objects), { timeout: 60_000, interval: 250 });
  const rules = rulesIn('deploy/base/rbac.yaml', 'deploy/components/calico-lookups/rbac.yaml');
  const asked: string[] = [];
  const { request } = connectAs(await kubeconfigWith(controlPlane, 'answers-calico', rules));
  const counting: Pick<Connection, 'request'> = {
    request: (verb, path, options) => (asked.push(path), request(verb, path, options)),
  };
  const { find } = createCalicoBlockFinder({ connection: counting, clock });
  expect(await find('10.90.0.1', 'shop')).toMatchObject({ pods: [{ name: 'one' }] });
  const before = asked.length;
  expect(await find('10.90.0.2', 'shop')).toMatchObject({ pods: [{ name: 'two' }] });
  expect(asked.slice(before)).toEqual([`${ours}/two`]);
});

test('an Event is created once, changed by its version, and refused with an old version', async () => {
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

test('an annotation missing in a later write is removed if it may be; annotations of others stay', async () => {
  const store = createEventStore(connection);
  const event = exampleEvent('annotated', 1);
  const annotated = (annotations: Record<string, string>): CoreEvent => ({
    ...event,
    metadata: { ...event.metadata, annotations },
  });
  const [peer, policy] = ['kube-netfilter-tailer/peer', 'kube-netfilter-tailer/policy'];
  const made = await store.create(annotated({ [peer]: 'Node/a', [policy]: 'NetworkPolicy/shop/a', other: 'x' }));
  const version = made.kind === 'stored' ? made.event.resourceVersion : '';
  const changed = await store.update(annotated({ [peer]: 'Node/b' }), version);
  expect(changed).toMatchObject({ kind: 'stored' });
  expect(changed.kind === 'stored' && changed.event.annotations).toEqual({ [peer]: 'Node/b', other: 'x' });
});

describe('an Event that is denied despite the right to write it', () => {
  const place = 'answers-denied';
  const admission = '/apis/admissionregistration.k8s.io/v1';

  beforeAll(async () => {
    await controlPlane.kubectl(['create', 'namespace', place]);
  });

  test('an Event without the right counts as refused, not as denied', async () => {
    // This makes the namespace of the accounts.
    await createAgentRig(controlPlane);
    const token = await accountWith(controlPlane, 'answers-reader', []);
    const reader = createEventStore(connectAs(await controlPlane.writeKubeconfig('answers-reader', token)));
    const event = exampleEvent('right', 1, place);
    for (const answer of [await reader.create(event), await reader.update(event, '1')]) {
      expect(answer).toMatchObject({ status: 403, reason: 'Forbidden' });
      expect(denierOf(answer as Refusal)).toBeUndefined();
    }
  });

  // A policy that gives no reason has the reason `Invalid`.
  test.each([
    ['Forbidden', 403],
    ['Invalid', 422],
    ['RequestEntityTooLarge', 413],
  ])('an Event that a policy denies is recognized, with the reason %s', async (reason, status) => {
    const name = `answers-${reason.toLowerCase()}`;
    const message = `not \u202e\u001b[31m ${'here '.repeat(200)}`;
    await post(`${admission}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': place } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['events'] }],
        },
        matchConditions: [{ name: 'ours', expression: `object.message == '${name}'` }],
        validations: [{ expression: 'false', messageExpression: JSON.stringify(message), reason }],
      },
    });
    await post(`${admission}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    const refusal = await untilRefused(`by-${name}`, { message: name });
    expect(refusal).toMatchObject({ status });
    expect(refusal.message).toContain(`ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request`);
    expect(refusal.message).not.toContain('\u001b');
    expect(refusal.message.length).toBeLessThan(2048);
    expect(denierOf(refusal)).toBe('policy');
  });

  test('an Event that a webhook denies is recognized', async () => {
    const certificate = join(controlPlane.folder, CERTIFICATES, 'apiserver');
    const [cert, key] = await Promise.all([readFile(`${certificate}.crt`), readFile(`${certificate}.key`)]);
    const webhook = createServer({ cert, key }, (asked, answer) => void deny(asked, answer));
    await once(webhook.listen(0, '127.0.0.1'), 'listening');
    const name = 'webhook.answers.example.org';
    const path = `${admission}/validatingwebhookconfigurations`;
    const { port } = webhook.address() as AddressInfo;
    const caBundle = Buffer.from(controlPlane.certificateAuthority).toString('base64');
    await post(path, {
      metadata: { name },
      webhooks: [
        {
          name,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': place } },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['events'] }],
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
        },
      ],
    });
    try {
      const refusal = await untilRefused('by-webhook', {});
      const message = `admission webhook "${name}" denied the request: no such tenant`;
      expect(refusal).toMatchObject({ status: 404, message });
      expect(denierOf(refusal)).toBe('webhook');
    } finally {
      await controlPlane.request('DELETE', `${path}/${name}`);
      webhook.closeAllConnections();
      webhook.close();
    }
  });

  test('no quota denies an Event, because quotas leave out Events, whatever they count', async () => {
    const here = 'answers-quota';
    await controlPlane.kubectl(['create', 'namespace', here]);
    const quotas = `/api/v1/namespaces/${here}/resourcequotas`;
    const hard = { 'count/events': '0', 'count/configmaps': '0' };
    await post(quotas, { metadata: { name: 'small' }, spec: { hard } });
    const body = { status: { hard, used: hard } };
    await controlPlane.request('PATCH', `${quotas}/small/status`, { body });
    const configMaps = `/api/v1/namespaces/${here}/configmaps`;
    const refusal = await vi.waitUntil(
      async () => {
        const metadata = { name: `counted-${Date.now()}` };
        const answer = await connection.request('POST', configMaps, { body: { metadata } });
        return answer.kind === 'refused' && answer.message.includes('exceeded') && answer;
      },
      { timeout: 60_000, interval: 200 },
    );
    expect(refusal).toMatchObject({ status: 403, message: expect.stringContaining('exceeded quota: small') });
    expect(denierOf(refusal)).toBe('quota');
    const written = await createEventStore(connection).create(exampleEvent('uncounted', 1, here));
    expect(written).toMatchObject({ kind: 'stored' });
  });

  /** A change of admission takes effect a moment later. */
  async function untilRefused(name: string, given: Partial<CoreEvent>): Promise<Refusal> {
    const store = createEventStore(connection);
    return await vi.waitUntil(
      async () => {
        const answer = await store.create({ ...exampleEvent(`${name}-${Date.now()}`, 1, place), ...given });
        return answer.kind === 'refused' && answer;
      },
      { timeout: 60_000, interval: 200 },
    );
  }
});

test('its clock equals ours, because both run on this machine', async () => {
  const before = Date.now();
  const frozen = connectAs(controlPlane.adminKubeconfig, () => before);
  await frozen.request('GET', ours);
  const lasted = Date.now() - before;
  // The stamp has whole seconds, whose middle is assumed, and was made at some moment of the request.
  expect(frozen.clockSkew).toBeLessThanOrEqual(500);
  expect(frozen.clockSkew).toBeGreaterThanOrEqual(-500 - lasted);
});

function connectAs(kubeconfig: string, now = Date.now): Connection {
  return createConnection({
    access: readKubeconfig(kubeconfig),
    userAgent: 'test',
    onRequest: () => {},
    clock: { now, wall: now },
  });
}

function exampleEvent(name: string, count: number, place = namespace): CoreEvent {
  const event = eventOf(series({ count }), 'a message', Date.now());
  return {
    ...event,
    metadata: { namespace: place, name: `web.${name}` },
    involvedObject: { ...event.involvedObject, namespace: place },
  };
}

async function post(path: string, body: unknown): Promise<void> {
  expect(await connection.request('POST', path, { body })).toMatchObject({ kind: 'answered' });
}

/** Answers a review of admission with a refusal. */
async function deny(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const review = (await json(asked)) as { request: { uid: string } };
  const status = { code: 404, message: 'no such tenant' };
  const response = { uid: review.request.uid, allowed: false, status };
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ ...review, request: undefined, response }));
}
