import { execFile, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recipe } from '../../src/commands/doctor/enable-logging/detect.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { nodeObject, podObject } from './agent-rig.ts';
import { bundle } from './bundle.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { createObjects } from './control-plane/objects.ts';
import { outcomeOf } from './outcome.ts';
import { createOwnFolder } from './own-folder.ts';

/** doctor --enable-logging in a cluster of its own: what it looks at are the Pods of all namespaces. */

let connection: ControlPlane;
let folder: string;
const kubectl = (...args: string[]): Promise<string> => connection.succeed(args);

beforeAll(async () => {
  folder = createOwnFolder('enable');
  connection = await startControlPlane();
  const group = 'crd.projectcalico.org';
  const kinds = ['FelixConfiguration', 'GlobalNetworkPolicy'];
  await connection.apply(...kinds.map((kind) => definitionOf({ group, version: 'v1', kind, scope: 'Cluster' })));
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await kubectl('create', 'namespace', 'shop');
  const felix = { apiVersion: `${group}/v1`, kind: 'FelixConfiguration', metadata: { name: 'default' } };
  await connection.apply({ ...felix, spec: { bpfEnabled: false, logPrefix: 'of-our-own' } });
  const labels = { 'k8s-app': 'calico-node' };
  const place = { namespace: 'kube-system', name: 'calico-node-x2kq7', node: 'node-a', addresses: ['192.0.2.1'] };
  const pod = podObject({ ...place, labels });
  const spec = { nodeName: 'node-a', containers: [{ name: 'main', image: 'quay.io/calico/node:v3.31.4' }] };
  await createObjects(connection, { items: [nodeObject('node-a', '192.0.2.1'), { ...pod, spec }] });
}, 120_000);
afterAll(async () => {
  await connection.stop();
  rmSync(folder, { recursive: true });
});

async function recipes(): Promise<Recipe[]> {
  const env = { KUBECONFIG: connection.adminKubeconfig, NODE_NAME: 'node-a' };
  const args = [bundle, 'doctor', '--enable-logging', '-o', 'json'];
  const { stdout } = await outcomeOf(spawn(process.execPath, args, { env }));
  return (JSON.parse(stdout) as { enableLogging: { plugIns: Recipe[] } }).enableLogging.plugIns;
}

test('what is printed can be applied as it is, and undone as it is: nothing is left', async () => {
  const [recipe] = await recipes();
  if (recipe?.manifest === undefined) throw new Error('there is no manifest');
  const before = await stateOfCalico();
  writeFileSync(join(folder, recipe.manifest.file), recipe.manifest.text);
  for (const command of recipe.commands ?? []) await shell(command);
  expect(await stateOfCalico()).toEqual([
    {
      bpfEnabled: false,
      logPrefix: 'calico-drop %k %p',
      logActionRateLimit: '10/second',
      logActionRateLimitBurst: 50,
    },
    expect.stringMatching(/default\.deny-in\n.*default\.deny-out/),
    expect.stringContaining('log-denied-ingress'),
  ]);
  for (const command of recipe.undo ?? []) await shell(command);
  expect(await stateOfCalico()).toEqual(before);
});

/** Returns what the printed commands change. */
async function stateOfCalico(): Promise<unknown> {
  return [
    (JSON.parse(await kubectl('get', 'felixconfiguration', 'default', '-o', 'json')) as { spec: unknown }).spec,
    await kubectl('get', 'globalnetworkpolicies', '-o', 'name'),
    await kubectl('get', 'namespace', 'shop', '-o', 'jsonpath={.metadata.labels}'),
  ];
}

/** A printed command, in the folder of the manifest. */
async function shell(command: string): Promise<void> {
  const script = `kubectl() { "$KUBECTL" --kubeconfig "$KUBECONFIG" "$@"; }; ${command.replaceAll('NAMESPACE', 'shop')}`;
  const env = {
    PATH: process.env['PATH'] ?? '',
    KUBECTL: connection.kubectlPath,
    KUBECONFIG: connection.adminKubeconfig,
  };
  await promisify(execFile)('sh', ['-ec', script], { cwd: folder, env });
}
