/** Reads the trace of the packets that the kernel drops. */
import type { Martian, Unparsable } from '../../base/model/observation.ts';
import { kernelDrop, type PacketObservation } from '../../base/model/packet.ts';
import { canonicalAddress, copy } from '../../base/platform/address.ts';
import { observePacket, type PacketRecord, unparsable } from './policy-loggers/record.ts';

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
 * Reads a packet that the kernel has dropped, as the probe in src/read/sources/tracefs/kernel-drops.ts prints it:
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
  // If the packet came in by another device, it was leaving by this one.
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
