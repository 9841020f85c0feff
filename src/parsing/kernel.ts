/** Reads what the kernel says: warnings in its log, and the trace of the packets that it drops. */
import type { ConntrackFull, Martian, NeighbourOverflow, Suppressed, Unparsable } from '../model/observation.ts';
import { kernelDrop, type PacketObservation } from '../model/packet.ts';
import { canonicalAddress, copy } from '../platform/address.ts';
import { observePacket, type PacketRecord, unparsable } from './policy-loggers/record.ts';

/** Reads `nf_conntrack: table full, dropping packet`, also with `in netns N` (Linux nf_conntrack_core.c). */
export function parseConntrackFull(text: string): ConntrackFull | undefined {
  const found = /^(?:nf_conntrack: ){1,2}table full(?: in netns (\d{1,10}))?, dropping packet/.exec(text);
  if (!found) return undefined;
  return { kind: 'conntrack-full', netns: found[1] === undefined ? undefined : Number(found[1]) };
}

/** Reads `neighbour: arp_cache: neighbor table overflow!`, `IPv6: Neighbour table overflow` (Linux net/core/neighbour.c, route.c). */
export function parseNeighbourOverflow(text: string): NeighbourOverflow | undefined {
  const found = /^(?:neighbour: )?(?:(arp_cache|ndisc_cache|IPv6|ipv6|IPv4|ipv4): )?[Nn]eighbou?r table overflow/.exec(
    text,
  );
  if (!found) return undefined;
  const table = found[1]?.toLowerCase();
  return {
    kind: 'neighbour-overflow',
    family: table === undefined ? undefined : table === 'arp_cache' || table === 'ipv4' ? 'IPv4' : 'IPv6',
  };
}

/** Reads `IPv4: martian source 10.0.0.2 from 10.0.0.1, on dev eth0` (Linux net/ipv4/route.c). The first address is the *destination*. */
export function parseMartian(text: string): Martian | Unparsable | undefined {
  const found = /^(?:IPv4: )?martian (source|destination) (\S{1,60}) from (\S{1,60}?),? (?:on )?dev (\S{1,15})/.exec(
    text,
  );
  if (!found) return undefined;
  const [, impossible, destination = '', source = '', device = ''] = found;
  const addresses = { source: canonicalAddress(source), destination: canonicalAddress(destination) };
  const wrong = addresses.source === '' ? source : addresses.destination === '' ? destination : undefined;
  if (wrong !== undefined) return unparsable('martian', `${wrong} is not an address`);
  return {
    kind: 'martian',
    impossible: impossible === 'source' ? 'source' : 'destination',
    ...addresses,
    device: copy(device),
  };
}

/** Reads the report of the rate limiter, `net_ratelimit: 23807 callbacks suppressed` (Linux lib/ratelimit.c). */
export function parseSuppressed(text: string): Suppressed | undefined {
  const found = /^([A-Za-z_]\w{0,63}): (\d{1,15}) callbacks suppressed/.exec(text);
  if (!found) return undefined;
  const [, by = '', count] = found;
  const affects = networkLimiters.test(by) ? 'kernel-warnings' : 'nothing';
  return { kind: 'suppressed', by: copy(by), count: Number(count), affects };
}

/** Reads journald's reports of records that it has lost or dropped (systemd src/journal/journald-kmsg.c, journald-server.c). */
export function parseJournald(text: string): Suppressed | undefined {
  const lost = { kind: 'suppressed', by: 'journald' } as const;
  const missed = /^Missed (\d{1,15}) kernel messages/.exec(text);
  if (missed) return { ...lost, count: Number(missed[1]), affects: 'everything' };
  if (text.startsWith('/dev/kmsg buffer overrun, some messages lost'))
    return { ...lost, count: undefined, affects: 'everything' };
  const [, count, unit = ''] = /^Suppressed (\d{1,15}) messages from (\S+)/.exec(text) ?? [];
  if (count === undefined) return undefined;
  return { ...lost, count: Number(count), affects: /kernel|kmsg/.test(unit) ? 'everything' : 'nothing' };
}

/** Matches functions whose rate limit may suppress the warnings that are read. LOG rules have no such limit. */
const networkLimiters = /^(?:net_ratelimit|(?:__)?nf_conntrack\w*|neigh\w*|ip_handle_martian\w*|dst_alloc|ip6_dst\w*)$/;

