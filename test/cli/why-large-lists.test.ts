import { afterEach, expect, test } from 'vitest';
import { readWhyOptions } from '../../src/cli/options/why-options.ts';
import { suggestPolicies } from '../../src/cli/why/suggest.ts';
import { why } from '../../src/cli/why/why.ts';
import { json, refuse, type ScriptedServer, startScriptedServer } from '../agent/kubernetes/scripted-server.ts';
import { calico, networkPolicy } from '../explain/policies/objects.ts';
import { parsed } from './parsed.ts';
import { podObject } from './scene.ts';

/** A server that sends lists larger than an answer may be. */

let server: ScriptedServer;
afterEach(() => server.stop());

const podOf = (namespace: string, name: string, podIP: string): object => podObject(namespace, name, name, podIP);
const stored = '/apis/crd.projectcalico.org/v1';
const shop = '/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies';
const open = networkPolicy({ podSelector: {}, ingress: [{}] }, 'open');
const ofTier = { tier: 'security', types: ['Ingress'], ingress: [{ action: 'Allow' }] };
const ofSet = { types: ['Ingress'], ingress: [{ action: 'Allow', source: { selector: 'place == "office"' } }] };
const resources = ['globalnetworkpolicies', 'tiers', 'globalnetworksets', 'networksets', 'hostendpoints'];
const calicoApi = { [stored]: { resources: resources.map((name) => ({ name })) } };
const away = '/apis/projectcalico.org/v3';
const nodeB = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-b' },
  status: { addresses: [{ type: 'InternalIP', address: '192.168.7.12' }] },
};
const cluster: Record<string, object> = {
  '/api/v1/namespaces/shop/pods/web-0': podOf('shop', 'web-0', '10.65.1.4'),
  '/api/v1/namespaces/batch/pods/worker-7': podOf('batch', 'worker-7', '10.65.2.9'),
  '/api/v1/namespaces/shop/pods': { items: [podOf('shop', 'web-0', '10.65.1.4')] },
  '/api/v1/pods': { items: [] },
  '/api/v1/nodes': { items: [] },
  '/api/v1/services': { items: [] },
  '/api/v1/namespaces/shop': { metadata: { name: 'shop' } },
  '/api/v1/namespaces/batch': { metadata: { name: 'batch' } },
  '/apis/networking.k8s.io/v1': { resources: [{ name: 'networkpolicies' }] },
  '/apis/networking.k8s.io/v1/namespaces/batch/networkpolicies': { items: [] },
  [shop]: { items: [open] },
};

/** Asks the command; the answer for the path `large` is larger than 16 MiB. */
async function ask(
  command: 'why' | 'suggest',
  from: string,
  large: string,
  more: Record<string, object> = {},
): Promise<{ status: number; text: string }> {
  const answers: Record<string, object> = { ...cluster, ...more };
  server = await startScriptedServer(({ path, query, response }) => {
    const isSelected = query['fieldSelector'] !== undefined;
    const known = isSelected ? { items: [] } : answers[path];
    if (path === away && known !== undefined) refuse(response, 503);
    else if (path === large) json(response, 200, { ...known, items: [], filling: 'x'.repeat(17 * 2 ** 20) });
    else json(response, known === undefined ? 404 : 200, known ?? {});
  });
  const options = readWhyOptions(parsed(command, '--from', from, '--to', 'shop/web-0', '--port', '80'));
  let text = '';
  const take = (part: string): void => void (text += part);
  const run = command === 'why' ? why : suggestPolicies;
  return { status: await run({ ...options, access: server.access() }, { out: take, err: take }), text };
}

const [worker, office] = ['batch/worker-7', '192.0.2.7'];

test.each<[string, string, string, string, Record<string, object>?]>([
  ['NetworkPolicies', worker, shop, 'the list of networkpolicies is too large'],
  [
    "Calico's policies of the cluster",
    worker,
    `${stored}/globalnetworkpolicies`,
    'the list of globalnetworkpolicies is too large',
    calicoApi,
  ],
  [
    'tiers, one of which a policy names',
    worker,
    `${stored}/tiers`,
    'which order the tier security has',
    { ...calicoApi, [`${stored}/globalnetworkpolicies`]: { items: [calico('GlobalNetworkPolicy', ofTier)] } },
  ],
  [
    'sets of networks that a rule selects',
    office,
    `${stored}/globalnetworksets`,
    'NetworkSets of Calico have 192.0.2.7',
    {
      ...calicoApi,
      [`${stored}/globalnetworkpolicies`]: { items: [calico('GlobalNetworkPolicy', ofSet)] },
      [shop]: { items: [] },
    },
  ],
  ['HostEndpoints, from an address', office, `${stored}/hostendpoints`, 'is of a HostEndpoint', calicoApi],
  ['Pods, from an address', office, '/api/v1/pods', 'which Pod has 192.0.2.7'],
  ['Nodes, from an address', office, '/api/v1/nodes', 'which Pod has 192.0.2.7'],
  ['Services, from an address', office, '/api/v1/services', 'which Pod has 192.0.2.7'],
])(
  'a list above 16 MiB makes the verdict unknown, and the missing objects are named: %s',
  async (_, from, large, missing, more) => {
    const { status, text } = await ask('why', from, large, more);
    expect(text).toContain(missing);
    expect(status).toBe(3);
  },
);

test('a Pod is also found by its second address', async () => {
  const both = {
    ...podOf('batch', 'worker-7', '10.65.2.9'),
    status: { phase: 'Running', podIPs: [{ ip: '10.65.2.9' }, { ip: 'fd00::9' }] },
  };
  const web = { ...podOf('shop', 'web-0', '10.65.1.4'), status: { phase: 'Running', podIPs: [{ ip: 'fd00::4' }] } };
  const { text } = await ask('why', 'fd00::9', '', {
    '/api/v1/pods': { items: [podOf('lab', 'x', '10.65.3.1'), both] },
    '/api/v1/namespaces/shop/pods/web-0': web,
  });
  expect(text).toContain('batch/worker-7 → shop/web-0');
  expect(server.asked.map(({ path }) => path)).not.toContain('/api/v1/namespaces/lab');
});

test('a list above 16 MiB gives no suggestion, and the missing objects are named', async () => {
  const { status, text } = await ask('suggest', worker, shop);
  expect(text).toContain('the list of networkpolicies is too large');
  expect(status).toBe(3);
});

test('if the server of projectcalico.org/v3 is away, a Node may have a HostEndpoint, so its verdict is unknown too', async () => {
  const { status, text } = await ask('why', '192.168.7.12', '', { '/api/v1/nodes': { items: [nodeB] }, [away]: {} });
  expect(text).toMatch(/^egress of Node node-b: UNKNOWN: .*192\.168\.7\.12/m);
  expect(status).toBe(3);
});

test('the same cluster without such a list has a verdict', async () => {
  expect(await ask('why', worker, '')).toMatchObject({ status: 0 });
});

test("the Node of a Pod on the Node's network is read, because it may send from a tunnel's address", async () => {
  const proxy = podObject('batch', 'proxy', 'proxy', '192.168.7.12', { hostNetwork: true, nodeName: 'node-b' });
  const annotations = { 'projectcalico.org/IPv4IPIPTunnelAddr': '10.65.2.0' };
  const { text } = await ask('why', 'batch/proxy', '', {
    '/api/v1/namespaces/batch/pods/proxy': proxy,
    '/api/v1/nodes/node-b': { ...nodeB, metadata: { ...nodeB.metadata, annotations } },
  });
  expect(text).toContain('note: Node node-b sends from 10.65.2.0');
});
