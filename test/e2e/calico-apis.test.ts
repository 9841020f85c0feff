import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { readCluster } from '../../src/commands/why/cluster.ts';
import { createConnection } from '../../src/kubernetes/connection.ts';
import { readKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { createPolicyReader } from '../../src/kubernetes/policy-objects.ts';
import {
  type CalicoObjects,
  createEvaluator,
  createPolicySet,
  type Flow,
  type Policy,
} from '../../src/policies/policies.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import { pod } from '../policies/objects.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';

/**
 * Calico's policies by its two APIs, at a real API server: CustomResourceDefinitions stand for what Calico stores and for what its own API
 * server serves, and an APIService of a server that is not there for one that is away.
 */

/** The control plane is its own: whether there is Calico is the same for all who use an API server. */
let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
}, 120_000);
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
  // Somewhat later than it is created, it is served.
  await vi.waitFor(() => controlPlane.apply(policy), { timeout: 30_000, interval: 250 });
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
const flow: Flow = {
  source: { kind: 'external', address: '192.0.2.7' },
  destination: { kind: 'pod', pod: shop, address: '10.65.1.4' },
  protocol: 'TCP',
  port: 5432,
};

interface Seen {
  readonly outcome: string;
  /** The policy that decides. */
  readonly policy: string | undefined;
  readonly missing: string;
}

function seen(policies: Iterable<Policy>, calico: CalicoObjects | undefined): Seen {
  const { verdict } = createEvaluator({ policies: createPolicySet(policies, calico), namespaces: [] });
  const { outcome, decision, missing } = verdict(flow, 'ingress');
  return { outcome, policy: decision?.policy.name, missing: missing.join('; ') };
}

async function seenByAgent(): Promise<Seen> {
  const connection = createConnection({
    access: readKubeconfig(controlPlane.adminKubeconfig),
    userAgent: 'test',
    onRequest: () => {},
    clock: { now: Date.now, wall: Date.now },
  });
  const { policies, calico } = await createPolicyReader(connection, Date.now, () => {}).cluster();
  return seen(policies, calico);
}

async function seenByWhy(): Promise<Seen> {
  const { policies, calico } = await readCluster(
    {
      from: { kind: 'address', address: '192.0.2.7' },
      to: { kind: 'address', address: '192.0.2.8' },
      port: 5432,
      protocol: 'TCP',
      files: [],
      kubeconfig: controlPlane.adminKubeconfig,
      output: 'json',
    },
    false,
  );
  return seen(policies.values(), calico);
}

const away = {
  outcome: 'unknown',
  policy: undefined,
  missing: expect.stringContaining('projectcalico.org/v3') as string,
};

test.each<[string, () => Promise<unknown>, Partial<Seen>, Partial<Seen>]>([
  [
    'nothing is served, none is missed',
    async () => {},
    { outcome: 'admits', missing: '' },
    { outcome: 'admits', missing: '' },
  ],
  [
    'only crd.projectcalico.org/v1 is served, its policies are read',
    () => install(stored, 'stored', 'Deny'),
    { outcome: 'denies', policy: 'stored' },
    { outcome: 'denies', policy: 'stored' },
  ],
  [
    'only projectcalico.org/v3 is served, its policies are read',
    () => install(served, 'served', 'Deny'),
    { outcome: 'denies', policy: 'served' },
    { outcome: 'denies', policy: 'served' },
  ],
  [
    'both are served, the agent takes what is stored, which needs no right to tiers, and why takes projectcalico.org/v3',
    async () => {
      await install(stored, 'stored', 'Deny');
      await install(served, 'served', 'Allow');
    },
    { outcome: 'denies', policy: 'stored' },
    { outcome: 'admits', policy: 'served' },
  ],
  [
    'the server of projectcalico.org/v3 is away, what is stored still decides, because that is what it serves',
    async () => {
      await install(stored, 'stored', 'Deny');
      await installAway();
    },
    { outcome: 'denies', policy: 'stored' },
    { outcome: 'denies', policy: 'stored' },
  ],
  ['that server is away and nothing is stored, the verdict is unknown and says so', installAway, away, away],
])('where %s', async (_, prepare, byAgent, byWhy) => {
  await prepare();
  expect(await seenByAgent()).toMatchObject(byAgent);
  expect(await seenByWhy()).toMatchObject(byWhy);
});