/** A saved trace has the task, the processor and the time before it. The name of a task may be any 15 bytes. */
const begin =
  /^(?:.{1,16}-\d{1,10} +\[\d{3,5}\] \S{1,8} +\d{1,10}\.\d{1,9}: drop_\w{8}: )?\(skb\.kfree_skb\) (?:reason|code)=/;
const line = new RegExp(
  [
    String.raw`\(skb\.kfree_skb\) (?<field>reason|code)=(?<reason>\w{1,64}) protocol=\d{1,5} node=(?<node>\d{1,10})`,
    String.raw`device=0x(?<device>[\da-f]{1,16}) netns=(?<netns>\d{1,10}) sock=0x(?<sock>[\da-f]{1,16}) socknetns=(?<socknetns>\d{1,10})`,
    String.raw`iif=(?<iif>\d{1,10}) ifindex=(?<ifindex>\d{1,10}) len=(?<length>\d{1,10}) paged=(?<paged>\d{1,10})`,
    String.raw`head=0x(?<head>[\da-f]{1,16}) data=0x(?<data>[\da-f]{1,16}) nh=(?<nh>\d{1,5}) dst=0x(?<dst>[\da-f]{1,16}) mtu=(?<mtu>\d{1,10})`,
    String.raw`bytes=\{(?<bytes>0x[\da-f]{1,16}(?:,0x[\da-f]{1,16}){7})\} dev=(?:"(?<dev>\S{1,15})"|\(fault\))$`,
  ].join(' '),
);

/** Reasons that a network policy may cause: netfilter's, and those of eBPF data planes. */
const ofPolicies = new Set(['NETFILTER_DROP', 'TC_INGRESS', 'TC_EGRESS', 'XDP']);

/** Every link of IPv4 takes packets of this size (RFC 791). */
const smallestMtu = 68;

/**
 * Reads a packet that the kernel has dropped, as the probe in src/sources/tracefs/kernel-drops.ts prints it:
 *
 *     (skb.kfree_skb) reason=NETFILTER_DROP protocol=2048 node=4026531840 device=0xff40… netns=4026531840 sock=0x0 … bytes={0x4046…,…} dev="va"
 *
 * The probe prints the number of the reason, `code=7`, and the source replaces it by the name. A saved trace may still have the number. The
 * name of the device is at the end, because it may contain any character except white space.
 */
export function parseKernelDrop(text: string): PacketObservation | Martian | Unparsable | undefined {
  if (!begin.test(text)) return undefined;
  const { groups } = line.exec(text) ?? {};
  if (groups === undefined) return unparsable(kernelDrop, 'the line is not as the probe prints it');
  const of = (name: string): string => groups[name] ?? '';
  const reason = of('reason');
  if (of('field') === 'code')
    return unparsable(kernelDrop, 'the reason is a number, whose meaning differs from kernel to kernel');
  const hasDevice = !isZero(of('device'));
  // If a pointer is 0, the kernel prints what was in memory before. So the pointers decide which number is valid.
  const namespace = hasDevice ? of('netns') : isZero(of('sock')) ? '' : of('socknetns');
  if (namespace !== of('node'))
    return unparsable(kernelDrop, "it is not shown to be of the node's own network namespace");
  const header = Number(of('nh')) - Number(BigInt(`0x${of('data')}`) - BigInt(`0x${of('head')}`));
  const bytes = bytesOf(of('bytes')).subarray(0, Math.max(0, Number(of('length')) - Number(of('paged'))));
  const packet = header < 0 ? undefined : readPacket(bytes.subarray(header));
  if (packet === undefined) return unparsable(kernelDrop, 'its bytes do not begin with a header of IP');
  const device = hasDevice ? copy(of('dev')) : '';
  // If the packet came in by another device, it was to leave by this one.
  const isIn = of('iif') === of('ifindex');
  const addresses = { source: canonicalAddress(packet.source), destination: canonicalAddress(packet.destination) };
  if (reason === 'IP_RPFILTER')
    return { kind: 'martian', logger: kernelDrop, notice: 'drop', impossible: 'source', device, ...addresses };
  return observePacket({
    ...packet,
    logger: kernelDrop,
    verdict: 'dropped',
    notice: 'drop',
    enforcer: ofPolicies.has(reason) ? 'network-policy' : 'unknown',
    dropReason: reason === 'NETFILTER_DROP' ? undefined : reason,
    inInterface: isIn ? device : '',
    outInterface: isIn ? '' : device,
    mtu: reason === 'PKT_TOO_BIG' ? mtuOf(groups) : undefined,
  });
}

