import type { PolicyFacts } from '../../base/model/policy-answer.ts';
import { orient } from '../../base/model/flow-identity.ts';
import type { Endpoint, Ends } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { LogLine } from '../../base/model/log-line.ts';
import type { Martian } from '../../base/model/observation.ts';
import { type Packet, type PacketObservation, TcpFlag } from '../../base/model/packet.ts';
import { isName } from '../../base/platform/address.ts';
import type { FlowRecord } from './fields.ts';
import { headOf, loggedVerdict, rowText, stampOf, withPolicies } from './record.ts';

export interface AuditedPacket {
  observation: PacketObservation | Martian;
  ends: Ends;
  node: string;
  noise: string | undefined;
  /** Without findings, policies are not evaluated. */
  findings?: readonly Finding[];
}

export interface AuditedFlow {
  /** Equal for all packets that are counted together, whatever their Pod, address or interface. */
  key: string;
  /** The workload of the sending Pod or, without one, of the receiving Pod, or ''. */
  subject: string;
  /** The subject's Namespace. `subject` and `namespace` limit the room for flows, so that no Pod takes the room of others. */
  namespace: string;
  fields: FlowRecord;
}

/** Makes the flow of a packet. Redacted values are not even part of the key, because ids are derived from it. */
export function flowOf(packet: AuditedPacket, redact?: (fields: FlowRecord) => FlowRecord): AuditedFlow {
  const { observation, ends, node, noise } = packet;
  const { kind: _, ...service } = serviceOf(observation);
  const action = actionOf(observation);
  const found: FlowRecord = {
    ...action,
    'event.noise': noise,
    'k8s.node.name': node || undefined,
    'network.direction': directionOf(ends, node),
    ...service,
    ...endsOf(ends),
    ...ruleOf(observation),
    ...(observation.kind === 'packet' ? loggedVerdict(observation) : {}),
  };
  const fields = redact === undefined ? found : redact(found);
  const isShown = (end: 'source' | 'destination'): boolean => fields[`${end}.kind`] !== 'redacted';
  const isPod = (end: 'source' | 'destination'): boolean => ends[end].kind === 'pod' && isShown(end);
  // The sender is preferred, so that a scan does not use up the room of its target.
  const subject = isPod('source') ? ends.source : isPod('destination') ? ends.destination : undefined;
  const { 'interface.in': __, 'interface.out': ___, ...logged } = ruleOf(observation);
  const rule =
    redact === undefined
      ? logged
      : Object.fromEntries(Object.keys(logged).map((name) => [name, fields[name as keyof FlowRecord]]));
  const common = [action, noise, node, fields['network.direction'], service, rule];
  const identityOf = (end: 'source' | 'destination'): string | undefined => {
    if (!isShown(end)) return 'redacted';
    // Without an object, the shortened address counts, which may stand for several peers.
    return redact === undefined || ends[end].object !== undefined ? ends[end].identity : fields[`${end}.address`];
  };
  return {
    key: JSON.stringify([common, identityOf('source'), identityOf('destination')]),
    subject: subject?.identity ?? '',
    namespace: subject?.object?.namespace ?? '',
    fields,
  };
}

function packetFields(line: LogLine, packet: AuditedPacket): FlowRecord {
  const { fields } = flowOf(packet);
  const common: FlowRecord = {
    ...fields,
    'event.time_estimated': line.timeIsExact ? undefined : true,
    'log.file.path': line.source,
    'log.file.line': line.line,
  };
  const { observation, ends } = packet;
  if (observation.kind === 'martian') return common;
  const { sourcePort, destinationPort, tcpFlags, length, ttl, incomplete } = observation.packet;
  const { inner } = observation;
  return {
    ...common,
    'source.port': sourcePort,
    'destination.port': destinationPort,
    'source.k8s.pod.uid': ends.source.kind === 'pod' ? ends.source.object?.uid || undefined : undefined,
    'destination.k8s.pod.uid': ends.destination.kind === 'pod' ? ends.destination.object?.uid || undefined : undefined,
    'packet.size': length,
    'packet.ttl': ttl,
    'packet.tcp_flags': flagNames(tcpFlags),
    'packet.mark': observation.mark,
    'packet.uid': observation.uid,
    'packet.mtu': observation.mtu,
    'packet.incomplete': incomplete || undefined,
    'original.source.address': inner?.source,
    'original.destination.address': inner?.destination,
    'original.destination.port': inner?.destinationPort,
    'original.network.transport': inner && transportOf(inner.protocol),
  };
}

function actionOf(observation: PacketObservation | Martian): FlowRecord {
  const action = observation.kind === 'martian' ? 'dropped' : observation.verdict;
  const isLost = action === 'dropped' || action === 'rejected';
  return { 'event.name': isLost ? 'network.flow.drop' : 'network.flow.log', 'event.action': action };
}

function serviceOf(observation: PacketObservation | Martian): FlowRecord & { kind: string } {
  const address = observation.kind === 'martian' ? observation.source : observation.packet.source;
  const type = {
    kind: observation.kind,
    'network.type': isName(address) ? undefined : address.includes(':') ? 'ipv6' : 'ipv4',
  };
  if (observation.kind === 'martian') return type;
  const { packet } = observation;
  const { port, reply } = orient(packet);
  return {
    ...type,
    'network.transport': transportOf(packet.protocol),
    'network.reply': reply || undefined,
    [reply ? 'source.port' : 'destination.port']: port,
    'icmp.type': packet.icmpType,
    'icmp.code': packet.icmpCode,
    'packet.later_fragment': packet.laterFragment || undefined,
  };
}

