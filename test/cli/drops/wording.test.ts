/** The wording of `drops why POD`: its conclusion, and what it says where there is nothing to ask. */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readWhyPodOptions } from '../../../src/cli/options/drops-options.ts';
import { whyPod } from '../../../src/cli/drops/why-pod.ts';
import { type Asked, json, startScriptedServer, type ScriptedServer } from '../../agent/kubernetes/scripted-server.ts';
import { networkPolicy } from '../../explain/policies/objects.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { parsed } from '../parsed.ts';
import { kubeconfigFor } from '../scene.ts';

const tables: { unknown: [string, string[], number, string][] } = {
  // Questions about unknown Pods.
  unknown: [
    [
      'is not there',
      ['web-1', '-n', 'shop'],
      2,
      'web-1: there is no such Pod in Namespace shop, and no Event of the last hour of one',
    ],
    [
      'is in no Namespace',
      ['web-1', '-A'],
      2,
      'web-1: there is no such Pod in this cluster, and no Event of the last hour of one',
    ],
    [
      'lost nothing',
      ['web-0', '-n', 'shop'],
      3,
      'web-0: no Event of the last hour is about a packet that this Pod lost',
    ],
  ],
};

const path = temporaryFolder();
let server: ScriptedServer;
/** The objects of the API server, by path. */
let objects: Record<string, object>;

const pod = (namespace: string, name: string, podIP: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { app: name } },
  status: { phase: 'Running', podIP },
});
const event = (name: string, port: number) => ({
  metadata: {
    namespace: 'shop',
    name,
    annotations: Object.fromEntries(
      Object.entries({ schema: '1', direction: 'receiving', peer: 'Pod/batch/worker-7', protocol: 'TCP', port }).map(
        ([key, value]) => [`kube-netfilter-tailer/${key}`, String(value)],
      ),
    ),
  },
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-0' },
  related: { kind: 'Pod', namespace: 'batch', name: 'worker-7' },
  reason: 'PacketDrop',
  message: '',
  lastTimestamp: `2026-11-21T10:00:0${port % 10}Z`,
});

function answer({ path: asked, response }: Asked): void {
  const found = objects[asked] ?? (asked.endsWith('policies') ? { items: [] } : undefined);
  if (found === undefined) json(response, 404, { reason: 'NotFound', message: `no ${asked}` });
  else json(response, 200, found);
}

beforeEach(async () => {
  server = await startScriptedServer(answer);
  objects = {
    '/api/v1/namespaces/shop/events': {
      metadata: { resourceVersion: '1' },
      items: [event('a', 8080), event('b', 443)],
    },
    '/api/v1/namespaces/shop/pods/web-0': pod('shop', 'web-0', '10.0.0.5'),
    '/api/v1/namespaces/batch/pods/worker-7': pod('batch', 'worker-7', '10.0.1.5'),
    '/api/v1/namespaces/shop': { metadata: { name: 'shop' } },
    '/api/v1/namespaces/batch': { metadata: { name: 'batch' } },
  };
  writeFileSync(path('kubeconfig'), kubeconfigFor(server.url));
});
afterEach(() => server.stop());

