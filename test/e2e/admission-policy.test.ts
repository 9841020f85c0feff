import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createConnection } from '../../src/agent/kubernetes/connection.ts';
import { readKubeconfig } from '../../src/agent/kubernetes/kubeconfig.ts';
import { createEventStore } from '../../src/agent/kubernetes/written-objects.ts';
import { nodeRefByName, type ObjectRef, podRef } from '../../src/base/model/endpoint.ts';
import { type CoreEvent, eventOf } from '../../src/publish/events/event.ts';
import { createEventWriter } from '../../src/publish/events/event-writer.ts';
import { finding, series } from '../builders.ts';
import { root } from '../deploy/manifests.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from './agent-rig.ts';
import { bundle, bundleNode } from './bundle.ts';
import { type Answer, connect } from './control-plane/connection.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createObjects } from './control-plane/objects.ts';
import { createDeploying, succeed } from './deploying.ts';
import { run } from './network/command.ts';
import { clusterRights } from './granted.ts';
import { differences, type FieldChange, fieldChanges, merged } from './openapi-fields.ts';
import { until } from './until.ts';

/**
 * deploy/components/admission-policy at a real API server, with tokens like those that the kubelet fetches for a Pod.
 * The policy is installed in a namespace of its own, because it would refuse the agents of other test files, whose
 * tokens belong to no Pod. cluster/incidents.test.ts tests on real nodes that agents write all their Events with the
 * policy in force.
 */

const connection = connect(inject('controlPlane'));
const { request, kubectl } = connection;
const namespace = 'admitted';
const account = 'kube-netfilter-tailer';
const [nodeA, nodeB] = ['admitted-a', 'admitted-b'] as const;
const tenant = 'admitted-tenant';
const asItself = `fieldManager=${account}`;

let folder: string;
let rig: AgentRig;
/** Tokens bound to the agent's Pod on that node. `unbound`: bound to nothing, as `kubectl create token` makes it. */
let tokens: Record<'a' | 'b' | 'unbound' | 'stranger', string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-admission-'));
  rig = await createAgentRig(connection);
  const { apply } = createDeploying(connection, folder);
  await succeed(apply(await renderInNamespace()));
  await createObjects(connection, {
    items: [
      nodeObject(nodeA, '192.168.81.1'),
      nodeObject(nodeB, '192.168.81.2'),
      agentPod('agent-a', nodeA),
      agentPod('agent-b', nodeB),
      podObject({ namespace: tenant, name: 'web', node: nodeA, addresses: ['10.81.1.1'] }),
    ],
  });
  await succeed(kubectl(['create', 'serviceaccount', 'stranger', '-n', namespace]));
  await grant('admitted-stranger', 'stranger', [
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ]);
  // A right that the agent does not have: the newer group is another way to the same Events.
  await grant('admitted-newer', account, [
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'get'] },
  ]);
  tokens = {
    a: await tokenOf(account, 'agent-a'),
    b: await tokenOf(account, 'agent-b'),
    unbound: await tokenOf(account),
    stranger: await tokenOf('stranger'),
  };
  await untilInForce();
});
afterAll(async () => {
  await rig.killAll();
  await succeed(kubectl(['delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', account]));
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ['a Pod', event({})],
  ['a Pod of another node, which lost a packet here', event({ involvedObject: { name: 'elsewhere' } })],
  ['its own Node', event({ metadata: { namespace: 'default' }, involvedObject: nodeReference(nodeA) })],
  ['a Service', event({ involvedObject: { kind: 'Service', name: 'db' } })],
])('accepts an Event on %s, and changes of it', async (_, body) => {
  const created = await create(tokens.a, body);
  expect(created).toMatchObject({ status: 201 });
  expect(await patch(tokens.a, nameOf(created), { count: 2 }, body.metadata.namespace)).toMatchObject({ status: 200 });
});

test('accepts a change through the newer API group', async () => {
  const name = nameOf(await create(tokens.a, event({})));
  expect(await annotateNewer(name)).toMatchObject({ status: 200 });
});

