import { appendFileSync } from 'node:fs';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { definitionOf } from '../deploy/custom-resources.ts';
import {
  type AgentRig,
  createAgentRig,
  dropLine,
  kubeconfigWith,
  nodeObject,
  podObject,
  untilMetric,
} from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { createAll, createDeploying } from './deploying.ts';
import { rulesIn } from './granted.ts';

/** Pods of other nodes at a real API server, each way with the rights that deploy/ gives for it. */

const controlPlane = connect(inject('controlPlane'));
const node = 'lookups-node';
const otherNode = 'lookups-other';
let rig: AgentRig;
let calicoKubeconfig: string;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  const rules = rulesIn('deploy/base/rbac.yaml', 'deploy/components/calico-lookups/rbac.yaml');
  calicoKubeconfig = await kubeconfigWith(controlPlane, 'calico', rules);
  const deploying = createDeploying(controlPlane, rig.folder);
  const group = 'crd.projectcalico.org';
  await createAll(
    controlPlane,
    deploying,
    ['IPPool', 'IPAMBlock'].map((kind) => definitionOf({ group, version: 'v1', kind, scope: 'Cluster' })),
  );
  await createAll(controlPlane, deploying, [
    {
      apiVersion: `${group}/v1`,
      kind: 'IPPool',
      metadata: { name: 'default-ipv4-ippool' },
      spec: { cidr: '10.81.0.0/16', blockSize: 26 },
    },
    blockObject('10.81.2.0/26', { 9: 'db', 10: 'cache' }),
  ]);
  await createObjects(controlPlane, {
    items: [nodeObject(node, '192.168.81.1'), nodeObject(otherNode, '192.168.81.2')],
  });
});
afterEach(() => rig.killAll());

test('a second Pod of a block of Calico costs one request', async () => {
  const { namespace, log } = await scene('lookups-calico', '10.81.1.1', { db: '10.81.2.9', cache: '10.81.2.10' });
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: calicoKubeconfig });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.81.1.1', '10.81.2.9', 5432));
  await rig.untilEvents(namespace, (all) => all.some(({ involvedObject }) => involvedObject.name === 'db'));
  appendFileSync(log, dropLine('10.81.1.1', '10.81.2.10', 6379));
  const events = await rig.untilEvents(namespace, (all) => all.length === 4);
  const { body: pod } = await controlPlane.request('GET', `/api/v1/namespaces/${namespace}/pods/cache`);
  expect(events.find(({ involvedObject }) => involvedObject.name === 'cache')?.involvedObject.uid).toBe(
    (pod as { metadata: { uid: string } }).metadata.uid,
  );
  await untilMetric(agent, /pod_lookup_ways_total\{way="calico-block",result="hit"\} 2$/m);
  const { body } = await agent.get('/metrics');
  expect(body).toMatch(/api_requests_total\{verb="GET",resource="ipamblocks",code="200"\} 1$/m);
  expect(body).toMatch(/pod_lookup_ways_total\{way="field-selector",result="hit"\} 0$/m);
  await agent.untilLog(({ ways }) => String(ways).includes('calico-block (1 IPPools of Calico)'));
});

/** A log, and Pods: one of this node, and those of the other one. */
async function scene(
  namespace: string,
  here: string,
  there: Readonly<Record<string, string>>,
): Promise<{ namespace: string; log: string }> {
  const pods = Object.entries(there).map(([name, address]) =>
    podObject({ namespace, name, node: otherNode, addresses: [address] }),
  );
  await createObjects(controlPlane, {
    items: [podObject({ namespace, name: 'web', node, addresses: [here] }), ...pods],
  });
  return { namespace, log: rig.newLog() };
}

/** Makes a block as Calico's IPAM writes it. */
function blockObject(cidr: string, pods: Readonly<Record<number, string>>): object {
  const allocations: (number | null)[] = Array.from({ length: 64 }, () => null);
  const attributes = Object.entries(pods).map(([ordinal, pod], index) => {
    allocations[Number(ordinal)] = index;
    return {
      handle_id: `k8s-pod-network.${ordinal}`,
      secondary: { namespace: 'lookups-calico', node: otherNode, pod, timestamp: '2026-11-21 08:00:00 +0000 UTC' },
    };
  });
  return {
    apiVersion: 'crd.projectcalico.org/v1',
    kind: 'IPAMBlock',
    metadata: { name: cidr.replaceAll(/[./]/g, '-') },
    spec: { cidr, affinity: `host:${otherNode}`, allocations, attributes, unallocated: [], strictAffinity: false },
  };
}
