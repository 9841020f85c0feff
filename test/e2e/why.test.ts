import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes, randomInt } from 'node:crypto';
import { beforeAll, expect, inject, test } from 'vitest';
import { networkPolicy } from '../explain/policies/objects.ts';
import { podObject } from './agent-rig.ts';
import { bundle, bundleNode } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createObjects } from './control-plane/objects.ts';
import { clusterRights, makeAccount } from './granted.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { createOwnFolder } from './own-folder.ts';

/** `why` and `suggest` of the bundle, at a real API server, with the rights of the user. */

const controlPlane = connect(inject('controlPlane'));
const run = randomBytes(3).toString('hex');
/** The network of this file alone, because other files have Pods at the same API server. */
const net = randomInt(200, 250);
const shop = `why-shop-${run}`;
const batch = `why-batch-${run}`;
const asked = ['--from', `${batch}/worker-7`, '--to', `${shop}/postgres-0`, '--port', '5432/TCP'];

/** Labels that some readers of YAML take for numbers and the like, as names and as values. */
const numbers = { '0X1F': '1_e5', '1_e5': '0B11', '0O17': '0X_F', '017': '1e3', yes: 'no', null: 'on' };

let clerk: string;
let reader: string;

beforeAll(async () => {
  await createObjects(controlPlane, {
    items: [
      ofStatefulSet(podOf(shop, 'postgres-0', `10.${net}.1.4`, { app: 'postgres', shard: 'a' })),
      podOf(batch, 'worker-7', `10.${net}.2.9`, { app: 'worker' }),
      podOf(batch, 'numbers-1', `10.${net}.2.10`, numbers),
    ],
  });
  const labels = { app: 'postgres' };
  const containers = [{ name: 'c', image: 'registry.example/c' }];
  const statefulSet = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'postgres', namespace: shop },
    spec: {
      replicas: 0,
      serviceName: 'x',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
  const policies = [
    statefulSet,
    networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'default-deny', shop),
    networkPolicy(
      {
        podSelector: { matchLabels: { app: 'postgres' } },
        ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'a' } } }], ports: [{ port: 'db' }] }],
      },
      'by-team',
      shop,
    ),
  ];
  await controlPlane.apply(...policies, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'sql', namespace: shop },
    spec: { selector: { app: 'postgres' }, ports: [{ port: 80, targetPort: 'db' }] },
  });
  clerk = await accountOf(shop, `clerk-${run}`, ['pods', 'networkpolicies']);
  reader = await accountOf(shop, `reader-${run}`, ['pods', 'networkpolicies', 'namespaces']);
});

function podOf(
  namespace: string,
  name: string,
  address: string,
  labels: Readonly<Record<string, string>>,
): KubernetesObject {
  const ports = [{ name: 'db', containerPort: 5432 }];
  return podObject({ namespace, name, node: 'why', addresses: [address], labels, ports });
}

/** The Pod has a label that the selector of the StatefulSet does not have. */
function ofStatefulSet(pod: KubernetesObject): KubernetesObject {
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'postgres', uid: 'x', controller: true },
  ];
  return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
}

/**
 * Makes an account that may read these resources in the whole cluster and nothing else there. Returns its kubeconfig.
 */
