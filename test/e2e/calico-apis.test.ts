import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Recipe } from '../../src/cli/doctor/enable-logging/detect.ts';
import { readCluster } from '../../src/cli/why/cluster.ts';
import { createConnection } from '../../src/agent/kubernetes/connection.ts';
import { readKubeconfig } from '../../src/agent/kubernetes/kubeconfig.ts';
import { createPolicyReader } from '../../src/agent/kubernetes/policy-objects.ts';
import {
  type CalicoObjects,
  createEvaluator,
  createPolicySet,
  type Policy,
  type PolicyFlow,
} from '../../src/explain/policies/policies.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { pod } from '../explain/policies/objects.ts';
import { nodeObject, podObject } from './agent-rig.ts';
import { bundle } from './bundle.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { createObjects } from './control-plane/objects.ts';
import { outcomeOf } from './outcome.ts';

/**
 * Calico's policies through both of its APIs, at a real API server. CustomResourceDefinitions stand for what Calico
 * stores and for what its own API server serves; an APIService without a server stands for one that is away. Then tests
 * what `doctor --enable-logging` does with them.
 */

/** A control plane of its own, because whether Calico is installed is the same for all clients of an API server. */
let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
});
afterAll(() => controlPlane?.stop());

const stored = { group: 'crd.projectcalico.org', version: 'v1' };
const served = { group: 'projectcalico.org', version: 'v3' };
type Api = typeof stored;

const apiService = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: 'v3.projectcalico.org' },
  spec: {
    ...served,
    groupPriorityMinimum: 1500,
    versionPriority: 200,
    insecureSkipTLSVerify: true,
    service: { namespace: 'default', name: 'no-such-service' },
  },
};
const installed: object[] = [];

const statusOf = async ({ group, version }: Api): Promise<number> =>
  (await controlPlane.request('GET', `/apis/${group}/${version}`)).status;

async function untilStatus(api: Api, status: number): Promise<void> {
  const ask = async (): Promise<void> => {
    const found = await statusOf(api);
    if (found !== status) throw new Error(`${api.group} answers ${found} in place of ${status}`);
  };
  await vi.waitFor(ask, { timeout: 60_000, interval: 250 });
}

/** Installs one policy of that name, which admits or denies all. */
async function install(api: Api, name: string, action: 'Allow' | 'Deny'): Promise<void> {
  const made = definitionOf({ ...api, kind: 'GlobalNetworkPolicy', scope: 'Cluster' });
  installed.push(made);
  await controlPlane.apply(made);
  const policy = {
    apiVersion: `${api.group}/${api.version}`,
    kind: 'GlobalNetworkPolicy',
    metadata: { name },
    spec: { selector: 'all()', types: ['Ingress'], ingress: [{ action }] },
  };
  // It is served somewhat later than it is created.
  await vi.waitFor(() => controlPlane.apply(policy), { timeout: 60_000, interval: 250 });
  await untilStatus(api, 200);
}

async function installAway(): Promise<void> {
  installed.push(apiService);
  await controlPlane.apply(apiService);
  await untilStatus(served, 503);
}

afterEach(async () => {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: installed.splice(0) });
  await controlPlane.succeed(['delete', '--ignore-not-found', '--timeout=60s', '-f', '-'], { input });
  for (const api of [stored, served]) await untilStatus(api, 404);
});

const shop = pod();
const flow: PolicyFlow = {
  source: { kind: 'external', address: '192.0.2.7' },
  destination: { kind: 'pod', pod: shop, address: '10.65.1.4' },
  protocol: 'TCP',
  port: 5432,
};

/** The verdict, and the policy that decides or what is missing. */
function seen(policies: Iterable<Policy>, calico: CalicoObjects | undefined): string {
  const { verdict } = createEvaluator({ policies: createPolicySet(policies, calico), namespaces: [] });
  const { outcome, decision, missing } = verdict(flow, 'ingress');
  return [outcome, ...(decision === undefined ? missing : [decision.policy.name])].join(' ');
}

async function seenByAgent(): Promise<string> {
  const connection = createConnection({
    access: readKubeconfig(controlPlane.adminKubeconfig),
    userAgent: 'test',
    onRequest: () => {},
    clock: { now: Date.now, wall: Date.now },
  });
  const { policies, calico } = await createPolicyReader(connection, Date.now, () => {}).cluster();
  return seen(policies, calico);
}

async function seenByWhy(): Promise<string> {
  const { policies, calico } = await readCluster(
    {
      from: { kind: 'address', address: '192.0.2.7' },
      to: { kind: 'address', address: '192.0.2.8' },
      port: 5432,
      protocol: 'TCP',
      files: [],
      cluster: { flags: { kubeconfig: controlPlane.adminKubeconfig }, timeout: undefined },
      output: 'json',
    },
    false,
  );
  return seen(policies.values(), calico);
}

