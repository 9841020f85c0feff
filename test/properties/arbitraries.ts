/**
 * Lines by the grammar of Linux net/netfilter/nf_log_syslog.c, each with what a reader must make of it. The text and
 * its meaning are made together; the meaning is never read from the text.
 */
import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { emptyPacket, octet, uint16, uint32, type Piece } from './printed.ts';
import { ipv4Packet } from './printed-ipv4.ts';
import { ipv6Packet } from './printed-ipv6.ts';
import { unparsable, type BareObservation, type BarePacketObservation } from './reference.ts';

export interface PrintedLine {
  line: string;
  expected: BareObservation;
}

const interfaceName = fc.oneof(
  fc.constantFrom('eth0', 'cali5318d3e5a32', 'vxlan.calico', 'tunl0', 'lo', 'br-4f1c.100', 'veth0@if7', 'WAN'),
  fc.stringMatching(/^[a-z][a-z0-9._:@-]{0,14}$/),
);

/** A prefix that ends in `IN=…` cannot be distinguished from the header. */
const prefix = fc
  .oneof(
    fc.constantFrom(
      '',
      'calico-drop: ',
      '[UFW BLOCK] ',
      '"filter_IN_public_REJECT: "',
      '[FWD-filter-default-D]',
      'DROP:',
    ),
    fc.constantFrom(
      'OUTPUT reject: ',
      'IN= ',
      'PHYSIN=a ',
      'Shorewall:net2fw:DROP:',
      'verworfen: größer ',
      '拒否: ',
      ' \t two  words\u00a0',
    ),
    fc.string({ unit: fc.constantFrom(...Array.from('abzAZ_09 .:;-[](){}"\'=/%é漢Ж🔥\t\0\u001b')), maxLength: 30 }),
  )
  .filter((text) => !/IN=\S*$/.test(text));

/** The text between OUT= and SRC=, and the destination MAC in it. */
interface Link {
  text: string;
  destinationMac: string | undefined;
}

const mac = fc.array(octet, { minLength: 6, maxLength: 6 }).map((octets) => macText(octets));
const macText = (octets: readonly number[]): string =>
  octets.map((each) => each.toString(16).padStart(2, '0')).join(':');
const noLink: Link = { text: '', destinationMac: undefined };

/** MAC= has as many octets as the header of the device: 14 for Ethernet, none for tunnels, 20 for 6in4. */
const rawHeader: Arbitrary<Link> = fc
  .tuple(fc.constantFrom(0, 1, 5, 6, 14, 14, 14, 20), fc.array(octet, { minLength: 20, maxLength: 20 }))
  .map(([length, octets]) => ({
    text: `MAC=${macText(octets.slice(0, length))} ${length === 20 ? 'TUNNEL=192.0.2.1->192.0.2.2 ' : ''}`,
    destinationMac: length >= 6 ? macText(octets.slice(0, 6)) : undefined,
  }));

const decodedHeader: Arbitrary<Link> = fc.tuple(mac, mac, fc.option(uint16)).map(([source, destinationMac, vlan]) => ({
  text: `MACSRC=${source} MACDST=${destinationMac} ${vlan === null ? '' : `VPROTO=8100 VID=${vlan} `}MACPROTO=0800 `,
  destinationMac,
}));

const link = fc.oneof(rawHeader, decodedHeader, fc.constant(noLink));

/** `UID= GID=` (--log-uid) and MARK=, which ulogd's LOGEMU prints without `0x`. */
const tail = fc
  .record({ uid: fc.option(uint32), mark: fc.option(uint32), hexPrefix: fc.constantFrom('0x', '0x', '') })
  .map(({ uid, mark, hexPrefix }) => ({
    text: `${uid === null ? '' : `UID=${uid} GID=${uid} `}${mark === null ? '' : `MARK=${hexPrefix}${mark.toString(16)} `}`,
    uid: uid ?? undefined,
    mark: mark ?? undefined,
  }));

const ip: Arbitrary<Piece> = fc.oneof(ipv4Packet, ipv6Packet);

const arp: Arbitrary<{ text: string; destinationMac: string; source: string; destination: string }> = fc
  .record({
    operation: fc.constantFrom(1, 2),
    sourceMac: mac,
    source: fc.ipV4(),
    destinationMac: mac,
    destination: fc.ipV4(),
  })
  .map(({ operation, sourceMac, source, destinationMac, destination }) => ({
    text:
      `ARP HTYPE=1 PTYPE=0x0800 OPCODE=${operation} MACSRC=${sourceMac} IPSRC=${source} ` +
      `MACDST=${destinationMac} IPDST=${destination}`,
    destinationMac,
    source,
    destination,
  }));

