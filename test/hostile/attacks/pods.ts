import type { Attack, Tenant, TenantObject, TenantPod } from '../attack.ts';
import { longName, manyLabels, mark, oddTexts } from '../words.ts';

/** Pods that run on the agent's node, and the fields that their authors may write. */
export const podAttacks: readonly Attack[] = [
  {
    name: 'pod-weight',
    prepare: async (tenant) => void (await tenant.runPods(60, (index) => heavyPod(index))),
  },
  {
    // The kubelet of a full node refuses these Pods, and they stay.
    name: 'pod-crowd',
    prepare: (tenant) => tenant.fill('pods', 3000, (index) => waitingPod(tenant, index)),
  },
  {
    name: 'pod-churn',
    async play(tenant) {
      for (let turn = 0; !tenant.isOver; turn++) {
        const pods = await tenant.runPods(20, (index) => liar(tenant, index));
        await Promise.all(pods.map(({ namespace, name }) => tenant.remove('pods', namespace, name)));
      }
    },
  },
  {
    // Deleted Pods are remembered for a while, and so are the packets of other tenants' Pods that ended in the
    // meantime.
    name: 'pod-deletions',
    prepare: (tenant) => tenant.fill('pods', 6000, (index) => briefPod(tenant, index)),
    play: (tenant) => tenant.removeAll('pods'),
  },
  {
    // Pods with the node's own address, as the kubelet writes it.
    name: 'pod-host',
    prepare: async (tenant) => {
      await tenant.runPods(20, (index) => {
        const { metadata, spec } = liar(tenant, index);
        return { metadata, spec: { ...(spec as object), hostNetwork: true } };
      });
    },
  },
  {
    name: 'pod-metadata',
    async play(tenant) {
      const pods = await tenant.runPods(20);
      for (let turn = 0; !tenant.isOver; turn++) {
        const { namespace, name } = pods[turn % pods.length] as TenantPod;
        const { labels, annotations } = liar(tenant, turn).metadata;
        const finalizers = [`${mark}.example.org/${turn % 2}`];
        const metadata = { name, labels: { ...(labels as object), ...manyLabels(turn % 500, turn) }, annotations };
        await tenant.put('pods', namespace, { metadata: { ...metadata, finalizers } });
        await tenant.put('pods', namespace, { metadata: { name, finalizers: null } });
      }
    },
  },
  {
    name: 'pod-lies',
    prepare: async (tenant) => void (await tenant.runPods(40, (index) => liar(tenant, index))),
  },
];

function heavyPod(index: number): TenantObject {
  const env = Array.from({ length: 6000 }, (_, number) => ({ name: `${mark}_${number}`, value: 'e'.repeat(60) }));
  return {
    metadata: {
      name: longName(index),
      labels: manyLabels(4000, index),
      annotations: { [`${mark}.example.org/a`]: 'a'.repeat(200_000) },
    },
    spec: { containers: [{ name: mark, image: `${mark}:1`, env, ports: portsOf(1000) }] },
  };
}

function briefPod({ targets }: Tenant, index: number): TenantObject {
  return {
    metadata: { name: `${mark}-brief-${index}` },
    spec: {
      nodeName: targets.node,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: mark, image: `${mark}:1` }],
    },
  };
}

function portsOf(count: number): object[] {
  return Array.from({ length: count }, (_, port) => ({ name: `${mark}-${port}`, containerPort: port + 1 }));
}

function waitingPod(tenant: Tenant, index: number): TenantObject {
  return {
    metadata: { name: longName(index), labels: manyLabels(100, index) },
    spec: { nodeName: tenant.targets.node, containers: [{ name: mark, image: `${mark}:1`, ports: portsOf(100) }] },
  };
}

/**
 * A Pod that looks like another: with a static Pod's hash, the labels of the cluster's DNS, another Pod's address, or
 * an owner that is a sentence.
 */
function liar(tenant: Tenant, index: number): TenantObject {
  const { addresses } = tenant.targets;
  const address = addresses[index % addresses.length] as string;
  const text = tenant.chance.pick(oddTexts);
  const owner = { apiVersion: 'apps/v1', controller: true, uid: `${mark}-${index}` };
  return {
    metadata: {
      name: `${mark}-liar-${index}-${tenant.chance.number(1e9)}`,
      labels: { 'k8s-app': tenant.chance.pick(['kube-dns', 'calico-node', 'kube-proxy']), app: 'web' },
      annotations: {
        'kubernetes.io/config.mirror': '0123456789abcdef0123456789abcdef',
        'kubernetes.io/config.source': 'file',
        'cni.projectcalico.org/podIP': address,
        'cni.projectcalico.org/podIPs': address,
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([{ ips: [address], interface: mark }]),
        'flannel.alpha.coreos.com/public-ip': address,
      },
      ownerReferences: [
        {
          ...owner,
          kind: tenant.chance.pick(['ReplicaSet', 'DaemonSet', text]),
          name: tenant.chance.pick([text, 'web', `${mark}-owner`]),
        },
      ],
    },
    spec: {
      hostAliases: [{ ip: address, hostnames: [`${mark}.example.org`] }],
      containers: [{ name: mark, image: `${mark}:1`, ports: [{ name: `${mark}-db`, containerPort: 5432 }] }],
    },
  };
}