const missed = expect.stringMatching(/^unknown .*projectcalico\.org\/v3/) as string;

test.each<[string, (readonly [Api, string, 'Allow' | 'Deny'] | 'away')[], string, string]>([
  ['nothing is served, none is missed', [], 'admits', 'admits'],
  [
    'only crd.projectcalico.org/v1 is served, it is read',
    [[stored, 'stored', 'Deny']],
    'denies stored',
    'denies stored',
  ],
  ['only projectcalico.org/v3 is served, it is read', [[served, 'served', 'Deny']], 'denies served', 'denies served'],
  [
    'both are served, the agent takes what is stored, which needs no right to tiers, and why the other',
    [
      [stored, 'stored', 'Deny'],
      [served, 'served', 'Allow'],
    ],
    'denies stored',
    'admits served',
  ],
  [
    'the server of projectcalico.org/v3 is away, what is stored still decides, because that is what it serves',
    [[stored, 'stored', 'Deny'], 'away'],
    'denies stored',
    'denies stored',
  ],
  ['that server is away and nothing is stored, the verdict is unknown and says so', ['away'], missed, missed],
])('where %s', async (_, installs, byAgent, byWhy) => {
  for (const each of installs) await (each === 'away' ? installAway() : install(...each));
  expect([await seenByAgent(), await seenByWhy()]).toEqual([byAgent, byWhy]);
});

test('the commands that doctor --enable-logging prints can be applied and undone as printed, and leave nothing behind', async () => {
  const { group } = stored;
  const kinds = ['FelixConfiguration', 'GlobalNetworkPolicy'];
  installed.push(...kinds.map((kind) => definitionOf({ ...stored, kind, scope: 'Cluster' })));
  await controlPlane.apply(...installed);
  const felix = { apiVersion: `${group}/v1`, kind: 'FelixConfiguration', metadata: { name: 'default' } };
  const spec = { bpfEnabled: false, logPrefix: 'of-our-own' };
  await vi.waitFor(() => controlPlane.apply({ ...felix, spec }), { timeout: 60_000, interval: 250 });
  await controlPlane.succeed(['create', 'namespace', 'shop']);
  const place = { namespace: 'kube-system', name: 'calico-node-x2kq7', node: 'node-a', addresses: ['192.0.2.1'] };
  const calicoNode = podObject({ ...place, labels: { 'k8s-app': 'calico-node' } });
  const containers = [{ name: 'main', image: 'quay.io/calico/node:v3.31.4' }];
  await createObjects(controlPlane, {
    items: [nodeObject('node-a', '192.0.2.1'), { ...calicoNode, spec: { nodeName: 'node-a', containers } }],
  });

  const { manifest, commands, undo } = await recipe();
  if (manifest === undefined) throw new Error('there is no manifest');
  const before = await stateOfCalico();
  writeFileSync(join(controlPlane.folder, manifest.file), manifest.text);
  for (const command of commands ?? []) await shell(command);
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
  for (const command of undo ?? []) await shell(command);
  expect(await stateOfCalico()).toEqual(before);
});

async function recipe(): Promise<Partial<Recipe>> {
  const env = { KUBECONFIG: controlPlane.adminKubeconfig, NODE_NAME: 'node-a' };
  const { stdout } = await outcomeOf(
    spawn(process.execPath, [bundle, 'doctor', '--enable-logging', '-o', 'json'], { env }),
  );
  return (JSON.parse(stdout) as { enableLogging: { plugIns: Recipe[] } }).enableLogging.plugIns[0] ?? {};
}

/** Returns the changes of the printed commands. */
async function stateOfCalico(): Promise<unknown> {
  const { succeed } = controlPlane;
  return [
    (JSON.parse(await succeed(['get', 'felixconfiguration', 'default', '-o', 'json'])) as { spec: unknown }).spec,
    await succeed(['get', 'globalnetworkpolicies', '-o', 'name']),
    await succeed(['get', 'namespace', 'shop', '-o', 'jsonpath={.metadata.labels}']),
  ];
}

/** Runs a printed command in the folder of the manifest. */
async function shell(command: string): Promise<void> {
  const script = `kubectl() { "$KUBECTL" --kubeconfig "$KUBECONFIG" "$@"; }; ${command.replaceAll('NAMESPACE', 'shop')}`;
  const { folder, kubectlPath, adminKubeconfig } = controlPlane;
  const env = { PATH: process.env['PATH'] ?? '', KUBECTL: kubectlPath, KUBECONFIG: adminKubeconfig };
  await promisify(execFile)('sh', ['-ec', script], { cwd: folder, env });
}