/** Returns the MTU of the device to which the packet was routed; undefined if `dst` lacks the bit that the probe expects (probe.ts). */
function mtuOf({ dst = '', mtu, length }: Readonly<Record<string, string>>): number | undefined {
  const isFetched = (Number.parseInt(dst.at(-1) ?? '', 16) & 1) === 1;
  return isFetched && Number(mtu) >= smallestMtu && Number(mtu) < Number(length) ? Number(mtu) : undefined;
}

function isZero(hexadecimal: string): boolean {
  return /^0+$/.test(hexadecimal);
}

/** Reads the words. The kernel prints eight bytes as one number, the first byte last. */
function bytesOf(words: string): Buffer {
  const bytes = Buffer.alloc(64);
  for (const [index, word] of words.split(',').entries()) bytes.writeBigUInt64LE(BigInt(word), index * 8);
  return bytes;
}

type Headers = Pick<
  PacketRecord,
  'source' | 'destination' | 'protocol' | 'sourcePort' | 'destinationPort' | 'icmpType' | 'icmpCode' | 'tcpFlags'
> &
  Pick<PacketRecord, 'length' | 'ttl'> & { source: string; destination: string; laterFragment: boolean };

/** Reads nothing after the end that the header names, because old contents of the memory are there. */
function readPacket(bytes: Buffer): Headers | undefined {
  const version = (bytes[0] ?? 0) >>> 4;
  if (version === 4) return readIpv4(bytes);
  return version === 6 ? readIpv6(bytes) : undefined;
}

function readIpv4(bytes: Buffer): Headers | undefined {
  const header = (bytes[0] as number) & 15;
  if (header < 5 || bytes.length < 20) return undefined;
  const length = bytes.readUInt16BE(2);
  const address = (at: number): string => bytes.subarray(at, at + 4).join('.');
  const laterFragment = (bytes.readUInt16BE(6) & 0x1fff) !== 0;
  const protocol = bytes[9] as number;
  // Packets that the kernel has joined may have no length.
  const end = length === 0 ? bytes.length : length;
  const transport = laterFragment ? {} : readTransport(protocol, bytes.subarray(header * 4, end));
  return {
    source: address(12),
    destination: address(16),
    protocol,
    length: length || undefined,
    ttl: bytes[8],
    laterFragment,
    ...transport,
  };
}

/** IPv6 headers before the transport header: hop-by-hop, routing, destination options. Below, the fragment header of eight bytes. */
const extensions = new Set([0, 43, 60]);
const fragment = 44;

function readIpv6(bytes: Buffer): Headers | undefined {
  if (bytes.length < 40) return undefined;
  const payload = bytes.readUInt16BE(4);
  const address = (at: number): string =>
    Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(at + index * 2).toString(16)).join(':');
  const end = payload === 0 ? bytes.length : 40 + payload;
  const rest = bytes.subarray(0, end);
  let protocol = bytes[6] as number;
  let at = 40;
  let laterFragment = false;
  // In a later fragment, the rest of the payload follows the fragment header, and no other header does.
  while (!laterFragment && (extensions.has(protocol) || protocol === fragment) && at + 8 <= rest.length) {
    if (protocol === fragment) laterFragment = (rest.readUInt16BE(at + 2) & 0xfff8) !== 0;
    const length = protocol === fragment ? 8 : (1 + (rest[at + 1] as number)) * 8;
    protocol = rest[at] as number;
    at += length;
  }
  const transport = laterFragment ? {} : readTransport(protocol, rest.subarray(at));
  return {
    source: address(8),
    destination: address(24),
    protocol,
    length: payload === 0 ? undefined : 40 + payload,
    ttl: bytes[7],
    laterFragment,
    ...transport,
  };
}

/** Protocols whose header begins with the ports: TCP, UDP, DCCP, SCTP and UDPLITE. ICMP and ICMPv6 begin with type and code. */
const withPorts = new Set([6, 17, 33, 132, 136]);
const icmp = new Set([1, 58]);

function readTransport(protocol: number, bytes: Buffer): Partial<Headers> {
  if (icmp.has(protocol) && bytes.length >= 2) return { icmpType: bytes[0], icmpCode: bytes[1] };
  if (!withPorts.has(protocol) || bytes.length < 4) return {};
  const ports = { sourcePort: bytes.readUInt16BE(0), destinationPort: bytes.readUInt16BE(2) };
  return protocol === 6 && bytes.length >= 14 ? { ...ports, tcpFlags: bytes[13] } : ports;
}
