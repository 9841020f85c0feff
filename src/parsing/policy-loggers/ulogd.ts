import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation, Verdict } from '../../model/packet.ts';
import { decodeBytes, type PrefixTable } from '../netfilter/prefixes.ts';
import { observePacket } from './record.ts';

/** ulogd2's JSON output: one object a packet, keys as its plugins name them. */
export function parseUlogd(text: string, prefixes: PrefixTable): PacketObservation | Unparsable | undefined {
  if (!text.startsWith('{') || !text.includes('"oob.')) return undefined;
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(decodeBytes(text)) as Record<string, unknown>;
  } catch {
    return { kind: 'unparsable', format: 'ulogd', reason: 'the JSON is damaged or cut off' };
  }
  const field = (...names: string[]): string | number | undefined => {
    for (const name of names) {
      const value = record[name];
      if (typeof value === 'string' || typeof value === 'number') return value;
    }
    return undefined;
  };
  const prefix = prefixes.look(String(field('oob.prefix') ?? ''));
  // Only some builds of ulogd write `action`; the operator's own prefix comes first.
  const action = prefix.verdict === 'logged' ? actions.get(String(field('action') ?? '')) : undefined;
  const icmpType = field('icmp.type', 'icmpv6.type');
  return observePacket({
    logger: 'ulogd',
    verdict: action ?? prefix.verdict,
    prefix: prefix.text,
    prefixRule: prefix.rule,
    enforcer: prefix.enforcer,
    policy: prefix.policy,
    inInterface: String(field('oob.in') ?? ''),
    outInterface: String(field('oob.out') ?? ''),
    source: field('src_ip', 'ip.saddr.str', 'ip.saddr'),
    destination: field('dest_ip', 'ip.daddr.str', 'ip.daddr'),
    protocol: field('ip.protocol', 'ip6.nexthdr') ?? (icmpType === undefined ? undefined : 1),
    sourcePort: field('src_port', 'tcp.sport', 'udp.sport', 'sctp.sport'),
    destinationPort: field('dest_port', 'tcp.dport', 'udp.dport', 'sctp.dport'),
    icmpType,
    icmpCode: field('icmp.code', 'icmpv6.code'),
    length: field('ip.totlen', 'ip6.payloadlen'),
    ttl: field('ip.ttl', 'ip6.hoplimit'),
    mark: field('oob.mark'),
    uid: field('oob.uid'),
    tcpFlags: tcpFlags(record),
  });
}

const actions = new Map<string, Verdict>([
  ['blocked', 'dropped'],
  ['allowed', 'accepted'],
]);

/** ulogd writes each flag as a field of its own, 0 or 1, or true. */
function tcpFlags(record: Record<string, unknown>): number | undefined {
  if (!('tcp.sport' in record) && !('tcp.syn' in record)) return undefined;
  return ['fin', 'syn', 'rst', 'psh', 'ack', 'urg'].reduce(
    (bits, name, index) => (record[`tcp.${name}`] ? bits | (1 << index) : bits),
    0,
  );
}
