import { type Endpoint, type Ends, objectKey, type ObjectRef } from '../../base/model/endpoint.ts';
import type { Direction, Finding, FlowDetails, FlowSide } from '../../base/model/finding.ts';
import { orient, type Orientation } from '../../base/model/flow-identity.ts';
import type { Martian } from '../../base/model/observation.ts';
import { connectFailure, kernelDrop, type Packet, type PacketObservation } from '../../base/model/packet.ts';
import { forReaders } from './for-readers.ts';

/** Returns the name that a Pod or Service gives to its port; undefined if there is none. */
type PortNames = (end: Endpoint, port: number, protocol: string) => string | undefined;

/** Returns the Pod range of a node that contains the address. */
type PodRanges = (address: string) => string | undefined;

/** Makes a finding for each Pod at an end of a dropped or rejected packet, or for each candidate if the Pod is not certain. */
export function explainPacket(
  observation: PacketObservation,
  ends: Ends,
  node: string,
  portNames: PortNames = () => undefined,
  podRanges: PodRanges = () => undefined,
): Finding[] {
  const { packet, inner } = observation;
  if (inner !== undefined && ends.inner !== undefined && packet.icmpType !== undefined)
    return explainError(observation, inner, ends, ends.inner, node, portNames);
  const service = orient(packet);
  const name = portNameOf(packet, service, ends, portNames);
  const findings = ofBothEnds(ends, node, (direction, peer, own) => {
    const details = flow(observation, ends, direction, peer, own, service, name);
    const podRange = observation.enforcer === 'host-firewall' ? podRanges(own.address) : undefined;
    return podRange === undefined ? details : { ...details, podRange };
  });
  return observation.logger === connectFailure ? findings.filter(isOfSender) : findings;
}

/** Only the sender is certainly affected: its connection failed. */
function isOfSender({ details }: Finding): boolean {
  return details.kind === 'flow' && details.direction === 'sending';
}

/** Returns the sides of a packet, one for each of its findings and in their order; undefined if a side has more than a Pod and a flow. */
export function sidesOf(
  { packet, inner, logger }: PacketObservation,
  ends: Ends,
  node: string,
): FlowSide[] | undefined {
  const { source, destination } = ends;
  if (inner !== undefined || source.candidates !== undefined || destination.candidates !== undefined) return undefined;
  const { port, reply } = orient(packet);
  const { protocol } = packet;
  const ofSender = sideOf('sending', source, destination);
  return logger === connectFailure ? ofSender : [...sideOf('receiving', destination, source), ...ofSender];

  function sideOf(direction: Direction, { kind, object }: Endpoint, peer: Endpoint): FlowSide[] {
    return kind === 'pod' ? [{ regarding: object as ObjectRef, node, peer, direction, reply, protocol, port }] : [];
  }
}

/** For a reply, the owner of the port is the sender. */
function portNameOf(
  { protocol }: Packet,
  { port, reply }: Orientation,
  { source, destination }: Pick<Ends, 'source' | 'destination'>,
  portNames: PortNames,
): string | undefined {
  return port === undefined ? undefined : portNames(reply ? source : destination, port, protocol);
}

function ofBothEnds(
  { source, destination }: Ends,
  node: string,
  details: (direction: Direction, peer: Endpoint, own: Endpoint) => FlowDetails,
): Finding[] {
  return [...findingsOf('receiving', destination, source), ...findingsOf('sending', source, destination)];

  function findingsOf(direction: Direction, end: Endpoint, peer: Endpoint): Finding[] {
    if (end.kind === 'pod') return [finding(direction, end, peer, details(direction, peer, end), node)];
    return (end.candidates ?? []).map((own, _, all) => {
      const sharedWith = all.flatMap((each) => (each === own ? [] : (each.object?.name ?? [])));
      return finding(direction, own, peer, { ...details(direction, peer, own), sharedWith }, node);
    });
  }
}

/** The kernel's routing dropped the packet, without any rule. */
export function explainMartian(observation: Martian, ends: Ends, node: string): Finding[] {
  return ofBothEnds(ends, node, (direction, peer, own) => ({
    ...bareFlow(direction, peer, own),
    prefix: `martian ${observation.impossible}`,
    logger: observation.logger,
    path: observation.device,
    martian: true,
  }));
}

export function bareFlow(direction: Direction, peer: Endpoint, own: Endpoint): FlowDetails {
  return {
    kind: 'flow',
    direction,
    peer,
    ownAddress: own.address,
    ownAddressIsForeign: isForeign(own),
    protocol: '',
    port: undefined,
    reply: false,
    laterFragment: false,
    icmpType: undefined,
    icmpCode: undefined,
    error: undefined,
    verdict: 'dropped',
    prefix: '',
    enforcer: 'unknown',
    policy: undefined,
    refusedBy: undefined,
    path: '',
    martian: false,
  };
}

