import { type Endpoint, type Ends } from '../model/endpoint.ts';
import { type LogLine } from '../model/log-line.ts';
import { type Martian } from '../model/observation.ts';
import { type Packet, type PacketObservation, TcpFlag } from '../model/packet.ts';
import { printableJson } from '../platform/printable.ts';

/** One line of NDJSON for one dropped or rejected packet; fields that are unknown are left out. */
export function auditRow(
  line: LogLine,
  observation: PacketObservation | Martian,
  { ends, node, noise }: { ends: Ends; node: string; noise: string | undefined },
): string {
  const row = JSON.stringify({
    time: new Date(line.time).toISOString(),
    timeEstimated: line.timeIsExact ? undefined : true,
    node: node || undefined,
    file: line.source,
    line: line.line,
    source: endOf(ends.source),
    destination: endOf(ends.destination),
    ...(observation.kind === 'martian' ? martianFields(observation) : lineFields(observation, ends)),
    noise,
  });
  return `${printableJson(row)}\n`;
}

function martianFields({ impossible, device }: Martian): object {
  return { verdict: 'dropped', logger: 'kernel', prefix: `martian ${impossible}`, in: device };
}

function lineFields(observation: PacketObservation, ends: Ends): object {
  const { inner } = observation;
  return {
    verdict: observation.verdict,
    count: observation.repeat === 1 ? undefined : observation.repeat,
    logger: observation.logger,
    prefix: observation.prefix || undefined,
    policy: observation.policy,
    in: observation.inInterface || undefined,
    out: observation.outInterface || undefined,
    ...packetFields(observation.packet),
    mark: observation.mark,
    uid: observation.uid,
    mtu: observation.mtu,
    inner:
      inner && ends.inner
        ? { source: endOf(ends.inner.source), destination: endOf(ends.inner.destination), ...packetFields(inner) }
        : undefined,
  };
}

function endOf({ kind, address, evidence, object, workload, role }: Endpoint): object {
  return {
    address,
    kind,
    namespace: object?.namespace,
    name: object?.name,
    uid: object?.uid || undefined,
    workload: workload && `${workload.kind}/${workload.name}`,
    role,
    evidence: evidence === 'none' ? undefined : evidence,
  };
}

function packetFields(packet: Packet): object {
  return {
    protocol: packet.protocol || undefined,
    sourcePort: packet.sourcePort,
    destinationPort: packet.destinationPort,
    icmpType: packet.icmpType,
    icmpCode: packet.icmpCode,
    tcpFlags: flagNames(packet.tcpFlags),
    length: packet.length,
    ttl: packet.ttl,
    laterFragment: packet.laterFragment || undefined,
    incomplete: packet.incomplete || undefined,
  };
}

/** `SYN ACK`; undefined where no TCP header was shown. */
export function flagNames(flags: number | undefined): string | undefined {
  if (flags === undefined) return undefined;
  return Object.entries(TcpFlag)
    .filter(([, bit]) => (flags & bit) !== 0)
    .map(([name]) => name)
    .join(' ');
}
