import { isIP } from 'node:net';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createNamespaceGroup, type NamespaceGroup } from './namespaces.ts';
import { appendLogAndDrop, type Backend } from './rules.ts';
import { sendEchoRequests, sendPackets } from './sending.ts';
import { joinPod, prepareNode } from './topology.ts';

// Up to the last port. With more packets than that, ports are used again.
const FIRST_SOURCE_PORT = 40_000;
const SOURCE_PORTS = 65_536 - FIRST_SOURCE_PORT;

export interface NetworkOptions {
  readonly backend: Backend;
  readonly pods: readonly NetworkPod[];
  /** The prefix of the LOG lines; at most 29 characters. Default: `calico-drop: `. */
  readonly prefix?: string;
}

export interface NetworkPod {
  readonly namespace: string;
  readonly name: string;
  /** At most one address of each family. */
  readonly addresses: readonly string[];
  /** The node's end of its veth. Default: as Calico names it. With `eth0` the Pod stands for another machine. */
  readonly device?: string;
}

export type Sending = {
  /** Pods, as `namespace/name`. */
  readonly from: string;
  readonly to: string;
  readonly family: 4 | 6;
  readonly count: number;
} & (
  | { readonly protocol: 'icmp' }
  | {
      readonly protocol: 'tcp' | 'udp' | 'sctp';
      /** The port of the destination. */
      readonly port: number;
    }
);

export type Network = Awaited<ReturnType<typeof createNetwork>>;

interface Place {
  readonly device: string;
  readonly namespace: string;
  readonly addresses: readonly string[];
}

/**
 * A Kubernetes node made of network namespaces, whose kernel logs what it drops: a router with iptables rules, and Pods
 * behind veths as Calico makes them. Needs root and Linux.
 */
export async function createNetwork(options: NetworkOptions) {
  const group = await createNamespaceGroup();
  try {
    return await build(group, options);
  } catch (error) {
    await group.remove();
    throw error;
  }
}

async function build(group: NamespaceGroup, { backend, pods, prefix = 'calico-drop: ' }: NetworkOptions) {
  const node = await group.add('node');
  await prepareNode(node);
  const places = new Map<string, Place>();
  for (const pod of pods) places.set(`${pod.namespace}/${pod.name}`, await place(group, node, pod));

  const placeOf = (pod: string): Place => {
    const found = places.get(pod);
    if (found === undefined) throw new Error(`[network] it has no Pod ${pod}`);
    return found;
  };
  /** The node's end of a Pod's veth. */
  const deviceOf = (pod: string): string => placeOf(pod).device;
  let taken = 0;
  const takePorts = (count: number): readonly number[] =>
    Array.from({ length: count }, () => FIRST_SOURCE_PORT + (taken++ % SOURCE_PORTS));
  return {
    /** From now on, logs and drops what the Pods send, or what one of them sends, by rules at the end of FORWARD. */
    refuse: (from?: string): Promise<void> => appendLogAndDrop(node, backend, prefix, from && deviceOf(from)),
    /**
     * If their flow is refused, sends exactly `count` packets: UDP datagrams, TCP SYNs or SCTP INITs, each from a port
     * of its own, or ICMP echo requests. The kernel has most likely logged them when this resolves. Its buffer holds
     * some 400 lines, so a program that reads it less often misses some.
     */
    async send(sending: Sending): Promise<void> {
      const [from, to] = [placeOf(sending.from), placeOf(sending.to)];
      const destination = addressOf(to, sending.family);
      if (sending.protocol === 'icmp') return sendEchoRequests(from.namespace, destination, sending.count);
      const { protocol, port, count } = sending;
      const source = addressOf(from, sending.family);
      const probes = takePorts(count).map((sourcePort) => ({ protocol, source, sourcePort, destination, port }));
      return sendPackets(from.namespace, probes);
    },
    deviceOf,
    /** The network namespace of the node. */
    node,
    /** The network namespace of a Pod, for `ip netns exec`. */
    namespaceOf: (pod: string): string => placeOf(pod).namespace,
    destroy: group.remove,
  };
}

async function place(group: NamespaceGroup, node: string, pod: NetworkPod): Promise<Place> {
  const { addresses, device = calicoDevice(pod) } = pod;
  const namespace = await group.add(device);
  await joinPod(node, namespace, device, addresses);
  return { device, namespace, addresses };
}

function calicoDevice({ namespace, name }: NetworkPod): string {
  const [device = ''] = interfaceNames(namespace, name);
  return device;
}

function addressOf({ addresses, device }: Place, family: 4 | 6): string {
  const address = addresses.find((each) => isIP(each) === family);
  if (address === undefined) throw new Error(`[network] the Pod behind ${device} has no IPv${family} address`);
  return address;
}