describe('the Node of an agent with the component node-condition', () => {
  const stale = { type: 'NetfilterRulesStale', status: 'True', reason: 'RulesRefused', message: 'KN107' };
  beforeAll(() =>
    grant('admitted-condition', account, [{ apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] }]),
  );

  test('its own condition may be set', async () => {
    expect(await patchStatus(tokens.a, nodeA, { status: { conditions: [stale] } })).toMatchObject({ status: 200 });
  });

  test.each<[string, object]>([
    ['another condition', { status: { conditions: [{ ...stale, type: 'Ready' }] } }],
    ['an address', { status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] } }],
    ['the allocatable resources', { status: { allocatable: { cpu: '99' } } }],
    ['a label', { metadata: { labels: { trusted: 'yes' } } }],
    ['an annotation', { metadata: { annotations: { trusted: 'yes' } } }],
  ])('%s may not be set', async (_, body) => {
    expectRefusal(
      await patchStatus(tokens.a, nodeA, body),
      /an agent changes nothing of a Node but its condition NetfilterRulesStale$/,
    );
  });

  test('the condition of another Node may not be set', async () => {
    expectRefusal(
      await patchStatus(tokens.a, nodeB, { status: { conditions: [stale] } }),
      /the token is bound to node admitted-a: an agent changes no other Node$/,
    );
  });
});

