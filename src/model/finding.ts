/** One problem of one object, ready to be counted. Plain data: it can be written as JSON and read back unchanged. */
import type { Endpoint, ObjectRef } from './endpoint.ts';
import type { IncidentDetails } from './incident.ts';
import type { ClusterTier, Enforcer, PolicyName } from './packet.ts';

/** Seen from the object that the finding regards. */
export type Direction = 'receiving' | 'sending';

/** The drop of a flow, without what varies from packet to packet. */
export interface FlowDetails {
  kind: 'flow';
  direction: Direction;
  peer: Endpoint;
  /** The address of the object, and whether it is not its own. */
  ownAddress: string;
  ownAddressIsForeign: boolean;
  /** Other Pods of the node that may have been the one, because the logger counts them as one. */
  sharedWith?: readonly string[] | undefined;
  protocol: string;
  /** The port of the service side; undefined without ports. */
  port: number | undefined;
  portName?: string | undefined;
  /** An answer; then `port` is the sender's. */
  reply: boolean;
  laterFragment: boolean;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** An ICMP error: its sender, its type, and the packet it was about. */
  error: { reporter: Endpoint; protocol: string; type: number; code: number; mtu: number | undefined } | undefined;
  verdict: 'dropped' | 'rejected';
  prefix: string;
  enforcer: Enforcer;
  /** As in `PacketObservation`. */
  logger?: string | undefined;
  policy: PolicyName | undefined;
  /** The side whose policies refused it, as far as interfaces or the logger show. */
  refusedBy: 'sender' | 'receiver' | undefined;
  clusterTier?: ClusterTier | undefined;
  dropReason?: string | undefined;
  /** `eth0 → cali1234`, as far as known. */
  path: string;
  martian: boolean;
}

/** Counts the findings of a Pod that has too many: how many, from where and on which ports. */
export interface OverflowDetails {
  kind: 'overflow';
  example: FlowDetails;
}

/** Packets of one peer on several ports of one object: a port scan, or a protocol that chooses its ports. */
export interface PortsDetails {
  kind: 'ports';
  example: FlowDetails;
}

/** Packets of a peer that many objects of a node refuse: a scan, or a client that is kept out. */
export interface ScanDetails {
  kind: 'scan';
  /** Who has the Event: the Pod that scans; the node, for a `stranger` that scans; a `target`, for all that scan it. */
  of: 'scanner' | 'stranger' | 'target';
  example: FlowDetails;
}

export type EventDetails = FlowDetails | PortsDetails | OverflowDetails | ScanDetails | IncidentDetails;

export interface Finding {
  /** Equal for all packets of one problem of one object on one node. */
  identity: string;
  /** `PacketDrop`, `ConntrackTableFull`, …: the Event's reason. */
  reason: string;
  type: 'Warning' | 'Normal';
  regarding: ObjectRef;
  related: ObjectRef | undefined;
  node: string;
  /** One Event for all nodes: the first agent publishes it. */
  shared?: boolean | undefined;
  /** `regarding` is a Pod of another node than `node`. */
  elsewhere?: true | undefined;
  details: EventDetails;
}

/** Whether Events of Pods count the same packets: drops are of Pods, so the Event of a Node repeats them. */
export function isSummary({ regarding, details }: Pick<Finding, 'regarding' | 'details'>): boolean {
  return regarding.kind === 'Node' && details.kind !== 'incident';
}
