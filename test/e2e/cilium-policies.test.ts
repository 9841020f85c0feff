import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { policiesFile, rightsFile } from '../../src/kubernetes/rights.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { type AgentRig, createAgentRig, kubeconfigWith, nodeObject, podObject } from './agent-rig.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { createObjects } from './control-plane/objects.ts';
import { rulesIn } from './granted.ts';

/** Policies of Cilium at a real API server, read by an agent with the rights that the base grants. Hubble's line names none of them. */

/** The control plane is its own: whether there are kinds of Cilium is the same for all who use an API server. */
let controlPlane: ControlPlane;
let rig: AgentRig;
const node = 'cilium-node';

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const group = { group: 'cilium.io', version: 'v2' };
  await controlPlane.apply(
    definitionOf({ ...group, kind: 'CiliumNetworkPolicy', scope: 'Namespaced' }),
    definitionOf({ ...group, kind: 'CiliumClusterwideNetworkPolicy', scope: 'Cluster' }),
  );
  await controlPlane.succeed(['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);
  // Somewhat later than a kind is established, its lists are served from the cache of the API server.
  for (const plural of ['ciliumnetworkpolicies', 'ciliumclusterwidenetworkpolicies'])
    await vi.waitFor(() => untilListed(plural), { timeout: 30_000, interval: 250 });
  rig = await createAgentRig(controlPlane);
}, 120_000);

afterAll(async () => {
  await rig?.killAll();
  await controlPlane?.stop();
});

async function untilListed(plural: string): Promise<void> {
  const { status } = await controlPlane.request('GET', `/apis/cilium.io/v2/${plural}?resourceVersion=0`);
  if (status !== 200) throw new Error(`the list of ${plural}: ${status}`);
}

function labelled(namespace: string, name: string, app: string, address: string) {
  const object = podObject({ namespace, name, node, addresses: [address] });
  return { ...object, metadata: { ...object.metadata, labels: { app } } };
}

test('the Event names the nearest rule of a policy of Cilium where no rule admits, and the rule that denies', async () => {
  const items = [
    nodeObject(node, '192.168.84.1'),
    labelled('cilium-shop', 'postgres-0', 'postgres', '10.244.1.30'),
    labelled('cilium-batch', 'worker-7', 'worker', '10.244.0.41'),
  ];
  await createObjects(controlPlane, { items });
  const endpointSelector = { matchLabels: { app: 'postgres' } };
  const fromBatch = [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'cilium-batch', app: 'frontend' } }];
  const policy = {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNetworkPolicy',
    metadata: { name: 'postgres', namespace: 'cilium-shop' },
    spec: {
      endpointSelector,
      ingress: [{ fromEndpoints: fromBatch, toPorts: [{ ports: [{ port: '5432', protocol: 'TCP' }] }] }],
    },
  };
  await controlPlane.apply(policy);
  const log = join(rig.newFolder(), 'events.log');
  writeFileSync(log, '');
  const reading = await kubeconfigWith(controlPlane, 'cilium', rulesIn(rightsFile, policiesFile));
  await rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: reading }).untilReady();
  const [sample = ''] = readFileSync('samples/hubble-flows.log', 'utf8').split('\n');
  const line = sample
    .replaceAll(/"namespace":"(shop|batch)"/g, '"namespace":"cilium-$1"')
    .replace(/"pod_name":"worker-[^"]*"/, '"pod_name":"worker-7"');
  const packet = (port: number): string =>
    `${line.replaceAll(/2026-11-21T[\d:.]*Z/g, new Date().toISOString()).replace('"destination_port":5432', `"destination_port":${port}`)}\n`;

  appendFileSync(log, packet(5432));
  const [isolated] = await rig.untilEvents('cilium-shop', (all) => all.length === 1);
  expect(isolated?.message).toContain('CiliumNetworkPolicy cilium-shop/postgres ingress[0]');
  expect(isolated?.message).toContain('has app=worker');

  const ingressDeny = [{ fromEntities: ['cluster'], toPorts: [{ ports: [{ port: '5433', protocol: 'TCP' }] }] }];
  const lockdown = {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumClusterwideNetworkPolicy',
    metadata: { name: 'lockdown' },
    spec: { endpointSelector, ingressDeny },
  };
  await controlPlane.apply(lockdown);
  appendFileSync(log, packet(5433));
  const events = await rig.untilEvents('cilium-shop', (all) => all.length === 2);
  const denied = events.find(({ message }) => message.includes('5433/TCP'))?.message;
  expect(denied).toContain('Denied by CiliumClusterwideNetworkPolicy lockdown ingressDeny[0]');
});