function transportOf(protocol: Packet['protocol']): string | undefined {
  return protocol === 'ICMPv6' ? 'ipv6-icmp' : protocol.toLowerCase() || undefined;
}

function ruleOf(observation: PacketObservation | Martian): FlowRecord {
  if (observation.kind === 'martian') {
    const { impossible, device, logger = 'kernel' } = observation;
    return { 'log.logger': logger, 'log.prefix': `martian ${impossible}`, 'interface.in': device };
  }
  const { policy, clusterTier, enforcer, logger, prefix, dropReason, inInterface, outInterface } = observation;
  return {
    'security_rule.name': policy?.name,
    'policy.kind': policy?.kind ?? (clusterTier && 'ClusterNetworkPolicy'),
    'policy.namespace': policy?.namespace,
    'policy.tier': policy?.tier ?? clusterTier,
    'policy.evidence': (policy ?? clusterTier) && 'logged',
    'policy.enforced_by': enforcer === 'unknown' ? undefined : enforcer,
    'log.logger': logger,
    'log.prefix': dropReason ?? (prefix || undefined),
    'interface.in': inInterface || undefined,
    'interface.out': outInterface || undefined,
  };
}

function directionOf(ends: Ends, node: string): FlowRecord['network.direction'] {
  const { source, destination } = ends;
  const isOut = ends.fromPodInterface || isOn(source, node);
  const isIn = ends.toPodInterface || isOn(destination, node);
  if (isOut && isIn) return 'internal';
  if (isIn) return 'ingress';
  return isOut ? 'egress' : undefined;
}

function isOn({ kind, node, candidates }: Endpoint, logged: string): boolean {
  return (kind === 'pod' && node === logged) || (candidates !== undefined && candidates.length > 0);
}

const kindNames = { pod: 'Pod', node: 'Node', service: 'Service', external: 'external', unknown: 'unknown' } as const;

function endOf({ kind, address, evidence, object, workload, role, labels }: Endpoint) {
  return {
    address,
    kind: kindNames[kind],
    role,
    evidence: evidence === 'none' ? undefined : evidence,
    namespace: object?.namespace ?? namespaceIn(address),
    pod: kind === 'pod' ? object?.name : undefined,
    labels,
    ownerKind: workload?.kind ?? (kind === 'pod' ? undefined : object?.kind),
    ownerName: workload?.name ?? (kind === 'pod' ? undefined : object?.name),
  };
}

/** Returns the Namespace in a name that replaces an address: `shop/web-*`, `NetworkSet shop/partners`. */
function namespaceIn(address: string): string | undefined {
  if (!isName(address)) return undefined;
  const slash = address.indexOf('/');
  return slash < 0 ? undefined : address.slice(address.indexOf(' ') + 1, slash);
}

/** The fields are written out, because V8 makes a hash table of an object with computed names, and a flow would take twice the memory. */
function endsOf({ source, destination }: Ends): FlowRecord {
  const from = endOf(source);
  const to = endOf(destination);
  return {
    'source.address': from.address,
    'source.kind': from.kind,
    'source.role': from.role,
    'source.evidence': from.evidence,
    'source.k8s.namespace.name': from.namespace,
    'source.k8s.pod.name': from.pod,
    'source.k8s.pod.labels': from.labels,
    'source.k8s.owner.kind': from.ownerKind,
    'source.k8s.owner.name': from.ownerName,
    'destination.address': to.address,
    'destination.kind': to.kind,
    'destination.role': to.role,
    'destination.evidence': to.evidence,
    'destination.k8s.namespace.name': to.namespace,
    'destination.k8s.pod.name': to.pod,
    'destination.k8s.pod.labels': to.labels,
    'destination.k8s.owner.kind': to.ownerKind,
    'destination.k8s.owner.name': to.ownerName,
    'destination.domain': destination.hostName,
  };
}

/** Returns the names of TCP flags: `SYN ACK`; undefined if the line showed no TCP header. */
export function flagNames(flags: number | undefined): string | undefined {
  if (flags === undefined) return undefined;
  return Object.entries(TcpFlag)
    .filter(([, bit]) => (flags & bit) !== 0)
    .map(([name]) => name)
    .join(' ');
}

interface RowContext {
  cluster?: string;
  policies?: PolicyFacts | undefined;
  redact?: ((fields: FlowRecord) => FlowRecord) | undefined;
}

/** Returns a line of NDJSON (`replay --output audit`). */
export function packetRow(line: LogLine, packet: AuditedPacket, context: RowContext = {}): string {
  const { cluster, policies, redact = (same: FlowRecord) => same } = context;
  const { observation, node } = packet;
  const fields = packetFields(line, packet);
  const time = stampOf(line.time);
  const record: FlowRecord = {
    ...headOf(line.time, fields['event.name'], [cluster, node, line.source, line.line, line.time]),
    'event.start': time,
    'event.end': time,
    'k8s.cluster.name': cluster,
    'network.packets': observation.kind === 'packet' ? observation.repeat : 1,
    ...fields,
  };
  return rowText(redact(policies === undefined ? record : withPolicies(record, policies)));
}
