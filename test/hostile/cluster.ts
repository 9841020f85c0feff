import { definitionOf } from '../deploy/custom-resources.ts';
import { policiesFile, rightsFile } from '../../src/agent/kubernetes/rights.ts';
import { readManifests } from '../deploy/manifests.ts';
import { makeAccount, rulesIn } from '../e2e/granted.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import type { KubernetesObject } from '../e2e/control-plane/creatable.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { until } from '../e2e/until.ts';
import { honestObjects } from './honest-objects.ts';
import { hostileNamespaces, honestNamespaces, nodeName, otherNodeName } from './names.ts';
import { mark } from './words.ts';

const calico = { group: 'crd.projectcalico.org', version: 'v1' };
const cilium = { group: 'cilium.io', version: 'v2' };
const definitions = [
  ...['NetworkPolicy', 'NetworkSet'].map((kind) => definitionOf({ ...calico, kind, scope: 'Namespaced' })),
  ...['GlobalNetworkPolicy', 'GlobalNetworkSet', 'Tier', 'HostEndpoint'].map((kind) =>
    definitionOf({ ...calico, kind, scope: 'Cluster' }),
  ),
  definitionOf({ ...cilium, kind: 'CiliumNetworkPolicy', scope: 'Namespaced' }),
  definitionOf({ ...cilium, kind: 'CiliumClusterwideNetworkPolicy', scope: 'Cluster' }),
];

/** The users of the cluster, each with its rights. */
export interface Accounts {
  /** The path of the agent's kubeconfig, with the rights of deploy/. */
  readonly agent: string;
  /**
   * The attacker's token, with the rights of `admin` in its Namespaces, and rights to the kinds that this role leaves
   * out.
   */
  readonly attacker: string;
  /** The token of a user that writes at the same time, to measure the speed of the API server. */
  readonly honest: string;
}

/**
 * Makes the objects that are the same in each round: Nodes, Namespaces, the honest tenant's objects other than Pods,
 * and accounts.
 */
export async function setUpCluster(connection: Connection): Promise<Accounts> {
  await connection.apply(...definitions);
  await connection.succeed(['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);
  await untilListed(connection);
  const namespaces = [...honestNamespaces, ...hostileNamespaces, 'kube-system', agentAccount.namespace];
  const items = namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await createObjects(connection, {
    items: [...items, node(nodeName, 1), node(otherNodeName, 2), clusterDns, ...honestObjects],
  });
  // Both tenants are bound to it.
  await connection.apply(besides);
  const [agent, attacker, honest] = await Promise.all([
    agentToken(connection),
    tenantToken(connection, mark, hostileNamespaces),
    tenantToken(connection, 'honest', honestNamespaces),
  ]);
  return { agent: await connection.writeKubeconfig('agent', agent), attacker, honest };
}

/** For a while after a definition is established, the first lists of its kind are refused. */
async function untilListed({ request }: Connection): Promise<void> {
  for (const { metadata } of definitions) {
    const [plural = '', ...group] = metadata.name.split('.');
    const version = group.join('.') === cilium.group ? cilium.version : calico.version;
    const path = `/apis/${group.join('.')}/${version}/${plural}?resourceVersion=0`;
    await until(
      async () => (await request('GET', path)).status === 200,
      () => `[hostile] ${path} is not served after a minute`,
    );
  }
}

const agentAccount = { namespace: 'kube-netfilter-tailer', name: 'kube-netfilter-tailer' };

async function agentToken(connection: Connection): Promise<string> {
  const files = [rightsFile, policiesFile];
  return await makeAccount(connection, agentAccount, files.flatMap(readManifests), rulesIn(...files));
}

function node(name: string, number: number): KubernetesObject {
  const podCIDR = `10.77.${number}.0/24`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: { podCIDR, podCIDRs: [podCIDR] },
    status: { addresses: [{ type: 'InternalIP', address: `192.168.77.${number}` }] },
  };
}

const clusterDns: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  spec: { clusterIP: '10.96.0.10', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
};

/**
 * `admin` has no right to write endpoints since CVE-2021-25740, and clusters decide about the policies of plug-ins:
 * many grant both.
 */
const besides = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'tenant-extras' },
  rules: [
    { apiGroups: ['', 'discovery.k8s.io'], resources: ['endpoints', 'endpointslices', 'events'], verbs: ['*'] },
    { apiGroups: [cilium.group], resources: ['ciliumnetworkpolicies'], verbs: ['*'] },
    { apiGroups: [calico.group], resources: ['networkpolicies', 'networksets'], verbs: ['*'] },
  ],
};

/** A controller, which does not run here, would make the ClusterRole `admin` from these. */
const adminRoles = ['admin', 'edit', 'view'].map((role) => `system:aggregate-to-${role}`);

async function tenantToken(connection: Connection, name: string, namespaces: readonly string[]): Promise<string> {
  const [namespace = ''] = namespaces;
  const apiGroup = 'rbac.authorization.k8s.io';
  const bindings = namespaces.flatMap((place) =>
    [...adminRoles, besides.metadata.name].map((role) => ({
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: `tenant-${role.replaceAll(':', '-')}`, namespace: place },
      roleRef: { apiGroup, kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', namespace, name: 'tenant' }],
    })),
  );
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'tenant', namespace } };
  await connection.apply(account, ...bindings);
  const token = (await connection.succeed(['create', 'token', 'tenant', '-n', namespace, '--duration=6h'])).trim();
  // The API server learns of rights by a watch, a moment after it has stored them.
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await until(
    async () => (await connection.request('GET', path, { token })).status === 200,
    () => `[hostile] the account of ${name} has no rights after a minute`,
  );
  return token;
}
