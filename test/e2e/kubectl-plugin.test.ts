import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { type Connection, connect } from './control-plane/connection.ts';
import type { Outcome } from './outcome.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createObjects } from './control-plane/objects.ts';
import { drop } from './kubectl-plugin/drop.ts';
import { createOwnFolder } from './own-folder.ts';
import { createPluginShell, type PluginShell } from './kubectl-plugin/plugin-shell.ts';

/** The bundle by the name kubectl-drops, with the real kubectl, which finds it on its PATH, and a real API server. */

const shop = `drops-${randomBytes(3).toString('hex')}`;
const quiet = `${shop}-quiet`;
const hostile = `${shop}-hostile`;

const received = `From ${shop}/worker-7 (10.244.0.41) on port 5432/TCP. [node-a, "calico-drop"]`;
const sent = 'To 192.0.2.7 (outside the cluster) on port 443/TCP. [node-b]';
const receiving = { direction: 'receiving', protocol: 'TCP', peer: `Pod/${shop}/worker-7` };
const sending = {
  direction: 'sending',
  verdict: 'rejected',
  protocol: 'TCP',
  port: '443',
  peer: 'external/192.0.2.7',
  policy: 'NetworkPolicy/shop/cart-egress',
};
const cartPolicy = 'NetworkPolicy shop/cart-egress';

let controlPlane: Connection;
let folder: string;
let shell: PluginShell;

