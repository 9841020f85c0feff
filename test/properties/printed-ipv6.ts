import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { Packet } from '../../src/base/model/packet.ts';
import { emptyPacket, octet, piece, uint16, uint32, type Piece } from './printed.ts';
import { commonTransports, inBrackets, withTransport } from './printed-ipv4.ts';
import { icmpv6Header } from './printed-transport.ts';

interface Address {
  printed: string;
  canonical: string;
}

/** The kernel prints all eight groups. Zero groups are frequent, so that compression is tested. */
const address: Arbitrary<Address> = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, uint16, fc.constantFrom(1, 0xfe80, 0xffff)), {
    minLength: 8,
    maxLength: 8,
  })
  .map((groups) => ({
    printed: groups.map((group) => group.toString(16).padStart(4, '0')).join(':'),
    canonical: compress(groups),
  }));

/**
 * RFC 5952, 4 and 5: the longest run of two or more zero groups, the first of equal ones; mapped IPv4 in dotted
 * decimal.
 */
function compress(groups: readonly number[]): string {
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped)
    return `::ffff:${groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')}`;
  const text = groups.map((group) => group.toString(16)).join(':');
  const runs = [8, 7, 6, 5, 4, 3, 2].map((length) => new RegExp(`(^|:)0(:0){${length - 1}}(:|$)`));
  const longest = runs.find((run) => run.test(text));
  return longest === undefined ? text : text.replace(longest, '::');
}

type Extension =
  | { kind: 'plain' }
  | { kind: 'fragment'; offset: number; more: boolean; id: number; truncated: boolean }
  | { kind: 'AH'; spi: number; bytes: number | null }
  | { kind: 'ESP'; spi: number; bytes: number | null }
  | { kind: 'truncated' };

const bytes = fc.option(fc.nat({ max: 20 }), { freq: 3 });
const extension: Arbitrary<Extension> = fc.oneof(
  fc.record({ kind: fc.constant('plain' as const) }),
  fc.record({
    kind: fc.constant('fragment' as const),
    offset: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 8191 }).map((units) => units * 8),
    ),
    more: fc.boolean(),
    id: uint32,
    truncated: fc.constantFrom(false, false, false, true),
  }),
  fc.record({ kind: fc.constant('AH' as const), spi: uint32, bytes }),
  fc.record({ kind: fc.constant('ESP' as const), spi: uint32, bytes }),
  fc.record({ kind: fc.constant('truncated' as const) }),
);

/** One extension header, printed; `verbose` is --log-ip-options, which prints their names. */
function printExtension(found: Extension, later: boolean, verbose: boolean): Piece {
  const [open, close] = verbose ? ['OPT ( ', ') '] : ['', ''];
  const stopped = { incomplete: true };
  if (found.kind === 'truncated') return piece('TRUNCATED', stopped, true);
  if (found.kind === 'plain') return later ? piece(open + close.trim(), stopped, true) : piece(open + close);
  if (found.kind === 'fragment') {
    if (found.truncated) return piece(`${open}FRAG:TRUNCATED `, stopped, true);
    const id = found.id.toString(16).padStart(8, '0');
    const text = `${open}FRAG:${found.offset} ${found.more ? 'INCOMPLETE ' : ''}ID:${id} ${close}`;
    return piece(text, { laterFragment: found.offset > 0, incomplete: found.more });
  }
  const ends = found.kind === 'ESP';
  if (!verbose) return piece('', ends ? stopped : {}, ends);
  if (later) return piece(`${open}${found.kind} )`, stopped, true);
  if (found.bytes !== null) return piece(`${open}${found.kind} INCOMPLETE [${found.bytes} bytes] )`, stopped, true);
  const spi = found.spi.toString(16);
  return ends ? piece(`${open}ESP SPI=0x${spi} )`, stopped, true) : piece(`${open}AH SPI=0x${spi} ${close}`);
}

function printExtensions(found: readonly Extension[], verbose: boolean): Piece {
  let all = piece('');
  for (const next of found) {
    const printed = printExtension(next, all.packet.laterFragment === true, verbose);
    const incomplete = all.packet.incomplete === true || printed.packet.incomplete === true;
    all = piece(all.text + printed.text, { ...all.packet, ...printed.packet, incomplete }, printed.stops);
    if (all.stops) return all;
  }
  return all;
}

function ipv6(nested: Parameters<typeof icmpv6Header>[0]): Arbitrary<Piece> {
  const icmpv6 = icmpv6Header(nested).map((header) => ({ printed: 'ICMPv6', protocol: 'ICMPv6', header }));
  return fc
    .record({
      source: address,
      destination: address,
      length: uint32,
      trafficClass: octet,
      ttl: octet,
      label: fc.nat({ max: 0xf_ffff }),
      extensions: fc.uniqueArray(extension, { maxLength: 3, selector: (each) => each.kind }),
      someExtensions: fc.constantFrom(false, false, true),
      verbose: fc.boolean(),
      transport: fc.oneof(...commonTransports, { weight: 5, arbitrary: icmpv6 }),
    })
    .map((ip) => {
      const extensions = printExtensions(ip.someExtensions ? ip.extensions : [], ip.verbose);
      const text =
        `SRC=${ip.source.printed} DST=${ip.destination.printed} LEN=${ip.length} TC=${ip.trafficClass} ` +
        `HOPLIMIT=${ip.ttl} FLOWLBL=${ip.label} ${extensions.text}`;
      const addresses = { source: ip.source.canonical, destination: ip.destination.canonical };
      const packet: Packet = { ...emptyPacket, ...addresses, length: ip.length, ttl: ip.ttl, ...extensions.packet };
      if (extensions.stops) return piece(text, packet, true);
      return withTransport(piece(text, packet), ip.transport, packet.laterFragment);
    });
}

/** An inner packet that is too short for its addresses. For IPv4 the kernel checks this earlier. */
const unreadable = fc.constant({ text: '[TRUNCATED] ' });
export const ipv6Packet: Arbitrary<Piece> = ipv6(
  fc.oneof({ weight: 6, arbitrary: inBrackets(ipv6(undefined)) }, unreadable),
);