/** The peer could not be reached; the reporter only sent the message, and has its own finding if it is a Pod. */
function explainError(
  observation: PacketObservation,
  inner: Packet,
  ends: Ends,
  innerEnds: NonNullable<Ends['inner']>,
  node: string,
  portNames: PortNames,
): Finding[] {
  const { packet, mtu } = observation;
  const error = {
    reporter: ends.source,
    protocol: packet.protocol,
    type: packet.icmpType ?? 0,
    code: packet.icmpCode ?? 0,
    mtu,
  };
  const findings: Finding[] = [];
  const victim = innerEnds.source;
  if (victim.kind === 'pod') {
    const service = orient(inner);
    const { protocol, laterFragment, icmpType, icmpCode } = inner;
    const portName = portNameOf(inner, service, innerEnds, portNames);
    const details: FlowDetails = {
      ...flow(observation, ends, 'receiving', innerEnds.destination, victim, service, portName),
      protocol,
      laterFragment,
      icmpType,
      icmpCode,
      error,
    };
    findings.push(finding('receiving', victim, innerEnds.destination, details, node));
  }
  const { source, destination } = ends;
  if (source.kind === 'pod') {
    const details = flow(observation, ends, 'sending', destination, source, orient(packet), undefined);
    findings.push(finding('sending', source, destination, details, node));
  }
  return findings;
}

/** Builds one literal, because spreading another object for each packet of a new flow would take longer than everything else. */
function flow(
  observation: PacketObservation,
  ends: Ends,
  direction: Direction,
  peer: Endpoint,
  own: Endpoint,
  { port, reply }: Orientation,
  portName: string | undefined,
): FlowDetails {
  const { packet, verdict, prefix, enforcer, policy } = observation;
  return {
    kind: 'flow',
    direction,
    peer,
    ownAddress: own.address,
    ownAddressIsForeign: isForeign(own),
    protocol: packet.protocol,
    port,
    portName,
    reply,
    laterFragment: packet.laterFragment,
    icmpType: packet.icmpType,
    icmpCode: packet.icmpCode,
    error: undefined,
    verdict: verdict === 'rejected' ? 'rejected' : 'dropped',
    prefix,
    enforcer,
    logger: observation.logger,
    policy,
    refusedBy: refusedBy(observation, ends),
    clusterTier: observation.clusterTier,
    byNetworkPolicies: observation.byNetworkPolicies,
    service: observation.service,
    dropReason: observation.dropReason,
    nextMtu: observation.mtu,
    path: pathOf(observation),
    martian: false,
  };
}

const isForeign = ({ kind, note }: Endpoint): boolean => kind === 'pod' && note !== undefined;

/** Policies act at a Pod's interface: if only the incoming one is a Pod's, the sender's policies refused; if only the outgoing, the receiver's. */
function refusedBy({ logger, policySide }: PacketObservation, ends: Ends): FlowDetails['refusedBy'] {
  if (policySide !== undefined || logger === kernelDrop) return policySide;
  return ends.fromPodInterface === ends.toPodInterface ? undefined : ends.fromPodInterface ? 'sender' : 'receiver';
}

function pathOf({ logger, inInterface, outInterface }: PacketObservation): string {
  if (logger === kernelDrop || (inInterface === '' && outInterface === '')) return inInterface || outInterface;
  return `${inInterface || 'this node'} → ${outInterface || 'this node'}`;
}

function finding(direction: Direction, own: Endpoint, peer: Endpoint, details: FlowDetails, node: string): Finding {
  const regarding = own.object as ObjectRef;
  const result: Finding = {
    identity: identityOf(regarding, direction, peer, details, node),
    reason: 'PacketDrop',
    type: 'Warning',
    regarding,
    related: peer.object,
    node,
    details: forReaders(details, { namespace: regarding.namespace }),
  };
  if (own.node !== undefined && node !== '' && own.node !== node) result.elsewhere = true;
  return result;
}

/** Joins the parts by `|`, which may be in the name of a device, but in no name of an object, address or keyword. */
function identityOf(
  regarding: ObjectRef,
  direction: Direction,
  peer: Endpoint,
  { protocol, port, icmpType, icmpCode, reply, error, verdict, enforcer, policy, dropReason, martian }: FlowDetails,
  node: string,
): string {
  const what = port ?? (icmpType === undefined ? '' : `${icmpType}.${icmpCode ?? ''}`);
  const about = error === undefined ? '' : `${error.type}.${error.code}`;
  const by =
    policy === undefined ? (dropReason ?? '') : `${policy.kind ?? ''}/${policy.namespace ?? ''}/${policy.name}`;
  // A joined text is one piece in memory. A template would be a tree of twenty pieces until its first comparison.
  return [
    'PacketDrop',
    objectKey(regarding),
    node,
    direction,
    peer.identity,
    protocol,
    what,
    reply ? 'reply' : '',
    about,
    verdict,
    enforcer,
    by,
    martian ? 'martian' : '',
  ].join('|');
}