/** With every right on Nodes and Events, so that only the policy limits it. */
describe('a stolen token with every right of RBAC', () => {
  let own: string;
  beforeAll(async () => {
    await grant('admitted-all', account, [
      { apiGroups: [''], resources: ['nodes', 'nodes/status', 'events'], verbs: ['*'] },
    ]);
    own = nameOf(await create(tokens.a, event({})));
    await until(isGranted, () => 'the rights are not in force');
  });

  test('changes only the condition of its own Node, with any verb and on any subresource', async () => {
    const path = `/api/v1/nodes/${nodeA}`;
    const read = async (): Promise<object> => (await request('GET', path)).body as object;
    const changes = await fieldChanges(connection, 'Node');
    expect(changes.length).toBeGreaterThan(80);
    const before = await read();
    const refused = await attack(changes, [path, `${path}/status`], read);
    expect(refused).toBeGreaterThan(300);
    const after = differences(before, await read()).filter((each) => !ownOfServer.test(each));
    expect(after).toEqual([]);
  });

  test('changes only those fields of its Event that the program changes', async () => {
    const path = `/api/v1/namespaces/${tenant}/events/${own}`;
    const read = async (): Promise<object> => (await request('GET', path)).body as object;
    const changes = await fieldChanges(connection, 'Event');
    expect(changes.length).toBeGreaterThan(40);
    const before = await read();
    const refused = await attack(changes, [path], read);
    expect(refused).toBeGreaterThan(60);
    const changed = differences(before, await read()).filter((each) => !ownOfServer.test(each));
    expect(changed.filter((each) => !mayChange.test(each))).toEqual([]);
  });

  test.each<[string, object]>([
    ['a finalizer', { metadata: { finalizers: ['example.org/never'] } }],
    ['an owner', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } }],
    ['a label', { metadata: { labels: { x: 'y' } } }],
    ['an annotation of others', { metadata: { annotations: { 'example.org/x': 'y' } } }],
    ['a long annotation', { metadata: { annotations: { 'kube-netfilter-tailer/x': 'y'.repeat(200_000) } } }],
    ['the name of an Event of the kubelet', { metadata: { name: 'web.17f0a1b2c3d4e5f6' } }],
    ['a reason of the kubelet', { reason: 'Evicted' }],
    ['a Secret', { involvedObject: { kind: 'Secret' } }],
    ['a Deployment', { involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment' } }],
    ['no kind', { involvedObject: { kind: '' } }],
    ['a kind in lower case', { involvedObject: { kind: 'node', name: nodeB } }],
    ['a field within the object', { involvedObject: { fieldPath: 'spec.containers{x}' } }],
    ['another kind as related', { related: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' } }],
    ['an action', { action: 'Killing' }],
    ['a series', { series: { count: 9, lastObservedTime: '2026-11-28T15:00:00.000000Z' } }],
    ['another type', { type: 'Critical' }],
    ['the instance of another node', { reportingInstance: `${account}-${nodeB}` }],
    ['a message of 100 KB', { message: 'x'.repeat(100_000) }],
  ])('creates no Event with %s', async (_, fields) => {
    const body = merged({ ...event({}), metadata: { name: eventName(), namespace: tenant } }, fields);
    const path = `/api/v1/namespaces/${tenant}/events`;
    for (const query of ['', `?${asItself}`]) {
      const { status } = await request('POST', path + query, { body, token: tokens.a });
      expect([403, 422]).toContain(status);
    }
    const { name } = (body as KubernetesObject).metadata;
    const { status } = await applyAs(`${path}/${name}`, body, account);
    expect([400, 403, 422]).toContain(status);
  });

  test("writes only in its own name, and removes nothing of the kubelet's", async () => {
    const conditions = [{ type: 'NetfilterRulesStale', status: 'False', reason: 'x', message: 'x' }];
    const path = `/api/v1/nodes/${nodeA}/status`;
    const contentType = 'application/strategic-merge-patch+json';
    const body = { status: { conditions } };
    // The API server keeps managedFields only since the first apply.
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeA }, status: { phase: 'Running' } };
    const asAdmin = { body: applied, contentType: 'application/apply-patch+yaml' };
    expect(await request('PATCH', `${path}?fieldManager=kubelet&force=true`, asAdmin)).toMatchObject({ status: 200 });
    const asKubelet = await request('PATCH', `${path}?fieldManager=kubelet`, { body, contentType, token: tokens.a });
    expectRefusal(asKubelet, /managedFields/);
    for (const managedFields of [[], [{}], [{ manager: 'kubelet', operation: 'Apply', apiVersion: 'v1' }]])
      await request('PATCH', `${path}?${asItself}`, { body: { metadata: { managedFields } }, token: tokens.a });
    const { metadata } = (await request('GET', path)).body as KubernetesObject;
    const ofKubelet = { manager: 'kubelet', operation: 'Apply', fieldsV1: { 'f:status': { 'f:phase': {} } } };
    expect(metadata['managedFields']).toContainEqual(expect.objectContaining(ofKubelet));
    expect(await request('PATCH', `${path}?${asItself}`, { body, contentType, token: tokens.a })).toMatchObject({
      status: 200,
    });
  });

  describe('a Node that ten others have written', () => {
    const crowded = 'admitted-crowded';
    const path = `/api/v1/nodes/${crowded}/status`;
    const contentType = 'application/strategic-merge-patch+json';
    let token: string;
    const write = (manager: string, body: object): Promise<Answer> =>
      request('PATCH', `${path}?fieldManager=${manager}`, { body, contentType, token });
    const writers = async (): Promise<Writer[]> =>
      ((await request('GET', path)).body as { metadata: { managedFields: Writer[] } }).metadata.managedFields;

    beforeAll(async () => {
      const items = [nodeObject(crowded, '192.168.81.3'), agentPod('agent-crowded', crowded)];
      await createObjects(connection, { items });
      token = await tokenOf(account, 'agent-crowded');
      const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: crowded, labels: { applied: 'x' } } };
      const asAdmin = { body: applied, contentType: 'application/apply-patch+yaml' };
      await request('PATCH', `/api/v1/nodes/${crowded}?fieldManager=applier&force=true`, asAdmin);
      for (let index = 0; index < 12 && (await updates()).length < 10; index++)
        await request('PATCH', `${path}?fieldManager=a-writer-${index}`, {
          body: { metadata: { annotations: { [`a-${index}`]: 'x' } } },
        });
    });
    const updates = async (): Promise<Writer[]> => (await writers()).filter(({ operation }) => operation === 'Update');

    test('its first own condition is accepted, although the API server merges two of the others', async () => {
      expect(await updates()).toHaveLength(10);
      expect(await write(account, staleAs('True'))).toMatchObject({ status: 200 });
      const managers = (await writers()).map(({ manager }) => manager);
      expect(managers).toEqual(expect.arrayContaining([account, 'ancient-changes', 'applier']));
      expect(await write(account, staleAs('False'))).toMatchObject({ status: 200 });
    });

    test('no other writer can be removed or added', async () => {
      const before = await writers();
      const entry = {
        manager: account,
        operation: 'Update',
        apiVersion: 'v1',
        subresource: 'status',
        fieldsType: 'FieldsV1',
      };
      const fieldsV1 = { 'f:status': { 'f:phase': {} } };
      const lists = [
        [],
        [{}],
        [{ ...entry, fieldsV1 }],
        before.slice(1),
        before.slice(2),
        before.filter(({ operation }) => operation !== 'Apply'),
        before.filter(({ manager }) => manager === account || manager === 'ancient-changes'),
        [...before, { ...entry, manager: 'kubelet', fieldsV1 }],
        [...before, { ...entry, manager: 'applier', operation: 'Apply', fieldsV1 }],
        [...before, { ...entry, manager: 'ancient-changes', subresource: 'x', fieldsV1 }],
        ...before.flatMap((writer, index) =>
          writer.manager === account || writer.manager === 'ancient-changes'
            ? []
            : [
                before.toSpliced(index, 1, { ...writer, fieldsV1 }),
                [...before, { ...writer, subresource: 'x', fieldsV1 }],
              ],
        ),
      ];
      for (const managedFields of lists) await write(account, { metadata: { managedFields } });
      const others = (all: Writer[]): Writer[] => all.filter(({ manager }) => manager !== account);
      expect(others(await writers())).toEqual(others(before));
    });

    test('it cannot set a condition in the name of an earlier writer', async () => {
      for (const { manager } of (await updates()).filter((each) => each.manager !== account))
        expectRefusal(await write(manager, staleAs('True')), /managedFields|changes nothing of a Node/);
    });
  });

  test.each(['DELETE', 'POST'])('%s of a Node and DELETE of an Event are refused', async (method) => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'admitted-c' } };
    const path = method === 'POST' ? '/api/v1/nodes' : `/api/v1/nodes/${nodeA}`;
    const body = method === 'POST' ? node : undefined;
    expectRefusal(await request(method, path, { body, token: tokens.a }), /does nothing else/);
    const path2 = `/api/v1/namespaces/${tenant}/events/${own}`;
    expectRefusal(await request('DELETE', path2, { token: tokens.a }), /does nothing else/);
  });

  /** Fields that the API server itself changes, and the conditions, which have a test above. */
  const ownOfServer = /^(?:metadata\.(?:managedFields|resourceVersion|generation)|status\.conditions)$/;
  const mayChange =
    /^(?:message|count|(?:first|last)Timestamp|type|(?:involvedObject|related)\.(?:uid|name|resourceVersion)|metadata\.annotations\..*)$/;

  /**
   * Makes each change in every way. Throws if a forbidden change is stored. Resolves to the number of changes that the
   * policy refused.
   */
  async function attack(
    changes: readonly FieldChange[],
    paths: readonly string[],
    read: () => Promise<object>,
  ): Promise<number> {
    const answers: string[] = [];
    for (const { path: field, patch: body } of changes)
      for (const path of paths) {
        const object = await read();
        const ways = [
          await request('PATCH', `${path}?${asItself}`, { body, token: tokens.a }),
          await replace(path, body, object),
          await applyAs(path, merged(identityOf(object), body), account),
        ];
        for (const [index, { status, body: answer }] of ways.entries())
          answers.push(`${path} ${index} ${status} ${isOfPolicy(answer)}`);
        const stored = differences(object, await read()).filter((each) => !ownOfServer.test(each));
        expect({ field, path, stored: stored.filter((each) => !mayChange.test(each)) }).toEqual({
          field,
          path,
          stored: [],
        });
      }
    return answers.filter((each) => each.endsWith(' 403 true')).length;
  }
});

