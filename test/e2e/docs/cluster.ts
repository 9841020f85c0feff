import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { definitionOf, definitions } from '../../deploy/custom-resources.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createObjects, type ObjectList } from '../control-plane/objects.ts';

const root = join(import.meta.dirname, '../../..');
const node = 'node-b';
const crd = 'crd.projectcalico.org';

/** The cluster of samples/, with the agent, Calico and kube-proxy installed as the documents assume. */
export async function fillCluster(connection: Connection, podAddress: string): Promise<void> {
  const { succeed } = connection;
  await connection.apply(...definitions, ...kinds.map((kind) => definitionOf(kind)));
  await succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const saved = JSON.parse(readFileSync(join(root, 'samples/cluster.json'), 'utf8')) as ObjectList;
  await createObjects(connection, { items: saved.items.map(endingAtOnce) });
  await succeed(['apply', '--server-side', '-k', join(root, 'deploy/overlays/journal')]);
  await createObjects(connection, { items: programs(podAddress) });
  // There is no controller, so nothing else reports that all are up to date. A generation far ahead stays valid after
  // changes.
  const up = {
    observedGeneration: 1000,
    desiredNumberScheduled: 1,
    currentNumberScheduled: 1,
    updatedNumberScheduled: 1,
  };
  for (const [name, namespace] of [
    ['kube-netfilter-tailer', 'kube-netfilter-tailer'],
    ['kube-proxy', 'kube-system'],
  ])
    await patchStatus(connection, `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`, {
      ...up,
      numberReady: 1,
      numberAvailable: 1,
      numberMisscheduled: 0,
    });
  // There is no kubelet. A port that refuses connections shows this at once.
  for (const name of ['node-a', 'node-b'])
    await patchStatus(connection, `/api/v1/nodes/${name}`, {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
    });
}

async function patchStatus({ request }: Connection, path: string, status: object): Promise<void> {
  const answer = await request('PATCH', `${path}/status`, { body: { status } });
  if (answer.status !== 200)
    throw new Error(`[docs] the status of ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

/** Kinds of network plug-ins and of Prometheus that commands name, with their scopes. */
const kinds = `
  acn.azure.com v1alpha1 ContainerNetworkLog Cluster
  cilium.io v2 CiliumClusterwideNetworkPolicy Cluster
  cilium.io v2 CiliumEgressGatewayPolicy Cluster
  cilium.io v2 CiliumNetworkPolicy Namespaced
  cilium.io v2 CiliumNode Cluster
  crd.projectcalico.org v1 FelixConfiguration Cluster
  crd.projectcalico.org v1 GlobalNetworkPolicy Cluster
  crd.projectcalico.org v1 GlobalNetworkSet Cluster
  crd.projectcalico.org v1 NetworkPolicy Namespaced
  monitoring.coreos.com v1 PrometheusRule Namespaced
  networking.gke.io v1alpha1 NetworkLogging Cluster
  networking.k8s.aws v1alpha1 ClusterNetworkPolicy Cluster
  projectcalico.org v3 NetworkPolicy Namespaced`
  .trim()
  .split('\n')
  .map((row) => {
    const [group = '', version = '', kind = '', scope] = row.trim().split(' ');
    return { group, version, kind, scope: scope as 'Cluster' | 'Namespaced' };
  });

function programs(podAddress: string): KubernetesObject[] {
  return [
    felix('default', {
      bpfEnabled: true,
      logSeverityScreen: 'Info',
      logPrefix: 'calico-drop',
      iptablesBackend: 'Auto',
    }),
    felix(`node.${node}`, { bpfEnabled: true }),
    // doctor's sentences name this one.
    felix('node.node-a', {}),
    { apiVersion: 'acn.azure.com/v1alpha1', kind: 'ContainerNetworkLog', metadata: { name: 'drops' } },
    { apiVersion: 'networking.gke.io/v1alpha1', kind: 'NetworkLogging', metadata: { name: 'default' } },
    workload('DaemonSet', 'kube-system', 'kube-proxy'),
    workload('DaemonSet', 'kube-system', 'kindnet'),
    workload('DaemonSet', 'calico-system', 'calico-node'),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kube-proxy', namespace: 'kube-system' },
      data: {
        'config.conf':
          'clusterCIDR: 10.244.0.0/16\nconntrack:\n  maxPerCore: 32768\n  min: 131072\ndetectLocal:\n  interfaceNamePrefix: ""\ndetectLocalMode: ""\n',
      },
    },
    workload('Deployment', 'calico-system', 'calico-typha'),
    { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'calico-typha', namespace: 'calico-system' } },
    pod('calico-system', 'calico-node-9fz4d', 'calico-node', podAddress),
    pod('calico-system', 'calico-typha-7d9f-x2x9z', 'calico-typha', podAddress),
    pod('kube-netfilter-tailer', 'kube-netfilter-tailer-4h7tz', 'agent', podAddress, {
      'app.kubernetes.io/name': 'kube-netfilter-tailer',
    }),
  ];
}

function felix(name: string, spec: Readonly<Record<string, unknown>>): KubernetesObject {
  return { apiVersion: `${crd}/v1`, kind: 'FelixConfiguration', metadata: { name }, spec };
}

function workload(kind: 'DaemonSet' | 'Deployment', namespace: string, name: string): KubernetesObject {
  const labels = { 'k8s-app': name };
  const volumes = [{ name: 'xtables-lock', hostPath: { path: '/run/xtables.lock', type: 'FileOrCreate' } }];
  const containers = [{ name, image: `example/${name}`, securityContext: { privileged: true } }];
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace, labels },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers, volumes } } },
  };
}

/** A Pod gets no time to end, because there is no kubelet to say that it has ended. */
function endingAtOnce(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'Pod') return object;
  const { spec } = object as KubernetesObject & { readonly spec?: object };
  return { ...object, spec: { ...spec, terminationGracePeriodSeconds: 0 } };
}

function pod(
  namespace: string,
  name: string,
  container: string,
  podIP: string,
  labels: Record<string, string> = { 'k8s-app': container },
): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: container, image: `example/${container}` }],
    },
    status: {
      phase: 'Running',
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          name: container,
          image: `example/${container}`,
          imageID: '',
          ready: true,
          started: true,
          restartCount: 1,
          state: { running: {} },
          lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
        },
      ],
    },
  };
}