async function ran(...args: string[]): Promise<{ status: number; out: string; err: string }> {
  const options = readWhyPodOptions(parsed('kubectl drops', 'why', ...args, '--kubeconfig', path('kubeconfig')));
  let [out, err] = ['', ''];
  const status = await whyPod(options, 'kubectl drops why', {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { status, out, err };
}

test('if policies admit all drops, the end names the remaining causes', async () => {
  const { status, out } = await ran('web-0', '-n', 'shop');
  expect(status).toBe(0);
  expect(out.match(/→/g)).toHaveLength(2);
  expect(out.slice(out.indexOf('No policy explains'))).toMatchInlineSnapshot(`
    "No policy explains these drops now. What remains:
      - a policy that was changed or removed since: the Event may name the one that denied
      - a firewall on that node (firewalld, ufw, own rules), or in the network
      - rules of the network plug-in that are not up to date on the node
      - a connection that conntrack does not know (any more)
    The Events, with LOG prefix and node:
      kubectl drops web-0 -o wide
    "
  `);
});

test('if a policy denies one of them, no conclusion is printed', async () => {
  const policy = networkPolicy({ podSelector: {}, ingress: [{ ports: [{ port: 443 }] }] }, 'web');
  objects['/apis/networking.k8s.io/v1'] = { resources: [{ name: 'networkpolicies' }] };
  objects['/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies'] = { items: [policy] };
  const { status, out } = await ran('web-0', '-n', 'shop');
  expect({ status, isConcluded: out.includes('No policy explains') }).toEqual({ status: 1, isConcluded: false });
});

test('for the name of a Service, the message says how to ask about its Pods', async () => {
  objects['/api/v1/namespaces/shop/events'] = { metadata: { resourceVersion: '1' }, items: [] };
  objects['/api/v1/namespaces/shop/services/web'] = { metadata: { namespace: 'shop', name: 'web' } };
  const { status, err } = await ran('web', '-n', 'shop');
  expect(status).toBe(2);
  expect(err).toContain(
    'web: there is no such Pod in Namespace shop, and no Event of the last hour of one; for the Pods of the service of this name, use service/web.',
  );
});

test('a lost echo request of IPv6 is evaluated as ICMP', async () => {
  const { metadata, ...rest } = event('c', 0) as { metadata: { annotations: Record<string, string> } };
  const { 'kube-netfilter-tailer/port': _, ...others } = metadata.annotations;
  const annotations = { ...others, 'kube-netfilter-tailer/protocol': 'ICMPv6' };
  objects['/api/v1/namespaces/shop/events'] = {
    metadata: { resourceVersion: '1' },
    items: [{ ...rest, metadata: { ...metadata, annotations } }],
  };
  objects['/api/v1/namespaces/shop/pods/web-0'] = pod('shop', 'web-0', 'fd00::5');
  objects['/api/v1/namespaces/batch/pods/worker-7'] = pod('batch', 'worker-7', 'fd00::7');
  const { status, out } = await ran('web-0', '-n', 'shop');
  expect(status).toBe(0);
  expect(out).toContain('batch/worker-7 → shop/web-0');
});

test.each([
  ['has finished', { status: { phase: 'Succeeded', podIP: '10.0.1.6' } }],
  ['is gone', undefined],
])('a peer that %s is reported, and the other connections are answered', async (reason, changed) => {
  const { related, ...rest } = event('c', 5432);
  const gone = { ...related, name: 'job-1' };
  objects['/api/v1/namespaces/shop/events'] = {
    metadata: { resourceVersion: '1' },
    items: [event('a', 8080), { ...rest, related: gone }],
  };
  if (changed !== undefined)
    objects['/api/v1/namespaces/batch/pods/job-1'] = { ...pod('batch', 'job-1', ''), ...changed };
  const { status, out, err } = await ran('web-0', '-n', 'shop');
  expect(err).toBe(
    `kubectl drops why: batch/job-1 → shop/web-0 TCP 5432: Pod batch/job-1 ${reason}, and policies are evaluated for Pods that run\n`,
  );
  expect([status, out.match(/→/g)]).toEqual([0, ['→']]);
});

test('a deleted Pod with Events of the last hour is reported, without naming options that the user has not typed', async () => {
  delete objects['/api/v1/namespaces/shop/pods/web-0'];
  const { status, out, err } = await ran('web-0', '-n', 'shop');
  const gone = 'Pod shop/web-0 is gone, and policies are evaluated for Pods that run';
  expect(err.trimEnd().split('\n')).toEqual(
    [443, 8080].map((port) => `kubectl drops why: batch/worker-7 → shop/web-0 TCP ${port}: ${gone}`),
  );
  expect([status, out]).toEqual([3, '']);
});

test.each<[string, string[], number, string]>(tables.unknown)('a Pod that %s', async (_, args, status, reason) => {
  const none = { metadata: { resourceVersion: '1' }, items: [] };
  Object.assign(objects, {
    '/api/v1/namespaces/shop/events': none,
    '/api/v1/events': none,
    '/api/v1/pods': { items: [] },
  });
  expect(await ran(...args)).toEqual({
    status,
    out: '',
    err: `kubectl drops why: ${reason}. Of any connection: kubectl drops why --from END --to END --port PORT\n`,
  });
});