async function accountOf(namespace: string, name: string, resources: string[]): Promise<string> {
  const rules = [{ apiGroups: ['', 'networking.k8s.io'], resources, verbs: ['get', 'list'] }];
  const token = await makeAccount(
    controlPlane,
    { namespace, name },
    [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
      ...clusterRights(name, rules, { namespace, name }),
    ],
    [{ apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list'] }],
  );
  return await controlPlane.writeKubeconfig(name, token);
}

async function clusterIp(): Promise<string> {
  const args = ['get', 'service', 'sql', '-n', shop, '-o', 'jsonpath={.spec.clusterIP}'];
  return await controlPlane.succeed([...args, '--kubeconfig', controlPlane.adminKubeconfig]);
}

function ask(command: string, kubeconfig = controlPlane.adminKubeconfig, ends = asked): Promise<Outcome> {
  return outcomeOf(spawn(bundleNode, [bundle, command, ...ends, '--kubeconfig', kubeconfig]));
}

test('why names the policies that deny a connection', async () => {
  const { code, stdout } = await ask('why');
  expect(stdout).toContain(`${shop}/by-team`);
  expect(stdout).toContain(`${shop}/default-deny`);
  expect(code).toBe(1);
});

test.each([
  ['by its name', () => `svc/${shop}/sql`],
  ['where no Pod has that name', () => `${shop}/sql`],
  ['by its address', clusterIp],
])('why answers for the Pods behind a Service: %s', async (_, target) => {
  const ends = ['--from', `${batch}/worker-7`, '--to', await target(), '--port', '80'];
  const { code, stdout } = await ask('why', undefined, ends);
  expect(stdout).toContain(`${shop}/postgres-0 TCP 5432`);
  expect(stdout).toContain(`${shop}/by-team`);
  expect(code).toBe(1);
});

test('why answers for a workload, for which one Pod stands', async () => {
  const ends = ['--from', `${batch}/worker-7`, '--to', `sts/${shop}/postgres`, '--port', '5432'];
  expect(await ask('why', undefined, ends)).toMatchObject({ code: 1 });
});

test("why names objects that the user's rights do not show", async () => {
  const { code, stdout } = await ask('why', clerk);
  expect(stdout).toContain(`Namespace ${batch}`);
  expect(code).toBe(3);
});

test("why treats kinds that the API server does not have as absent, whatever the user's rights", async () => {
  expect(await ask('why', reader)).toMatchObject({ code: 1, stderr: '' });
});

test("with --context, the cluster is the context's, and an unknown name is refused", async () => {
  const { users, contexts, clusters } = JSON.parse(
    await controlPlane.succeed(['config', 'view', '--raw', '-o', 'json', '--kubeconfig', controlPlane.adminKubeconfig]),
  ) as { users: object[]; contexts: { name: string; context: object }[]; clusters: object[] };
  const nowhere = { name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } };
  const path = join(createOwnFolder('why'), 'two-contexts.json');
  const named = contexts.map(({ context }) => ({ name: 'here', context }));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    users,
    clusters: [...clusters, nowhere],
    contexts: [...named, { name: 'away', context: { cluster: 'nowhere', user: '' } }],
    'current-context': 'away',
  };
  writeFileSync(path, JSON.stringify(config));
  expect((await ask('why', path)).code).toBe(2);
  expect((await ask('why', path, [...asked, '--context', 'here'])).code).toBe(1);
  const { code, stderr } = await ask('why', path, [...asked, '--context', 'none']);
  expect(stderr).toContain('--context none');
  expect(code).toBe(2);
});

test('suggest uses labels by which the StatefulSet selects; without the right to read it, those of the Pod', async () => {
  const readable = await ask('suggest');
  expect(readable.stdout).toContain(`StatefulSet ${shop}/postgres selects by`);
  expect(readable.stdout).not.toContain('shard');
  expect(await controlPlane.succeed(['apply', '--dry-run=server', '-f', '-'], { input: readable.stdout })).toContain(
    'server dry run',
  );
  const unreadable = await ask('suggest', reader);
  expect(unreadable.stdout).toContain(': its own');
  expect(unreadable.stdout).toContain('shard: a');
});

test('kubectl reads number-like labels as suggest printed them', async () => {
  const { stdout } = await ask('suggest', undefined, ['--from', `${batch}/numbers-1`, ...asked.slice(2)]);
  const read = JSON.parse(
    await controlPlane.succeed(['create', '--dry-run=server', '-o', 'json', '-f', '-'], { input: stdout }),
  );
  expect(read.spec.ingress[0].from[0].podSelector.matchLabels).toStrictEqual(numbers);
});

test('the API server accepts the policies that suggest prints, and they admit the connection', async () => {
  const { code, stdout } = await ask('suggest');
  expect(code).toBe(0);
  expect(await controlPlane.succeed(['apply', '--dry-run=server', '-f', '-'], { input: stdout })).toContain(
    'created (server dry run)',
  );
  await controlPlane.succeed(['apply', '-f', '-'], { input: stdout });
  expect(await ask('why')).toMatchObject({ code: 0, stderr: '' });
});
