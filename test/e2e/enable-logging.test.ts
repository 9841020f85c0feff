import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Recipe } from '../../src/commands/doctor/enable-logging/detect.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { nodeObject, podObject } from './agent-rig.ts';
import { bundle } from './bundle.ts';
import { type Connection, connect } from './control-plane/connection.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { createObjects } from './control-plane/objects.ts';

/** doctor --enable-logging in a cluster of its own: what it looks at are the Pods of all namespaces. */

let plane: ControlPlane;
let connection: Connection;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-enable-'));
  plane = await startControlPlane();
  connection = connect(plane);
  await createObjects(connection, { items: [nodeObject('node-a', '192.0.2.1')] });
}, 120_000);
afterAll(async () => {
  await plane.stop();
  rmSync(folder, { recursive: true });
});
afterEach(() => kubectl('delete', 'pods', '-n', 'kube-system', '--all', '--force', '--grace-period=0'));

const kubectl = (...args: string[]): Promise<string> => connection.succeed(args);

/** A Pod as the plug-in's own manifest makes it. */
async function plugIn(name: string, labels: string, image = 'agent:1'): Promise<void> {
  const pod = podObject({ namespace: 'kube-system', name, node: 'node-a', addresses: ['192.0.2.1'] });
  const labelled = Object.fromEntries(labels.split(',').map((label) => label.split('=')));
  const metadata = { name, namespace: 'kube-system', labels: labelled };
  const spec = { nodeName: 'node-a', containers: [{ name: 'main', image }] };
  await createObjects(connection, { items: [{ ...pod, metadata, spec }] });
}

async function doctor(...args: string[]): Promise<{ status: number; out: string }> {
  const env = { KUBECONFIG: connection.adminKubeconfig, NODE_NAME: 'node-a' };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [bundle, 'doctor', '--enable-logging', ...args], {
      env,
    });
    return { status: 0, out: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { status: code, out: stdout };
  }
}

async function recipes(): Promise<Recipe[]> {
  const { out } = await doctor('-o', 'json');
  return (JSON.parse(out) as { enableLogging: { plugIns: Recipe[] } }).enableLogging.plugIns;
}

describe('Calico', () => {
  beforeAll(async () => {
    await connection.apply(...['FelixConfiguration', 'GlobalNetworkPolicy'].map(definition));
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    await kubectl('create', 'namespace', 'shop');
  }, 120_000);

  test('what is printed can be applied as it is, and undone as it is: nothing is left', async () => {
    await configure({ bpfEnabled: false, logPrefix: 'of-our-own' });
    await plugIn('calico-node-x2kq7', 'k8s-app=calico-node', 'quay.io/calico/node:v3.31.4');
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
});

function definition(kind: string): object {
  return definitionOf({ group: 'crd.projectcalico.org', version: 'v1', kind, scope: 'Cluster' });
}

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

async function configure(spec: object): Promise<void> {
  const felix = { apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name: 'default' } };
  await connection.apply({ ...felix, spec });
}
