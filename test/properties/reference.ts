/**
 * The slow, obvious reading of a netfilter LOG line (Linux net/netfilter/nf_log_syslog.c). `netfilter.test.ts` compares
 * the production parser with it. It shares no code with that parser, and prefers plainness to speed: it may be
 * quadratic.
 */
import type { Packet, PacketObservation } from '../../src/base/model/packet.ts';
import { canonicalAddress, familyOf, type Family } from './reference-address.ts';
import { isInteger, protocolName, upTo } from './reference-values.ts';
import { bracketed, firstValues, type Level } from './reference-tokens.ts';

/** A packet line without what the prefix table adds to it. */
export type BarePacketObservation = Omit<PacketObservation, 'verdict' | 'prefixRule' | 'policy' | 'enforcer'>;
/** The production parser alone decides the wording of reasons. */
export type BareUnparsable = { kind: 'unparsable'; format: 'netfilter' };
export type BareObservation = BarePacketObservation | BareUnparsable | undefined;

export const unparsable: BareUnparsable = { kind: 'unparsable', format: 'netfilter' };

/**
 * What makes a line one of netfilter's. The header begins at the first match. Not `\S`, because in text with one
 * character for each byte, 0xA0 is a part of `à` and not a space. If a prefix touches the header, OUT= must follow.
 */
const header = /(?<![A-Za-z_])IN=[^ ]* (?=OUT=|PHYSIN=|MAC=|MACSRC=|SRC=|ARP )|(?<!PHYS)IN=[^ ]* (?=OUT=)/;

export function referenceParse(text: string): BareObservation {
  const start = text.search(header);
  if (start < 0) return undefined;
  const tokens = text
    .slice(start)
    .split(' ')
    .filter((token) => token !== '');
  if (isForeign(tokens)) return unparsable;
  const { outer, inner, cutInside } = bracketed(tokens);
  const values = firstValues(outer);
  const arp = outer.tokens.some((token, at) => token === 'ARP' && outer.tokens[at + 1]?.startsWith('HTYPE='));

  // A line that ends with the destination may have been cut within it. ARP lines always end with IPDST=.
  const cut = !text.endsWith(' ');
  if (!arp && cut && !cutInside && tokens.at(-1)?.startsWith('DST=')) return unparsable;
  const packet = arp ? readArp(outer) : readPacket(outer);
  const innerPacket = arp || inner === undefined ? undefined : readInner(inner, cut);
  if (packet === undefined || innerPacket === 'malformed') return unparsable;

  return {
    kind: 'packet',
    logger: 'netfilter',
    prefix: decodeBytes(text.slice(0, start)).trim(),
    inInterface: values.get('IN') ?? '',
    outInterface: values.get('OUT') ?? '',
    physIn: values.get('PHYSIN'),
    physOut: values.get('PHYSOUT'),
    destinationMac: firstOctets(values.get('MAC')) ?? firstOctets(values.get('MACDST')),
    packet,
    inner: innerPacket,
    mtu: upTo(0xffff_ffff, values.get('MTU')),
    mark: readMark(values.get('MARK')),
    uid: upTo(0xffff_ffff, values.get('UID')),
    repeat: 1,
  };
}

/**
 * Whether there are words before the address that no LOG rule prints: then `IN=` is part of a name that the kernel
 * quotes.
 */
function isForeign(tokens: readonly string[]): boolean {
  const isEnd = (token: string, at: number): boolean =>
    /^(SRC=|INCO)/.test(token) || (token === 'ARP' && tokens[at + 1]?.startsWith('HTYPE=') === true);
  const end = tokens.findIndex(isEnd);
  return tokens.slice(0, end < 0 ? undefined : end).some((token) => !token.includes('='));
}

/** Whether the first value of this key, which counts, is also the last text of the level. */
function endsWith(level: Level, key: string): boolean {
  return level.tokens.findIndex((token) => token.startsWith(`${key}=`)) === level.tokens.length - 1;
}

function readInner(inner: Level, cut: boolean): Packet | undefined | 'malformed' {
  const values = firstValues(inner);
  // `[TRUNCATED]`, or cut before the addresses are complete: nothing is known of the inner packet.
  if (!values.has('SRC') || !values.has('DST')) return undefined;
  if (cut && !inner.closed && (endsWith(inner, 'SRC') || endsWith(inner, 'DST'))) return undefined;
  const packet = readPacket(inner);
  return packet === undefined ? 'malformed' : { ...packet, incomplete: packet.incomplete || !inner.closed };
}