/** The common beginning of all lines; some userspace loggers leave OUT= out. */
const start = fc
  .record({
    inInterface: fc.oneof({ weight: 4, arbitrary: interfaceName }, fc.constant('')),
    outInterface: fc.oneof(interfaceName, fc.constant('')),
    withoutOut: fc.constantFrom(false, false, false, false, true),
    physIn: fc.option(interfaceName, { nil: undefined, freq: 3 }),
    physOut: fc.option(interfaceName, { nil: undefined, freq: 3 }),
  })
  .map(({ inInterface, outInterface, withoutOut, physIn, physOut }) => ({
    // With PHYSOUT= and without OUT=, the header could not be recognized by the text after IN=.
    text:
      `IN=${inInterface} ${withoutOut ? '' : `OUT=${outInterface} `}` +
      `${physIn === undefined ? '' : `PHYSIN=${physIn} `}${physOut === undefined || withoutOut ? '' : `PHYSOUT=${physOut} `}`,
    inInterface,
    outInterface: withoutOut ? '' : outInterface,
    physIn,
    physOut: withoutOut ? undefined : physOut,
  }));

type Parts = Omit<BarePacketObservation, 'prefix'>;
interface Body {
  text: string;
  expected: Parts | typeof unparsable;
}

const bare = { kind: 'packet', logger: 'netfilter', inner: undefined, mtu: undefined, repeat: 1 } as const;

const ipBody: Arbitrary<Body> = fc.record({ start, link, ip, tail }).map((parts) => {
  const { text: startText, ...interfaces } = parts.start;
  const shownLink = parts.start.inInterface === '' ? noLink : parts.link;
  const { uid, mark } = parts.ip.stops ? {} : parts.tail;
  const text = `${startText}${shownLink.text}${parts.ip.text}${parts.ip.stops ? '' : parts.tail.text}`;
  const packet = { ...emptyPacket, ...parts.ip.packet };
  const { inner, mtu } = parts.ip;
  const { destinationMac } = shownLink;
  return { text, expected: { ...bare, ...interfaces, destinationMac, packet, inner, mtu, uid, mark } };
});

const arpBody: Arbitrary<Body> = fc
  .record({ start, link: fc.oneof(decodedHeader, fc.constant(noLink)), arp })
  .map((parts) => {
    const { text: startText, ...interfaces } = parts.start;
    const { source, destination } = parts.arp;
    const packet = { ...emptyPacket, source, destination, protocol: 'ARP' };
    const destinationMac = parts.link.destinationMac ?? parts.arp.destinationMac;
    const text = `${startText}${parts.link.text}${parts.arp.text}`;
    return { text, expected: { ...bare, ...interfaces, destinationMac, packet, uid: undefined, mark: undefined } };
  });

/** The kernel's lines about packets that are not IP, or whose addresses it could not read. */
const addresslessBody: Arbitrary<Body> = fc
  .tuple(interfaceName, fc.constantFrom('', 'TRUNCATED', 'ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 INCOMPLETE [9 bytes]'))
  .map(([name, rest]) => ({ text: `IN=${name} OUT= MAC=02:00:00:00:00:01 ${rest}`, expected: unparsable }));

const body = fc.oneof(
  { weight: 12, arbitrary: ipBody },
  { weight: 2, arbitrary: arpBody },
  { weight: 1, arbitrary: addresslessBody },
);

/** A line and its meaning, as Unicode text or as text with one character for each byte of UTF-8. */
export const printedLine: Arbitrary<PrintedLine> = fc
  .record({ prefix, body, asBytes: fc.boolean(), trimmed: fc.boolean() })
  .map((parts) => {
    const text = parts.prefix + (parts.trimmed ? parts.body.text.trimEnd() : parts.body.text);
    const line = parts.asBytes ? Buffer.from(text, 'utf8').toString('latin1') : text;
    return { line, expected: withPrefix(parts.prefix, parts.body) };
  });

/**
 * A prefix that ends in a letter just before `IN=` hides it, unless `OUT=` follows. A prefix that ends in `PHYS` makes
 * it another field.
 */
function withPrefix(text: string, { text: header, expected }: Body): BareObservation {
  if (/[A-Za-z_]$/.test(text) && (text.endsWith('PHYS') || !/^IN=[^ ]* OUT=/.test(header))) return undefined;
  return expected.kind === 'packet' ? { ...expected, prefix: text.trim() } : expected;
}
