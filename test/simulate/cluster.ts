export type SimulatedCluster = ReturnType<typeof createCluster>;

/** Addresses of one node, as Calico's IPAM gives them: a block of 64. */
export const blockSize = 64;
const tenants = 100;
export const agents = ['kube-proxy', 'calico-node'] as const;

/**
 * The objects of the simulated cluster. Each is a function of its number: nothing is stored that can be computed.
 * `nodeCount`: the Nodes that the API server counts, more than the simulated ones if only some are simulated.
 */
export function createCluster(nodes: number, nodeCount: number, podsPerNode: number) {
  return {
    nodes,
    nodeCount,
    podsPerNode,
    nodeName,
    /** As JSON from the API server. */
    nodeObject: (node: number) => ({
      metadata: { name: nodeName(node), uid: uid('0d', node, 0), resourceVersion: '1' },
      spec: {},
      status: {
        addresses: [{ type: 'InternalIP', address: `192.${168 + (node >> 16)}.${(node >> 8) & 255}.${node & 255}` }],
      },
    }),
    podObject,
    /** The last two are kube-proxy and calico-node, on the node's network. */
    podsOf: (node: number) => [
      ...Array.from({ length: podsPerNode }, (_, pod) => podObject(node, pod)),
      ...agents.map((_, index) => podObject(node, podsPerNode + index)),
    ],
    podName,
    address,
    /** Undefined if no Pod has the address. */
    ownerOf(ip: string): { node: number; pod: number } | undefined {
      const [first, second = 0, third = 0, last = 0] = ip.split('.').map(Number);
      const number = ((second - 64) << 16) + (third << 8) + last;
      const owner = { node: Math.floor(number / blockSize), pod: number % blockSize };
      return first === 10 && owner.node < nodes && owner.pod < podsPerNode ? owner : undefined;
    },
    numberOfNode: (name: string) => Number(name.slice('node-'.length)),
  };

  function podName(node: number, pod: number): { namespace: string; name: string; uid: string } {
    const agent = agents[pod - podsPerNode];
    if (agent !== undefined)
      return { namespace: 'kube-system', name: `${agent}-${hex(node, 5)}`, uid: uid('5d', node, pod) };
    // Each node's first Pod belongs to a namespace that has a Pod everywhere, the others to many tenants.
    const tenant = pod === 0 ? 'everywhere' : `tenant-${(node * 7 + pod) % tenants}`;
    return { namespace: tenant, name: `app-${pod}-${hex(node, 5)}`, uid: uid('9d', node, pod) };
  }

  function podObject(node: number, pod: number): object {
    const { namespace, name, uid: podUid } = podName(node, pod);
    const hostNetwork = pod >= podsPerNode;
    const podIP = address(node, pod);
    return {
      metadata: {
        namespace,
        name,
        uid: podUid,
        resourceVersion: '1',
        ownerReferences: [{ kind: 'DaemonSet', name: `app-${pod}`, controller: true }],
      },
      spec: { nodeName: nodeName(node), hostNetwork },
      status: { phase: 'Running', startTime: '2026-11-20T08:00:00Z', podIP, podIPs: [{ ip: podIP }] },
    };
  }
}

function address(node: number, pod: number): string {
  const number = node * blockSize + pod;
  return `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

function nodeName(node: number): string {
  return `node-${String(node).padStart(5, '0')}`;
}

function uid(kind: string, node: number, pod: number): string {
  return `${hex(node, 8)}-${hex(pod, 4)}-4000-8000-0000000000${kind}`;
}

function hex(number: number, length: number): string {
  return number.toString(16).padStart(length, '0');
}
