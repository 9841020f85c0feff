/** A problem of one object, ready to be counted. Plain data: it can be written as JSON and read back unchanged. */
import type { Endpoint, ObjectRef } from './endpoint.ts';
import type { IncidentDetails } from './incident.ts';
import type { ClusterTier, Enforcer, PolicyName } from './packet.ts';
import type { PolicyAnswer } from './policy-answer.ts';

/** The direction of the traffic, as seen from the object that the finding regards. */
export type Direction = 'receiving' | 'sending';

/** The drop of a flow, without the fields that differ between its packets. */
export interface FlowDetails {
  kind: 'flow';
  direction: Direction;
  peer: Endpoint;
  /** The address of the object. It may be foreign: not the object's own. */
  ownAddress: string;
  ownAddressIsForeign: boolean;
  /** Other Pods of the node that may have been the end, because the logger counts them as one. */
  sharedWith?: readonly string[] | undefined;
  protocol: string;
  /** The port of the end that offers the service; undefined for protocols without ports. */
  port: number | undefined;
  portName?: string | undefined;
  /** The packet is a reply, so `port` is the sender's. */
  reply: boolean;
  laterFragment: boolean;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** Set for an ICMP error. Peer, protocol and ports are then those of the packet that caused it. */
  error: { reporter: Endpoint; protocol: string; type: number; code: number; mtu: number | undefined } | undefined;
  verdict: 'dropped' | 'rejected';
  prefix: string;
  enforcer: Enforcer;
  logger?: string | undefined;
  policy: PolicyName | undefined;
  /** The logger names a policy that readers of the Event may not know. */
  policyIsHidden?: true | undefined;
  /** The end whose policies refused the packet, as far as the interfaces or the logger show. */
  refusedBy: 'sender' | 'receiver' | undefined;
  clusterTier?: ClusterTier | undefined;
  byNetworkPolicies?: true | undefined;
  /** The Service to which a connection went, if this Pod of it is an example. */
  service?: string | undefined;
  dropReason?: string | undefined;
  /** The MTU of the next link, for which the packet was too big. */
  nextMtu?: number | undefined;
  /** The range of the node's Pods, if the node's own firewall dropped the packet and the Pod's address is in that range. */
  podRange?: string | undefined;
  /** The interfaces, as far as known: `eth0 → cali1234`. */
  path: string;
  martian: boolean;
  /** The verdict of policies, if it was needed before counting, to know that this is a drop. */
  answer?: PolicyAnswer | undefined;
}

/** Counts the remaining findings of an object that has too many, with their peers and ports. */
export interface OverflowDetails {
  kind: 'overflow';
  example: FlowDetails;
}

/** Packets of one peer on several ports of one object. It is a port scan, or a protocol that chooses its ports. */
export interface PortsDetails {
  kind: 'ports';
  example: FlowDetails;
}

/** Packets of a peer that many objects of a node refuse. The peer scans, or is a client without access. */
export interface ScanDetails {
  kind: 'scan';
  /** A `scanner` is a Pod; a `stranger` is outside, so the node gets the Event; a `target` gets one for everyone that scans it. */
  of: 'scanner' | 'stranger' | 'target';
  example: FlowDetails;
}

export type EventDetails = FlowDetails | PortsDetails | OverflowDetails | ScanDetails | IncidentDetails;

/** One Pod's side of a lost packet: enough to count it among others of the Pod, without the text of a finding. */
export interface FlowSide {
  regarding: ObjectRef;
  node: string;
  peer: Endpoint;
  direction: Direction;
  reply: boolean;
  protocol: string;
  port: number | undefined;
}

export interface Finding {
  /** Equal for all packets that belong to one problem of one object on one node. */
  identity: string;
  /** The Event's reason: `PacketDrop`, `ConntrackTableFull`, … */
  reason: string;
  type: 'Warning' | 'Normal';
  regarding: ObjectRef;
  related: ObjectRef | undefined;
  node: string;
  /** All nodes share one Event, and the first agent publishes it. */
  shared?: boolean | undefined;
  /** `regarding` is a Pod that runs on another node than `node`. */
  elsewhere?: true | undefined;
  details: EventDetails;
}

/** Returns whether Events of Pods count the same packets. An Event of a Node about drops only repeats them. */
export function isSummary({ regarding, details }: Pick<Finding, 'regarding' | 'details'>): boolean {
  return regarding.kind === 'Node' && details.kind !== 'incident';
}