function readAddresses(source: string | undefined, destination: string | undefined): [string, string] | undefined {
  const families = [source, destination].map(familyOf);
  const family: Family | undefined = families[0];
  if (source === undefined || destination === undefined || family === undefined || family !== families[1]) {
    return undefined;
  }
  return [canonicalAddress(source), canonicalAddress(destination)];
}

function readPacket(level: Level): Packet | undefined {
  const values = firstValues(level);
  const addresses = readAddresses(values.get('SRC'), values.get('DST'));
  const protocol = protocolName(values.get('PROTO'));
  const sourcePort = strict(0xffff, values.get('SPT'));
  const destinationPort = strict(0xffff, values.get('DPT'));
  const icmpType = strict(0xff, values.get('TYPE'));
  const icmpCode = strict(0xff, values.get('CODE'));
  if (addresses === undefined || protocol === undefined) return undefined;
  if (sourcePort === 'malformed' || destinationPort === 'malformed') return undefined;
  if (icmpType === 'malformed' || icmpCode === 'malformed') return undefined;
  const [source, destination] = addresses;
  return {
    source,
    destination,
    protocol,
    sourcePort,
    destinationPort,
    icmpType,
    icmpCode,
    tcpFlags: protocol === 'TCP' ? readFlags(level) : undefined,
    length: upTo(0xffff_ffff, values.get('LEN')),
    ttl: upTo(0xff, firstOf(level, 'TTL', 'HOPLIMIT')),
    laterFragment: readFragment(level),
    incomplete: saysIncomplete(level) || !values.has('PROTO'),
  };
}

/** The value of the key that comes first. */
function firstOf(level: Level, ...keys: string[]): string | undefined {
  const token = level.tokens.find((each) => keys.some((key) => each.startsWith(`${key}=`)));
  return token?.slice(token.indexOf('=') + 1);
}

function readArp(level: Level): Packet | undefined {
  const values = firstValues(level);
  const addresses = readAddresses(values.get('IPSRC'), values.get('IPDST'));
  if (addresses === undefined) return undefined;
  const [source, destination] = addresses;
  return {
    source,
    destination,
    protocol: 'ARP',
    sourcePort: undefined,
    destinationPort: undefined,
    icmpType: undefined,
    icmpCode: undefined,
    tcpFlags: undefined,
    length: undefined,
    ttl: undefined,
    laterFragment: false,
    incomplete: saysIncomplete(level),
  };
}

/** `FRAG:TRUNCATED` stands for an unreadable IPv6 fragment header; `(TRUNCATED)` stands for TCP options. */
function saysIncomplete(level: Level): boolean {
  return level.tokens.some((token) => /^(INCOMPLETE|TRUNCATED|\(TRUNCATED\)|FRAG:TRUNCATED)$/.test(token));
}

function readFragment(level: Level): boolean {
  const offsets = level.tokens.filter((token) => token.startsWith('FRAG:')).map((token) => token.slice('FRAG:'.length));
  return offsets.some((offset) => isInteger(offset) && Number(offset) > 0);
}

/** Without WINDOW=, RES=, URGP= or a flag, the line ended before the flags: then they are unknown, not zero. */
function readFlags(level: Level): number | undefined {
  const bits = ['FIN', 'SYN', 'RST', 'PSH', 'ACK', 'URG', 'ECE', 'CWR'].map((word, bit) =>
    level.tokens.includes(word) ? 1 << bit : 0,
  );
  const shown = level.tokens.some((token) => /^(WINDOW|RES|URGP)=/.test(token));
  const sum = bits.reduce((all, bit) => all | bit, 0);
  return shown || sum > 0 ? sum : undefined;
}

function strict(maximum: number, text: string | undefined): number | undefined | 'malformed' {
  return text === undefined ? undefined : (upTo(maximum, text) ?? 'malformed');
}

/** The kernel prints `0x1a`, ulogd's LOGEMU prints `1a`. */
function readMark(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0x)?[0-9a-f]+$/i.test(text)) return undefined;
  const mark = Number.parseInt(text, 16);
  return mark <= 0xffff_ffff ? mark : undefined;
}

function firstOctets(text: string | undefined): string | undefined {
  return /^([0-9a-f]{2}(?::[0-9a-f]{2}){5})(?::|$)/i.exec(text ?? '')?.[1]?.toLowerCase();
}

/** Decodes text whose characters are the bytes of valid UTF-8; other text stays as it is. */
function decodeBytes(text: string): string {
  if (/[^\u0000-\u00ff]/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : text;
}