beforeAll(async () => {
  controlPlane = connect(inject('controlPlane'));
  folder = createOwnFolder('plugin');
  shell = createPluginShell(controlPlane, folder, shop);
  for (const name of [shop, quiet, hostile])
    await controlPlane.request('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    });
  const namespace = shop;
  const says = { ...receiving, port: '5432' };
  await send(drop('postgres-0', received, { namespace, count: 36, secondsAgo: 30, peer: 'worker-7', says }));
  await send(drop('cart-7', sent, { namespace, count: 2, secondsAgo: 3000, node: 'node-b', says: sending }));
  await createObjects(controlPlane, { items: [podOf(shop, 'postgres-0', 'postgres'), podOf(shop, 'cart-7', 'cart')] });
  await controlPlane.apply(statefulSet('postgres', shop), service('cart', shop));
  const other = drop('postgres-0', 'Not ready', { namespace });
  await send({ ...other, reason: 'Unhealthy', ...by('kubelet') });
  await send({ ...drop('postgres-0', 'From another program', { namespace }), ...by('kube-iptables-tailer') });
  await send({
    ...drop('postgres-0', 'The network of node-a is degraded', { namespace }),
    reason: 'NodeNetworkDegraded',
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

test('kubectl finds the plug-in', async () => {
  expect((await shell.kubectl(['plugin', 'list'])).stdout).toContain(shell.plugin);
});

test('the namespace of the context, what is newest last', async () => {
  const { code, stdout, stderr } = await drops([]);
  expect([code, stderr]).toEqual([0, '']);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(rows).toEqual([
    ['FROM', 'TO', 'PORT', 'COUNT', 'LAST', 'VERDICT', 'POLICY'],
    [`${shop}/cart-7`, '192.0.2.7', '443/TCP', '2', expect.stringMatching(/^50m$|^51m$/), 'rejected', cartPolicy],
    [`${shop}/worker-7`, `${shop}/postgres-0`, '5432/TCP', '36', expect.stringMatching(/^\d+s$/), 'dropped', '-'],
  ]);
  const [header = '', ...lines] = stdout.trimEnd().split('\n');
  const at = header.indexOf('PORT');
  expect(lines.map((line) => line.slice(at, at + 3))).toEqual(['443', '543']);
});

test('kubectl drops leaves out other Events of the agent', async () => {
  const { stdout } = await drops(['--all', 'postgres-0']);
  expect(stdout).toContain('NodeNetworkDegraded');
  expect(stdout).not.toMatch(/Unhealthy/);
  expect(stdout.trimEnd().split('\n')).toHaveLength(3);
});

test.each([
  ['-n', () => ['-n', shop]],
  ['-A', () => ['-A']],
  ['--context', () => ['--context', 'shop']],
  ['--kubeconfig', () => ['--kubeconfig', shell.configWith(shop)]],
])('another namespace: %s', async (_, args) => {
  const { stdout } = await drops(args(), shell.configWith(quiet, shop));
  expect(stdout).toContain(`${shop}/postgres-0`);
});

test('it says that there are none, and how to check', async () => {
  const { code, stdout, stderr } = await drops(['-n', quiet]);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toContain(quiet);
  expect(stderr).toMatch(/ kube-netfilter-tailer doctor\n$/);
});

test.each(['json', 'yaml', 'name'])('-o %s: what kubectl itself prints of the same Events', async (format) => {
  const { stdout: own } = await drops(['-o', format]);
  const selector = 'source=kube-netfilter-tailer,reason=PacketDrop';
  const get = ['get', 'events.v1.', '--field-selector', selector, '--sort-by', '.lastTimestamp', '-o', format];
  const { stdout: theirs } = await shell.kubectl(get);
  if (format === 'name') expect(own).toBe(theirs);
  else expect(load(own)).toEqual(load(theirs));
});

test('-o wide shows node, policy and message', async () => {
  const { stdout } = await drops(['-o', 'wide', 'cart-7']);
  const [, row = ''] = stdout.split('\n');
  expect(row.split(/ {2,}/).slice(-3)).toEqual(['node-b', cartPolicy, sent]);
});

test.each<[string, string[], string]>([
  ['a Pod', ['pod/postgres-0'], 'postgres-0'],
  ['--node', ['--node', 'node-b'], 'cart-7'],
  ['--since', ['--since', '10m'], 'postgres-0'],
  ['-l', ['-l', 'app=postgres'], 'postgres-0'],
  ['a StatefulSet', ['sts/postgres'], 'postgres-0'],
  ['a Service', ['svc/cart'], 'cart-7'],
  ['--port', ['--port', '53,443'], 'cart-7'],
  ['--from-pod', ['--from-pod', 'worker'], 'postgres-0'],
  ['--to-pod', ['--to-pod', 'sts/postgres'], 'postgres-0'],
  ['--from-pod of a Service', ['--from-pod', `svc/${shop}/cart`, '-A'], 'cart-7'],
  ['--policy', ['--policy', 'cart-*'], 'cart-7'],
  ['--verdict', ['--verdict', 'rejected'], 'cart-7'],
])('%s leaves out the others', async (_, args, pod) => {
  const { code, stdout } = await drops(args);
  expect([code, stdout.trimEnd().split('\n')]).toEqual([0, [expect.anything(), expect.stringContaining(pod)]]);
});

test('a packet between two Pods of the namespace is one row, in all namespaces too', async () => {
  const says = { direction: 'sending', protocol: 'TCP', port: '5432', peer: `Pod/${shop}/postgres-0` };
  await send(drop('worker-7', sent, { namespace: shop, count: 36, secondsAgo: 30, peer: 'postgres-0', says }));
  for (const args of [[], ['-A']]) {
    const { stdout } = await drops([...args, '--port', '5432', '--to-pod', `${shop}/postgres-0`]);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  }
  expect((await drops(['-o', 'name', '--port', '5432'])).stdout.trimEnd().split('\n')).toHaveLength(2);
});

test('--insecure-skip-tls-verify accepts a certificate that cannot be verified', async () => {
  const { code, stderr } = await drops(['--insecure-skip-tls-verify', '--certificate-authority', '/dev/null']);
  expect([code, stderr]).toEqual([0, '']);
});

test('it says which filter leaves nothing', async () => {
  const { code, stdout, stderr } = await drops(['--port', '80', '--from-pod', 'sts/postgres']);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/^\d Events of lost packets .*, none matches --from-pod statefulset\/postgres --port 80\n$/);
});

describe('texts that would steer a terminal or look like another line', () => {
  beforeAll(async () => {
    const message = 'a\u001B[2J\u001B]0;owned\u0007\nb\tc\r\u009B31m\u202Ed\\"e\\" "f" %s $(id) `id` ${HOME} é';
    await send(drop('web-0', message, { namespace: hostile, name: '\u001B[31mred %d' }));
  });

  test('are shown as text, in one line', async () => {
    const { code, stdout, stderr } = await drops(['-n', hostile, '-o', 'wide']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(stdout).toContain(String.raw`${hostile}/\x1b[31mred %d`);
    expect(stdout).toContain(String.raw`a\x1b[2J\x1b]0;owned\x07\x0ab\x09c\x0d\x9b31m\u202ed`);
    expect(stdout).toContain('"f" %s $(id) `id` ${HOME} é');
  });

  test.each(['json', 'yaml'])('with -o %s no control character is printed', async (format) => {
    const { stdout } = await drops(['-n', hostile, '-o', format]);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(load(stdout)).toMatchObject({ items: [{ message: expect.stringContaining('\u202E') }] });
  });
});

test.each<[string, string[], number, RegExp]>([
  ['a Deployment that is not there', ['deployment/none'], 1, /^kubectl drops: .*"none" not found\n$/],
  [
    'a context that is not there',
    ['--context', 'no-such-context'],
    2,
    /^kubectl drops: --context no-such-context: .*\n$/,
  ],
  ['who may not list Events', ['--as', 'nobody'], 1, /User "nobody" cannot list resource "events"/],
  ['who may not list Pods', ['-l', 'app=postgres', '--as', 'nobody'], 1, /User "nobody" cannot list resource "pods"/],
  [
    'an answer that does not come in time',
    ['--request-timeout', '1ms'],
    1,
    /^kubectl drops: no answer came in time\n$/,
  ],
  [
    'a certificate that another authority has signed',
    ['--certificate-authority', '/dev/null'],
    1,
    /^kubectl drops: .*certificate.*\n$/,
  ],
  ['an API server that is away', ['--server', 'https://127.0.0.1:1'], 1, /^kubectl drops: .*ECONNREFUSED.*\n$/],
])('%s: what is wrong, and the exit status', async (_, args, status, message) => {
  const { code, stdout, stderr } = await drops(args);
  expect([code, stdout]).toEqual([status, '']);
  expect(stderr).toMatch(message);
});

test('--watch shows what there is, then what comes', async () => {
  const child = shell.start(['drops', '--watch', 'late-0']);
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const printed = createInterface(child.stderr)[Symbol.asyncIterator]();
  // The watch begins a moment after this line.
  expect((await printed.next()).value).toContain(shop);
  const shown = lines
    .next()
    .then(() => lines.next())
    .then(({ value }) => String(value));
  let first: string | undefined;
  try {
    for (let count = 1; first === undefined; count++) {
      await send(drop('late-0', received, { namespace: shop, says: { ...receiving, port: String(count) } }));
      first = await Promise.race([shown, delay(200, undefined)]);
    }
    expect(first).toMatch(new RegExp(`^${shop}/worker-7 +${shop}/late-0 +\\d+/TCP +1 +\\d+s +dropped +-$`));
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid);
    await ended;
  }
});

function podOf(namespace: string, name: string, app: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app } },
    spec: { containers: [{ name: 'c', image: 'registry.example/c' }] },
  };
}

function statefulSet(app: string, namespace: string): object {
  const { spec } = podOf(namespace, app, app);
  const template = { metadata: { labels: { app } }, spec };
  const selector = { matchExpressions: [{ key: 'app', operator: 'In', values: [app, 'other'] }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: app, namespace },
    spec: { serviceName: app, replicas: 0, selector, template },
  };
}

function service(app: string, namespace: string): object {
  const spec = { selector: { app }, ports: [{ port: 80 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: app, namespace }, spec };
}

function by(program: string): Pick<CoreEvent, 'source' | 'reportingComponent'> {
  return { source: { component: program }, reportingComponent: program };
}

async function send(event: CoreEvent): Promise<void> {
  const place = `/api/v1/namespaces/${event.metadata.namespace}/events`;
  const { status, body } = await controlPlane.request('POST', place, { body: event });
  if (status !== 201) throw new Error(`an Event was refused: ${status} ${JSON.stringify(body)}`);
}

function drops(args: readonly string[], config?: string): Promise<Outcome> {
  return shell.kubectl(['drops', ...args], config);
}
