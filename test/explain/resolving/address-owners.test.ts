import { expect, test } from 'vitest';
import { slimNode, slimService } from '../../../src/agent/kubernetes/slim.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { createRemoteLookups } from '../../../src/explain/resolving/lookups/remote.ts';
import type { Node, Pod, Service } from '../../../src/explain/resolving/objects.ts';
import { ends, nine, node, pod, podEnd, service } from '../../builders.ts';

const address = '10.65.1.4';
const then = { time: nine, exact: true };

interface Objects {
  pods?: Partial<Pod>[];
  nodes?: Partial<Node>[];
  services?: Partial<Service>[];
  lookedUp?: { pods?: Partial<Pod>[]; node?: string };
}

/** Returns the owner that an agent on node-a names, whichever order the lists have. */
function ownerOf({ pods = [], nodes = [], services = [], lookedUp = {} }: Objects): string {
  const remote = {
    podsOf: () => lookedUp.pods?.map((each) => pod(each)),
    nodeOf: () => lookedUp.node,
    hostNameOf: () => undefined,
    latestChange: -Infinity,
  };
  const owners = [<T>(all: readonly T[]) => all, <T>(all: readonly T[]) => all.toReversed()].map((inOrder) => {
    const lists = createLiveLists('node-a', remote);
    for (const each of inOrder(pods)) lists.setPod(pod({ addresses: [address], ...each }), nine);
    for (const each of inOrder(nodes)) lists.setNode(node({ addresses: [], podRanges: [], ...each }));
    for (const each of inOrder(services)) lists.setService(service({ addresses: [address], ...each }), nine);
    const { object, kind, note, evidence } = lists.endpoints.byAddress(address, then);
    if (object !== undefined) return `${object.kind} ${object.name}`;
    return evidence === 'none' ? `${kind}: ${note}` : `${kind} by ${evidence}`;
  });
  expect(owners[0]).toBe(owners[1]);
  return owners[0] ?? '';
}

const here = { name: 'here', node: 'node-a' };
const atHome = { name: 'at-home', node: 'node-b' };
const far = { name: 'far', node: 'node-c' };
const home = { name: 'node-b', podRanges: ['10.65.1.0/24'] };
const claimant = { name: 'node-c', addresses: [address] };
const tunnel = { name: 'node-d', annotated: [address] };
const api = { name: 'api' };
const dns = { namespace: 'kube-system', name: 'kube-dns', role: 'dns' as const };

test.each<[string, Objects, string]>([
  ['a Pod of this node', { pods: [here, far], nodes: [home, claimant], services: [api] }, 'Pod here'],
  ['a Pod within its Node’s Pod range', { pods: [atHome, far], nodes: [home], services: [api] }, 'Pod at-home'],
  ['the Service with this ClusterIP', { pods: [far], nodes: [claimant], services: [api] }, 'Service api'],
  ['another Pod by its status', { pods: [far], nodes: [claimant] }, 'Pod far'],
  ['a Pod that was looked up', { lookedUp: { pods: [far] }, nodes: [claimant] }, 'Pod far'],
  ['a Node by its status', { nodes: [claimant, tunnel], lookedUp: { node: 'node-e' } }, 'Node node-c'],
  ['a Node by a look-up', { nodes: [tunnel], lookedUp: { node: 'node-e' } }, 'Node node-e'],
  ['a Node by its annotation', { nodes: [home, tunnel] }, 'Node node-d'],
  ['a Pod that is not known', { nodes: [home] }, 'unknown by address-range'],
  ['nobody in the cluster', {}, 'external by address-range'],
])('an address belongs, with this precedence, to %s', (_, objects, expected) => {
  expect(ownerOf(objects)).toBe(expected);
});

test.each<[string, Objects, string]>([
  ['Pods of two Nodes', { pods: [atHome, far] }, 'unknown: several Pods have this address'],
  [
    'Pods of two Nodes that were looked up',
    { lookedUp: { pods: [atHome, far] } },
    'unknown: several Pods have this address',
  ],
  ['two Nodes', { nodes: [claimant, { ...claimant, name: 'node-x' }] }, 'unknown: several Nodes have this address'],
  [
    'annotations of two Nodes',
    { nodes: [tunnel, { ...tunnel, name: 'x' }] },
    'unknown: several Nodes have this address',
  ],
  ['two Services', { services: [api, { name: 'copy' }] }, 'unknown: several Services have this address'],
])('an address claimed by several has no owner, because each could be the false claim: %s', (_, objects, expected) => {
  expect(ownerOf(objects)).toBe(expected);
});

test("if two Services have one ClusterIP, the system's Service has it", () => {
  expect(ownerOf({ services: [api, dns] })).toBe('Service kube-dns');
});

test("a Node does not take an address from another Node's Pod range", () => {
  expect(ownerOf({ nodes: [home, claimant] })).toBe('unknown by address-range');
});

test('a Node with a wide Pod range does not take addresses of others', () => {
  expect(ownerOf({ pods: [atHome, far], nodes: [{ name: 'node-c', podRanges: ['0.0.0.0/0'] }, home] })).toBe(
    'Pod at-home',
  );
});

test('an address that a Service or an annotation claims is looked up like any other', () => {
  const remote = createRemoteLookups({
    findPods: () => new Promise(() => {}),
    findHostName: undefined,
    onChange: () => {},
    now: () => nine,
  });
  const lists = createLiveLists('node-a', remote);
  const [balanced, tunnelled] = ['10.65.7.1', '10.65.7.2'];
  const metadata = { namespace: 'evil', name: 'trusted' };
  lists.setService(
    slimService({
      metadata,
      spec: { clusterIP: '10.96.0.9', externalIPs: [balanced] },
      status: { loadBalancer: { ingress: [{ ip: balanced }] } },
    }),
    nine,
  );
  lists.setNode(
    slimNode({ metadata: { name: 'node-c', annotations: { 'flannel.alpha.coreos.com/public-ip': tunnelled } } }),
  );
  for (const each of [balanced, tunnelled])
    expect(remote.startLookups(ends({ source: podEnd(), destination: lists.endpoints.byAddress(each, then) }))).toBe(
      true,
    );
});
