/** A connection, seen from one of its Pods. */
import type { Packet } from '../model/packet.ts';
import { isIPv6 } from '../platform/address.ts';
import { endpointsAt, podEndpoint } from './calico/endpoint.ts';
import type { CalicoObjects, EndpointsOf } from './calico/objects.ts';
import { type Address, parseAddress } from './clauses/networks.ts';
import { type Endpoint, type LabelSet, type NamespaceLabels, podLabels } from './clauses/labels.ts';
import type { Direction, End, Flow, Match, Pod } from './model.ts';

export type Side = 'source' | 'destination';

/** What rules of Calico select at an end: the Pod, and sets of networks that contain its address. */
export interface SeenEnd {
  readonly address: Address | undefined;
  readonly pod: Endpoint | undefined;
  readonly others: readonly Endpoint[];
  /** Why there may be more. */
  readonly missing: string | undefined;
}

export interface Probe {
  readonly direction: Direction;
  readonly flow: Flow;
  readonly pod: Pod;
  readonly peer: End;
  readonly peerAddress: Address | undefined;
  /** The Pod reaches itself by way of a Service. */
  readonly itself: boolean;
  readonly labelsOf: (pod: Pod) => LabelSet;
  readonly namespaceLabelsOf: NamespaceLabels;
  /** An end as Calico's rules see it. */
  readonly side: (side: Side) => SeenEnd;
  /** Endpoints of a Service of Kubernetes. */
  readonly endpointsOf: EndpointsOf;
  /** The family of both addresses; undefined: neither is known. */
  readonly family: 4 | 6 | undefined;
}

export function createProbe(
  flow: Flow,
  direction: Direction,
  itself: boolean,
  namespaceLabelsOf: NamespaceLabels,
  calico: CalicoObjects | undefined,
): Probe {
  const { source, destination } = flow;
  const [own, peer] = direction === 'ingress' ? [destination, source] : [source, destination];
  const address = source.address ?? destination.address;
  const seen: Partial<Record<Side, SeenEnd>> = {};
  return {
    direction,
    flow,
    pod: (own as End & { kind: 'pod' }).pod,
    peer,
    peerAddress: peer.address === undefined ? undefined : parseAddress(peer.address),
    itself,
    labelsOf: podLabels,
    namespaceLabelsOf,
    side: (side) => (seen[side] ??= seeEnd(flow[side], namespaceLabelsOf, calico)),
    endpointsOf: calico?.endpointsOf ?? ((service) => `endpoints of Service ${service}`),
    family: address === undefined ? undefined : isIPv6(address) ? 6 : 4,
  };
}

/** Done only if a rule of Calico asks for it. */
function seeEnd(end: End, namespaceLabelsOf: NamespaceLabels, calico: CalicoObjects | undefined): SeenEnd {
  const pod = selectablePod(end);
  const address = end.address === undefined ? undefined : parseAddress(end.address);
  const endpoint = typeof pod === 'object' ? podEndpoint(pod, namespaceLabelsOf(pod.namespace), calico) : undefined;
  const others = endpointsAt(end, address, namespaceLabelsOf, calico);
  return { address, pod: endpoint, others: others.found, missing: typeof pod === 'string' ? pod : others.missing };
}

/** The Pod that label selectors see. A Pod on the network of its Node is not seen: its packets look like the Node's. */
export function selectablePod(end: End): Pod | Match {
  if (end.kind === 'unknown') return `which Pod has ${end.address}, if any`;
  if (end.kind !== 'pod' || end.pod.hostNetwork) return false;
  if (end.pod.completed) return `whose ${end.address ?? 'the address'} is now: Pod ${podName(end.pod)} has completed`;
  return end.pod;
}

export function podName({ namespace, name }: Pick<Pod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** `Pod batch/worker-7`, `Node node-a`, `192.0.2.7`. */
export function endName(end: End): string {
  if (end.kind === 'pod') return `Pod ${podName(end.pod)}`;
  return end.kind === 'node' ? `Node ${end.node.name}` : end.address;
}

/** The connection that a packet belongs to. `reply`: the packet goes back to the end that opened it. `port`: the listening port. */
export function connectionOf(
  { protocol }: Pick<Packet, 'protocol'>,
  ends: { source: End; destination: End },
  { port, reply }: { port: number | undefined; reply: boolean },
): Flow {
  const { source, destination } = ends;
  // Packets of a Pod to itself reach a filter only if a Service sends them back.
  const viaService = source.kind === 'pod' && destination.kind === 'pod' && source.address === destination.address;
  return {
    source: reply ? destination : source,
    destination: reply ? source : destination,
    protocol,
    port,
    viaService,
  };
}
