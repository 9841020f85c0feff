/** One problem of one object, ready to be counted. Plain data: it can be written as JSON and read back unchanged. */
import type { Endpoint, ObjectRef } from './endpoint.ts';
import type { IncidentDetails } from './incident.ts';
import type { ClusterTier, Enforcer, PolicyName } from './packet.ts';

/** The direction of the packet, seen from the object that the Finding regards. */
export type Direction = 'receiving' | 'sending';

/** The drop of a flow, without what varies from packet to packet. */
export interface FlowDetails {
  kind: 'flow';
  direction: Direction;
  peer: Endpoint;
  /** Address of the regarding object in this flow, and whether it is one of its own. */
  ownAddress: string;
  ownAddressIsForeign: boolean;
  /** Names of other Pods of the node, of which each may have been the one, as the logger counts them as one. */
  sharedWith?: readonly string[] | undefined;
  protocol: string;
  /** The port of the service side; undefined for protocols without ports and for later fragments. */
  port: number | undefined;
  /** The name that the Pod or Service gives its port. */
  portName?: string | undefined;
  /** True when the packet is an answer: then `port` is the sender's. */
  reply: boolean;
  laterFragment: boolean;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** An ICMP error: its sender, its type, and the packet it was about. */
  error: { reporter: Endpoint; protocol: string; type: number; code: number; mtu: number | undefined } | undefined;
  verdict: 'dropped' | 'rejected';
  prefix: string;
  enforcer: Enforcer;
  /** The same as in `PacketObservation`. Undefined: of a state that an earlier version saved. */
  logger?: string | undefined;
  policy: PolicyName | undefined;
  /** The side whose network policies refused it, as far as the interfaces show or the logger says. */
  refusedBy: 'sender' | 'receiver' | undefined;
  clusterTier?: ClusterTier | undefined;
  /** The same as in `PacketObservation`. */
  dropReason?: string | undefined;
  /** `eth0 → cali1234`, as far as known. */
  path: string;
  martian: boolean;
}

/** Stands for a Pod's findings when it has too many distinct ones: only how many, from where and on which ports. */
export interface OverflowDetails {
  kind: 'overflow';
  example: FlowDetails;
}

/** Packets of one peer on several ports of one object, which differ in nothing else but their policies: a port scan, or a protocol that chooses its ports. */
export interface PortsDetails {
  kind: 'ports';
  example: FlowDetails;
}

/** Packets of one that tries many objects of a node: a scan, or a client that is refused everywhere. */
export interface ScanDetails {
  kind: 'scan';
  /** The object that gets the Event: the Pod that scans; the node, for a `stranger` that does; a `target`, for all that scan it. */
  of: 'scanner' | 'stranger' | 'target';
  example: FlowDetails;
}

export type EventDetails = FlowDetails | PortsDetails | OverflowDetails | ScanDetails | IncidentDetails;

export interface Finding {
  /** Equal for all packets that are one and the same problem of one object on one node. */
  identity: string;
  /** `PacketDrop`, `ConntrackTableFull`, …: the Event's reason. */
  reason: string;
  type: 'Warning' | 'Normal';
  regarding: ObjectRef;
  related: ObjectRef | undefined;
  /** Node the line was logged on; empty when unknown. */
  node: string;
  /** The Event is one for all nodes: the first agent that publishes it does so for all. */
  shared?: boolean | undefined;
  /** `regarding` is a Pod of another node than `node`. */
  elsewhere?: true | undefined;
  details: EventDetails;
}

/** Whether the Event counts packets that Events of Pods count, too: drops are of Pods, so a Node's Event repeats them. */
export function isSummary({ regarding, details }: Pick<Finding, 'regarding' | 'details'>): boolean {
  return regarding.kind === 'Node' && details.kind !== 'incident';
}