describe('refused requests', () => {
  const foreignHost =
    /the token is bound to node admitted-a: an agent writes only Events whose source\.host is its node, and changes no others$/;
  const foreignComponent =
    /an agent writes only Events whose source\.component and reportingComponent are kube-netfilter-tailer, and changes no others$/;

  test.each<[string, TestEvent, RegExp]>([
    ['the host of another node', event({ source: { host: nodeB } }), foreignHost],
    ['no host', event({ source: { host: undefined } }), foreignHost],
    ['the component of the kubelet', event({ source: { component: 'kubelet' } }), foreignComponent],
    ['no component', event({ source: { component: undefined } }), foreignComponent],
    ['another reporting component', event({ reportingComponent: 'kubelet' }), foreignComponent],
    [
      'another Node',
      event({ metadata: { namespace: 'default' }, involvedObject: nodeReference(nodeB) }),
      /the token is bound to node admitted-a: an agent writes Events of no other Node$/,
    ],
  ])('an Event with %s', async (_, body, message) => {
    expectRefusal(await create(tokens.a, body), message);
  });

  test.each([
    ['of another node', 'b', /the token is bound to node admitted-b: .* source\.host/],
    ['that belongs to no Pod', 'unbound', /the token is bound to no node: .* Kubernetes 1\.30 or newer$/],
  ] as const)('an Event with a token %s', async (_, token, message) => {
    expectRefusal(await create(tokens[token], event({})), message);
  });

  test.each<[string, TestEvent, RegExp]>([
    ['of the kubelet', event({ source: { component: 'kubelet' }, reportingComponent: 'kubelet' }), foreignComponent],
    ['of the agent of another node', event({ source: { host: nodeB } }), foreignHost],
    [
      'of a program that says no source',
      event({ source: { component: undefined, host: undefined } }),
      foreignComponent,
    ],
  ])('a change of an Event %s, also one that makes it look like its own', async (_, body, message) => {
    const name = nameOf(await create(connection.adminToken, body));
    expectRefusal(await patch(tokens.a, name, { message: 'nothing is wrong' }), message);
    const { source, reportingComponent } = event({});
    expectRefusal(await patch(tokens.a, name, { source, reportingComponent }), message);
  });

  test('its own Event given away', async () => {
    const name = nameOf(await create(tokens.a, event({})));
    expectRefusal(await patch(tokens.a, name, { source: { host: nodeB } }), foreignHost);
    expectRefusal(await patch(tokens.a, name, { source: { component: 'kubelet' } }), foreignComponent);
  });

  test('an Event through the newer API group is refused, because the API server accepts none with a source there', async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${tenant}/events`;
    expectRefusal(await request('POST', path, { body: newer({}), token: tokens.a }), foreignComponent);
    const body = newer({ deprecatedSource: { component: account, host: nodeA } });
    expect(await request('POST', path, { body, token: tokens.a })).toMatchObject({ status: 422 });
  });

  test.each<[string, TestEvent, RegExp]>([
    ['of the kubelet', event({ source: { component: 'kubelet' } }), foreignComponent],
    ['of the agent of another node', event({ source: { host: nodeB } }), foreignHost],
  ])('a change of an Event %s is refused through the newer API group', async (_, body, message) => {
    expectRefusal(await annotateNewer(nameOf(await create(connection.adminToken, body))), message);
  });

  test('deleting is refused by RBAC or by the policy, and an Event in another namespace than its object by the API server', async () => {
    const name = nameOf(await create(tokens.a, event({})));
    const gone = await request('DELETE', `/api/v1/namespaces/${tenant}/events/${name}`, { token: tokens.a });
    expect(gone).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/cannot delete resource|does nothing else/) },
    });
    const elsewhere = event({ metadata: { namespace: 'default' } });
    expect(await create(tokens.a, elsewhere)).toMatchObject({ status: 422 });
  });
});

test('other components may write their Events as before', async () => {
  const body = event({ source: { component: 'anything', host: 'anywhere' }, reportingComponent: 'anything' });
  expect(await create(tokens.stranger, body)).toMatchObject({ status: 201 });
  expect(await create(connection.adminToken, body)).toMatchObject({ status: 201 });
});

test('the agent itself sends its test Event', async () => {
  const KUBECONFIG = await connection.writeKubeconfig('admitted-doctor', tokens.a);
  const env = [`KUBECONFIG=${KUBECONFIG}`, `NODE_NAME=${nodeA}`];
  const { stdout } = await run('env', ['-i', ...env, bundleNode, bundle, 'doctor', '--send-test-event']);
  expect(stdout).toContain(`Node ${nodeA}`);
  expect(await rig.events('default', nodeA)).toContainEqual(expect.objectContaining({ reason: 'TestEvent' }));
});

describe('an Event whose name a tenant has already used', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'gone', uid: '00000000-0000-0000-0000-000000000000' };

  test.each<[string, (event: CoreEvent) => object]>([
    ['on another Pod of that name', ({ involvedObject }) => ({ involvedObject: { ...involvedObject, uid: 'x' } })],
    ['with another reason', () => ({ reason: 'Pulled' })],
    ['of another node', ({ source }) => ({ source: { ...source, host: nodeB } })],
    ['of another program', ({ source }) => ({ source: { ...source, component: 'x' } })],
    ['of another instance', () => ({ reportingInstance: 'x' })],
    ['of another type', () => ({ type: 'x' })],
    ['with an action', () => ({ action: 'Pulling' })],
    ['with a label', ({ metadata }) => ({ metadata: { ...metadata, labels: { x: 'y' } } })],
    ['with an owner', ({ metadata }) => ({ metadata: { ...metadata, ownerReferences: [owner] } })],
    [
      'with as many annotations as fit',
      ({ metadata }) => ({ metadata: { ...metadata, annotations: { x: 'y'.repeat(262_000) } } }),
    ],
    ['with a text of a megabyte', () => ({ message: 'x'.repeat(1_000_000) })],
    ['that is as it will be, but for the count', () => ({ count: 7 })],
  ])('%s: the Events of Pod, Node and Service are right, and can be changed', async (what, change) => {
    const KUBECONFIG = await connection.writeKubeconfig('admitted-agent', tokens.a);
    const clock = { now: Date.now, wall: Date.now };
    const store = createEventStore(createConnection({ access: readKubeconfig(KUBECONFIG), userAgent: account, clock }));
    const write = createEventWriter({ store, messageOf: () => 'a message', stateId: 'ours', now: Date.now });
    for (const regarding of await podNodeAndService()) {
      const given = finding({
        identity: what,
        regarding,
        node: nodeA,
        shared: regarding.kind === 'Service' || undefined,
      });
      const count = series({ finding: given, count: 3, window: Date.now() });
      const { metadata, involvedObject, reason } = eventOf(count, '', Date.now());
      const honest = eventOf(count, 'a message', Date.now());
      const path = `/api/v1/namespaces/${metadata.namespace}/events`;
      expect(await request('POST', path, { body: { ...honest, ...change(honest) } })).toMatchObject({ status: 201 });
      for (const total of [3, 5]) {
        count.count = total;
        const outcome = await write(count);
        expect(outcome).toMatchObject({ kind: 'written' });
        if (outcome.kind === 'written') count.published = outcome.published;
      }
      const { name } = eventOf(count, '', Date.now()).metadata;
      const { body } = await request('GET', `${path}/${name}`);
      expect(body).toMatchObject({
        involvedObject,
        reason,
        type: 'Warning',
        source: { component: account },
      });
      // An Event that all nodes share, such as the one on the Service, stays as it is.
      if (regarding.kind === 'Service') continue;
      expect(body).toMatchObject({ source: { host: nodeA }, message: 'a message' });
      expect((body as CoreEvent).count).toBeGreaterThanOrEqual(5);
    }
  });
});

function staleAs(status: string): object {
  return { status: { conditions: [{ type: 'NetfilterRulesStale', status, reason: 'x', message: 'x' }] } };
}

interface Writer {
  manager: string;
  operation: string;
  fieldsV1?: object;
}

type TestEvent = ReturnType<typeof event>;

async function podNodeAndService(): Promise<ObjectRef[]> {
  const { metadata } = (await request('GET', `/api/v1/namespaces/${tenant}/pods/web`)).body as KubernetesObject;
  const uid = String(metadata['uid']);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    namespace: tenant,
    name: 'db',
    uid,
    resourceVersion: undefined,
  };
  return [podRef({ namespace: tenant, name: 'web', uid, resourceVersion: undefined }), nodeRefByName(nodeA), service];
}

/** An Event as the agent of `admitted-a` writes it, with some fields changed. */
function event(fields: Readonly<Record<string, string | object>>) {
  const { metadata, involvedObject, source, ...others } = fields as Record<string, object>;
  const time = new Date().toISOString().replace(/\.\d+/, '');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: tenant, ...metadata },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: tenant, name: 'web', ...involvedObject },
    reason: 'PacketDrop',
    message: 'Packet dropped',
    type: 'Warning',
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: account, host: nodeA, ...source },
    reportingComponent: account,
    reportingInstance: `${account}-${nodeA}`,
    ...others,
  };
}

function nodeReference(name: string): object {
  return { kind: 'Node', namespace: undefined, name, uid: name };
}

/** The same Event in the newer group, without a source. */
function newer(fields: object): object {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: eventName(), namespace: tenant },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    action: 'Dropped',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: tenant, name: 'web' },
    reason: 'PacketDrop',
    note: 'Packet dropped',
    type: 'Warning',
    reportingController: account,
    reportingInstance: `${account}-${nodeA}`,
    ...fields,
  };
}

/** Creates it under a new name, with the field manager that the program's user agent would have. */
function create(token: string, body: TestEvent): Promise<Answer> {
  const metadata = { name: eventName(), ...body.metadata };
  const path = `/api/v1/namespaces/${metadata.namespace}/events?${asItself}`;
  return request('POST', path, { body: { ...body, metadata }, token });
}

function eventName(): string {
  return `web.${randomBytes(10).toString('hex')}`;
}

/** Changes an annotation, which is still allowed in the newer group. */
function annotateNewer(name: string): Promise<Answer> {
  const body = { metadata: { annotations: { 'kube-netfilter-tailer/read': 'yes' } } };
  const path = `/apis/events.k8s.io/v1/namespaces/${tenant}/events/${name}?${asItself}`;
  return request('PATCH', path, { body, token: tokens.a });
}

function patch(token: string, name: string, body: object, place = tenant): Promise<Answer> {
  const path = `/api/v1/namespaces/${place}/events/${name}?${asItself}`;
  return request('PATCH', path, { body, token });
}

function patchStatus(token: string, node: string, body: object): Promise<Answer> {
  const contentType = 'application/strategic-merge-patch+json';
  return request('PATCH', `/api/v1/nodes/${node}/status?${asItself}`, { body, token, contentType });
}

/**
 * A PUT of a Node is not a change of its status, even if it changes nothing, so the policy refuses it as soon as RBAC
 * allows it.
 */
async function isGranted(): Promise<boolean> {
  return isOfPolicy((await replace(`/api/v1/nodes/${nodeA}`, {})).body);
}

function isOfPolicy(answer: unknown): boolean {
  return String((answer as { message?: string }).message).includes('ValidatingAdmissionPolicy');
}

async function replace(path: string, change: object, object?: object): Promise<Answer> {
  const current = object ?? ((await request('GET', path)).body as object);
  return request('PUT', `${path}?${asItself}`, { body: merged(current, change), token: tokens.a });
}

function applyAs(path: string, body: unknown, manager: string): Promise<Answer> {
  const contentType = 'application/apply-patch+yaml';
  return request('PATCH', `${path}?fieldManager=${manager}&force=true`, { body, contentType, token: tokens.a });
}

function identityOf(object: object): object {
  const { apiVersion, kind, metadata } = object as KubernetesObject;
  return {
    apiVersion,
    kind,
    metadata: { name: metadata.name, ...(metadata.namespace ? { namespace: metadata.namespace } : {}) },
  };
}

function nameOf({ status, body }: Answer): string {
  if (status !== 201) throw new Error(`not created: ${status} ${JSON.stringify(body)}`);
  return (body as { metadata: { name: string } }).metadata.name;
}

function expectRefusal({ status, body }: Answer, message: RegExp): void {
  expect({ status, body }).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
  expect((body as { message: string }).message).toMatch(message);
  expect((body as { message: string }).message).toContain(`ValidatingAdmissionPolicy '${account}'`);
}

/** The base in a namespace of its own, with the component added to it, as docs/deploy.md says. */
async function renderInNamespace(): Promise<string> {
  const [inner, outer] = [join(folder, 'inner'), join(folder, 'outer')];
  await Promise.all([inner, outer].map((path) => mkdir(path)));
  const kustomizations: [string, object][] = [
    [inner, { namespace, resources: [deployFrom(inner, 'base')] }],
    [outer, { resources: ['../inner'], components: [deployFrom(outer, 'components/admission-policy')] }],
  ];
  for (const [path, content] of kustomizations)
    await writeFile(join(path, 'kustomization.yaml'), JSON.stringify(content));
  const rendered = await succeed(kubectl(['kustomize', outer]));
  // Other test files create the objects that all overlays share.
  return rendered
    .split(/^---\n/m)
    .filter((text) => !/^kind: (?:DaemonSet|PriorityClass|ClusterRole)$/m.test(text))
    .join('---\n')
    .replace(/^(kind: ClusterRoleBinding\n.*?\n {2}name: )kube-netfilter-tailer$/ms, '$1admitted');
}

function deployFrom(from: string, name: string): string {
  return relative(from, join(root, 'deploy', name));
}

async function grant(name: string, serviceAccount: string, rules: readonly object[]): Promise<void> {
  await connection.apply(...clusterRights(name, rules, { namespace, name: serviceAccount }));
}

function agentPod(name: string, node: string): KubernetesObject {
  const pod = podObject({ namespace, name, node, addresses: ['10.81.0.1'] });
  return { ...pod, spec: { ...pod.spec, serviceAccountName: account } };
}

/** Asks for a token as the kubelet does, naming the Pod that it is for. */
async function tokenOf(serviceAccount: string, pod?: string): Promise<string> {
  const bound = pod === undefined ? [] : ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
  return (await succeed(kubectl(['create', 'token', serviceAccount, '-n', namespace, ...bound]))).trim();
}

/** The API server applies policies and RBAC rules a moment after it has stored them. */
async function untilInForce(): Promise<void> {
  let answers: Answer[] = [];
  const isInForce = async (): Promise<boolean> => {
    const foreign = event({ source: { host: nodeB } });
    answers = [
      await create(tokens.a, foreign),
      await annotateNewer(nameOf(await create(connection.adminToken, foreign))),
      await create(tokens.stranger, event({})),
    ];
    const denied = answers.slice(0, 2).map(({ body }) => String((body as { message?: string }).message));
    return denied.every((text) => text.includes('denied request')) && answers[2]?.status === 201;
  };
  await until(isInForce, () => `not in force: ${JSON.stringify(answers)}`);
}
