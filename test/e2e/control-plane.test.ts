import { describe, expect, inject, test } from 'vitest';
import { KUBERNETES_VERSION } from './control-plane/binaries.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';

const controlPlane = connect(inject('controlPlane'));
const { kubectl, request } = controlPlane;

const node: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'control-plane-test-node' },
  status: { addresses: [{ type: 'InternalIP', address: '192.168.77.1' }] },
};

test('the server is the pinned release', async () => {
  const { stdout } = await kubectl(['version', '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    clientVersion: { gitVersion: `v${KUBERNETES_VERSION}` },
    serverVersion: { gitVersion: `v${KUBERNETES_VERSION}` },
  });
});

describe('createObjects', () => {
  test('creates in order, with the status and the uid of this server', async () => {
    const pod = examplePod('objects', 'web');
    const created = await createObjects(controlPlane, { items: [pod, node] });

    expect(created.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Namespace objects',
      'Node control-plane-test-node',
      'Pod web',
    ]);
    expect(created[1]?.status).toMatchObject({ addresses: [{ address: '192.168.77.1' }] });
    expect(created[2]?.status).toMatchObject({ phase: 'Running', podIPs: [{ ip: '10.244.7.2' }] });
    expect(created[2]?.metadata.uid).not.toBe(pod.metadata.uid);
    const uid = await succeed(['get', 'pod', 'web', '-n', 'objects', '-o', 'jsonpath={.metadata.uid}']);
    expect(created[2]?.metadata.uid).toBe(uid);
  });

  test('takes back what kubectl printed', async () => {
    await createObjects(controlPlane, { items: [examplePod('again', 'web'), exampleService('again', 'web'), node] });
    // Not those of other test files, which change meanwhile.
    const ours = ['namespace/again', `node/${node.metadata.name}`, 'service/web', 'pod/web'];
    const stdout = await succeed(['get', ...ours, '-n', 'again', '-o', 'json']);
    const items: KubernetesObject[] = JSON.parse(stdout).items;
    expect(items.map(({ kind }) => kind)).toEqual(['Namespace', 'Node', 'Service', 'Pod']);
    await succeed(['delete', 'pod,service', '--all', '-n', 'again', '--force', '--grace-period=0']);

    const created = await createObjects(controlPlane, { items });
    const service = created.find(({ kind }) => kind === 'Service');
    const original = items.find(({ kind }) => kind === 'Service');
    expect(service?.spec?.clusterIP).toBe(original?.spec?.clusterIP);
    expect(created.find(({ kind }) => kind === 'Pod')?.status).toEqual(
      items.find(({ kind }) => kind === 'Pod')?.status,
    );
  });

  test('leaves the Service of the API server as it is', async () => {
    const kubernetes = {
      ...exampleService('default', 'kubernetes'),
      spec: { clusterIP: '10.96.0.1', ports: [{ port: 443 }] },
    };
    const [, service] = await createObjects(controlPlane, { items: [kubernetes] });
    expect(service?.spec).toMatchObject({ clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] });
  });

  test('a Pod that exists is an error', async () => {
    await createObjects(controlPlane, { items: [examplePod('twice', 'web')] });
    await expect(createObjects(controlPlane, { items: [examplePod('twice', 'web')] })).rejects.toThrow(/AlreadyExists/);
  });
});

test('RBAC refuses a ServiceAccount until it is bound', async () => {
  await succeed(['create', 'namespace', 'rbac']);
  await succeed(['create', 'serviceaccount', 'agent', '-n', 'rbac']);
  const token = (await succeed(['create', 'token', 'agent', '-n', 'rbac'])).trim();
  const kubeconfig = await controlPlane.writeKubeconfig('rbac-agent', token);

  const refused = await kubectl(['get', 'pods', '-n', 'rbac'], { kubeconfig });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('"system:serviceaccount:rbac:agent" cannot list resource "pods"');

  await succeed(['create', 'role', 'reader', '--verb=list', '--resource=pods', '-n', 'rbac']);
  await succeed(['create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=rbac:agent', '-n', 'rbac']);
  // The authorizer learns of the binding through a watch, a moment later.
  await expect.poll(() => listPods(token), { timeout: 60_000 }).toBe(200);
  expect(await kubectl(['get', 'pods', '-n', 'rbac'], { kubeconfig })).toMatchObject({ code: 0 });
});

test('a token that the API server has not issued is refused', async () => {
  expect(await listPods('made-up')).toBe(401);
});

describe('kubectl describe pod', () => {
  test('shows the status and the Events of its uid', async () => {
    const [, pod] = await createObjects(controlPlane, { items: [examplePod('shown', 'web')] });
    const uid = pod?.metadata.uid ?? '';
    expect(await postEvent('shown', { namespace: 'shown', uid }, 'of this Pod')).toBe(201);
    const former = '00000000-0000-4000-8000-000000000000';
    expect(await postEvent('shown', { namespace: 'shown', uid: former }, 'of its predecessor')).toBe(201);

    const shown = await succeed(['describe', 'pod', 'web', '-n', 'shown']);
    expect(shown).toMatch(/^Status: +Running$/m);
    expect(shown).toMatch(/^IP: +10\.244\.7\.2$/m);
    expect(shown).toMatch(/^ +Ready +True/m);
    expect(shown).toMatch(/^ +Warning +PacketDrop .* of this Pod$/m);
    expect(shown).not.toContain('of its predecessor');
  });
});

test('an Event on a Pod belongs into the namespace of the Pod', async () => {
  const [, pod] = await createObjects(controlPlane, { items: [examplePod('home', 'web')] });
  await succeed(['create', 'namespace', 'abroad']);
  const uid = pod?.metadata.uid ?? '';
  expect(await postEvent('abroad', { namespace: 'home', uid }, 'elsewhere')).toBe(422);
});

function examplePod(namespace: string, name: string): KubernetesObject {
  const started = '2026-01-02T03:04:05Z';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: '11111111-1111-4111-8111-111111111111', resourceVersion: '7' },
    spec: { nodeName: node.metadata.name, containers: [{ name: 'main', image: 'web:1' }] },
    status: {
      phase: 'Running',
      podIP: '10.244.7.2',
      podIPs: [{ ip: '10.244.7.2' }],
      startTime: started,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: started }],
    },
  };
}

function exampleService(namespace: string, name: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}

async function postEvent(
  namespace: string,
  regarding: { namespace: string; uid: string },
  message: string,
): Promise<number> {
  const now = new Date().toISOString();
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: 'web.', namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web', ...regarding },
    type: 'Warning',
    reason: 'PacketDrop',
    message,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component: 'control-plane-test' },
  };
  return (await request('POST', `/api/v1/namespaces/${namespace}/events`, { body })).status;
}

async function listPods(token: string): Promise<number> {
  return (await request('GET', '/api/v1/namespaces/rbac/pods', { token })).status;
}

async function succeed(args: readonly string[]): Promise<string> {
  const result = await kubectl(args);
  expect(result).toMatchObject({ code: 0 });
  return result.stdout;
}
