/** Describes a connection as one of its Pods sees it. */
import type { Packet } from '../../base/model/packet.ts';
import { isIPv6 } from '../../base/platform/address.ts';
import { networkSetsAt, calicoPod } from './calico/endpoint.ts';
import { comparedSets, type ComparedSets } from './calico/compared-sets.ts';
import type { CalicoObjects, EndpointsOf } from './calico/objects.ts';
import { type Address, parseAddress } from './clauses/networks.ts';
import { type LabelledEndpoint, type NamespaceLabels } from './clauses/labels.ts';
import { type End, type PolicyDirection, type PolicyFlow, type PolicyPod, Unknown } from './model.ts';

export type ConnectionSide = 'source' | 'destination';

/** The objects that Calico's selectors see at an end: the Pod, and the network sets that contain its address. */
export interface CalicoEnd {
  readonly address: Address | undefined;
  readonly pod: LabelledEndpoint | undefined;
  readonly sets: ComparedSets;
  /** Whether more Pods or network sets have this address. */
  readonly more: false | Unknown;
}

export interface Probe {
  readonly direction: PolicyDirection;
  readonly flow: PolicyFlow;
  readonly pod: PolicyPod;
  readonly peer: End;
  /** The Pod that label selectors see at the other end; false for other ends. */
  readonly peerPod: PolicyPod | false | Unknown;
  readonly peerAddress: Address | undefined;
  /** The Pod reaches itself through a Service. */
  readonly itself: boolean;
  readonly namespaceLabelsOf: NamespaceLabels;
  readonly side: (side: ConnectionSide) => CalicoEnd;
  readonly endpointsOf: EndpointsOf;
  /** The family of both addresses; undefined if neither address is known. */
  readonly family: 4 | 6 | undefined;
}

export function createProbe(
  flow: PolicyFlow,
  direction: PolicyDirection,
  itself: boolean,
  namespaceLabelsOf: NamespaceLabels,
  calico: CalicoObjects | undefined,
): Probe {
  const { source, destination } = flow;
  const [own, peer] = direction === 'ingress' ? [destination, source] : [source, destination];
  const address = source.address ?? destination.address;
  const seen: Partial<Record<ConnectionSide, CalicoEnd>> = {};
  return {
    direction,
    flow,
    pod: (own as End & { kind: 'pod' }).pod,
    peer,
    peerPod: selectablePod(peer),
    peerAddress: peer.address === undefined ? undefined : parseAddress(peer.address),
    itself,
    namespaceLabelsOf,
    side: (side) => (seen[side] ??= seeEnd(flow[side], namespaceLabelsOf, calico)),
    endpointsOf: calico?.endpointsOf ?? ((service) => new Unknown(`endpoints of Service ${service}`)),
    family: address === undefined ? undefined : isIPv6(address) ? 6 : 4,
  };
}

/** It takes time, so it runs only if a rule of Calico needs it. */
function seeEnd(end: End, namespaceLabelsOf: NamespaceLabels, calico: CalicoObjects | undefined): CalicoEnd {
  const pod = selectablePod(end);
  const address = end.address === undefined ? undefined : parseAddress(end.address);
  const { found, more } = networkSetsAt(end, address, namespaceLabelsOf, calico);
  const sets = comparedSets(found, endName(end));
  if (!pod || pod instanceof Unknown) return { address, pod: undefined, sets, more: pod || more };
  return { address, pod: calicoPod(pod, namespaceLabelsOf(pod.namespace), calico), sets, more };
}

/** Returns the Pod that label selectors see; false for other ends. A Pod on its Node's network looks like the Node. */
export function selectablePod(end: End): PolicyPod | false | Unknown {
  if (end.kind === 'unknown') return new Unknown(`which Pod has ${endName(end)}, if any`);
  if (end.kind !== 'pod' || end.pod.hostNetwork) return false;
  if (end.pod.completed) return ownerNow(end);
  return end.pod;
}

export function ownerNow(end: End & { kind: 'pod' }): Unknown {
  const name = endName(end);
  if (end.address === undefined) return new Unknown(`address of ${name}, which has completed`);
  return new Unknown(`whose ${end.address} is now: ${name} has completed`);
}

export function podName({ namespace, name }: Pick<PolicyPod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

export function endName(end: End): string {
  if (end.kind === 'pod') return `Pod ${podName(end.pod)}`;
  return end.kind === 'node' ? `Node ${end.node.name}` : (end.address ?? 'any address');
}

/** `reply`: the packet goes back to the opener. `port`: the listening port. */
export function connectionOf(
  { protocol }: Pick<Packet, 'protocol'>,
  ends: { source: End; destination: End },
  { port, reply }: { port: number | undefined; reply: boolean },
): PolicyFlow {
  const { source, destination } = ends;
  // A packet from a Pod to itself passes a filter only if the Pod used the address of a Service.
  const viaService = source.kind === 'pod' && destination.kind === 'pod' && source.address === destination.address;
  const [opener, other] = reply ? [destination, source] : [source, destination];
  return { source: opener, destination: other, protocol, port, viaService };
}
