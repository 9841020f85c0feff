import type { Unparsable } from '../../../base/model/observation.ts';
import type { PacketObservation, Verdict } from '../../../base/model/packet.ts';
import { canonicalAddress, isIPv6 } from '../../../base/platform/address.ts';
import { type Header, newPacket } from './header.ts';
import { parsed } from '../../../base/platform/json.ts';
import { fieldOf, observePacket, unparsable } from '../policy-loggers/record.ts';
import { decodeBytes, type PrefixTable } from './prefixes.ts';
import { readHeader } from './read-header.ts';

/**
 * Reads lines of netfilter's LOG (Linux net/netfilter/nf_log_syslog.c):
 *
 *     prefixIN=eth0 OUT=cali1 MAC=… SRC=10.0.0.1 DST=10.0.0.2 LEN=60 … PROTO=TCP SPT=1 DPT=2 … SYN URGP=0 MARK=0x1
 *
 * This is the hot path: one pass over the bytes, without a regular expression for each field.
 */
export function parseNetfilter(text: string, prefixes: PrefixTable): PacketObservation | Unparsable | undefined {
  const start = findHeader(text);
  if (start < 0) return undefined;
  const header = readHeader(text, start);
  if (header.arp) readArp(header, text, start);
  const problem = header.hasForeignWords
    ? foreign
    : (header.problem.text ?? (header.arp ? undefined : finishPackets(header)));
  if (problem !== undefined) return unparsable('netfilter', problem);
  const prefix = prefixes.look(text.slice(0, start));
  return {
    kind: 'packet',
    logger: 'netfilter',
    verdict: prefix.verdict,
    prefix: prefix.text,
    prefixRule: prefix.rule,
    enforcer: prefix.enforcer,
    policy: prefix.policy,
    inInterface: header.inInterface,
    outInterface: header.outInterface ?? '',
    physIn: header.physIn,
    physOut: header.physOut,
    destinationMac: header.mac || header.macDestination || undefined,
    packet: header.outer,
    inner: header.inner,
    mtu: known(header.mtu),
    mark: known(header.mark),
    uid: known(header.uid),
    repeat: 1,
  };
}

/** iptables' LOG prefixes have 29 characters at most, nft's 127. */
const longestPrefix = 29;
const headOfLine =
  /(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)\S{0,16} \S{1,255} kernel: /;

/**
 * Returns whether the text before `IN=` has the stamp and host of a line, which no rule can have printed: the line is quoted in another
 * text. Its prefix would be wrong, and its time and writer are unknown.
 */
export function isWithinText(text: string): boolean {
  const start = findHeader(text);
  return start > longestPrefix && headOfLine.test(text.slice(0, start));
}

const foreign = 'words of another message stand before SRC=';

/**
 * Returns the position of the first `IN=` that another field of the header follows, because a prefix may contain `IN=`, too; -1 without
 * one. If a prefix touches it (`DROPIN=eth0 OUT=`), `OUT=` must follow: the kernel always prints it, but other loggers do not.
 */
function findHeader(text: string): number {
  let wordEnd = -1;
  let beforeOut = false;
  let beforeField = false;
  for (let at = text.indexOf('IN='); at >= 0; at = text.indexOf('IN=', at + 3)) {
    // The text after a word is checked once for every `IN=` in it, so that hostile words take linear time.
    if (at >= wordEnd) {
      wordEnd = text.indexOf(' ', at);
      if (wordEnd < 0) return -1;
      beforeOut = text.startsWith('OUT=', wordEnd + 1);
      beforeField = beforeOut || isHeaderField(text, wordEnd + 1);
    }
    if (!beforeField) {
      at = wordEnd - 3;
      continue;
    }
    if (at === 0 || !isWordCharacter(text.charCodeAt(at - 1))) return at;
    if (beforeOut && !text.endsWith('PHYS', at)) return at;
  }
  return -1;
}

function isWordCharacter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
}

function isHeaderField(text: string, at: number): boolean {
  return (
    text.startsWith('SRC=', at) ||
    text.startsWith('MAC=', at) ||
    text.startsWith('MACSRC=', at) ||
    text.startsWith('PHYSIN=', at) ||
    text.startsWith('ARP ', at)
  );
}

/** Runs the checks that need the whole line. Returns why the line cannot be read. */
function finishPackets(header: Header): string | undefined {
  const { outer, inner } = header;
  const outerProblem = finish(outer, '');
  if (outerProblem !== undefined || inner === undefined) return outerProblem;
  // An inner packet that was not printed, or was cut inside its addresses, is unknown.
  if (inner.source === '' || inner.destination === '' || header.innerIsCut) {
    header.inner = undefined;
    return undefined;
  }
  if (!header.innerIsClosed) inner.incomplete = true;
  return header.innerProblem.text ?? finish(inner, 'the packet inside the ICMP error has ');
}

function finish(packet: Header['outer'], where: string): string | undefined {
  if (packet.source === '')
    return `${where}no SRC=${packet.incomplete ? ': the kernel could not read the IP header' : ''}`;
  if (packet.destination === '') return `${where}no DST=`;
  if (isIPv6(packet.source) !== isIPv6(packet.destination)) return `${where}SRC= and DST= of two address families`;
  if (packet.protocol === '') packet.incomplete = true;
  if (packet.protocol !== 'TCP') packet.tcpFlags = undefined;
  packet.length = known(packet.length);
  packet.ttl = known(packet.ttl);
  return undefined;
}

/** Turns -1 (an invalid number) into undefined. It was kept until now, so that a later value of the same key did not replace it. */
function known(value: number | undefined): number | undefined {
  return value === -1 ? undefined : value;
}

/** Reads `ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 MACSRC=… IPSRC=… MACDST=… IPDST=…` (arptables and bridges), which has no `SRC=`. */
function readArp(header: Header, text: string, start: number): void {
  const tokens = text.slice(start).split(' ');
  const value = (key: string): string => tokens.find((token) => token.startsWith(key))?.slice(key.length) ?? '';
  const source = canonicalAddress(value('IPSRC='));
  const destination = canonicalAddress(value('IPDST='));
  header.problem.text = undefined;
  if (source === '' || destination === '')
    header.problem.text = `${source === '' ? 'IPSRC' : 'IPDST'}= is missing or not an address`;
  else if (isIPv6(source) !== isIPv6(destination)) header.problem.text = 'IPSRC= and IPDST= of two address families';
  const incomplete = tokens.some((token) => /^(?:INCOMPLETE|TRUNCATED|\(TRUNCATED\)|FRAG:TRUNCATED)$/.test(token));
  header.outer = { ...newPacket(), source, destination, protocol: 'ARP', incomplete };
  header.inner = undefined;
}

/** Reads ulogd2's JSON output. Each packet is one object, with keys as ulogd's plug-ins name them. */
export function parseUlogd(text: string, prefixes: PrefixTable): PacketObservation | Unparsable | undefined {
  if (!text.startsWith('{') || !text.includes('"oob.')) return undefined;
  const record = parsed(decodeBytes(text)) as Record<string, unknown> | undefined;
  if (record === undefined) return unparsable('ulogd', 'the JSON is damaged or cut off');
  const field = (...names: string[]): string | number | undefined => {
    for (const name of names) {
      const value = fieldOf(record[name]);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const prefix = prefixes.look(String(field('oob.prefix') ?? ''));
  // The prefix that the operator configured goes before `action`, because only some builds of ulogd write that.
  const action = prefix.verdict === 'logged' ? actions.get(String(field('action') ?? '')) : undefined;
  // ulogd reads ports also where a later fragment has its payload.
  const laterFragment = isLaterFragment(field('ip.fragoff'), 0x1fff) || isLaterFragment(field('ip6.fragoff'), 0xfff8);
  const icmpType = field('icmp.type', 'icmpv6.type');
  const transport = laterFragment
    ? {}
    : {
        sourcePort: field('src_port', 'tcp.sport', 'udp.sport', 'sctp.sport'),
        destinationPort: field('dest_port', 'tcp.dport', 'udp.dport', 'sctp.dport'),
        icmpType,
        icmpCode: field('icmp.code', 'icmpv6.code'),
        tcpFlags: tcpFlags(record),
      };
  return observePacket({
    logger: 'ulogd',
    verdict: action ?? prefix.verdict,
    prefix: prefix.text,
    prefixRule: prefix.rule,
    // kube-router's packets have no prefix: the action is that of deploy/logging/ulogd-kube-router.conf.
    enforcer: action !== undefined && prefix.text === '' ? 'network-policy' : prefix.enforcer,
    policy: prefix.policy,
    inInterface: String(field('oob.in') ?? ''),
    outInterface: String(field('oob.out') ?? ''),
    source: field('src_ip', 'ip.saddr.str', 'ip.saddr'),
    destination: field('dest_ip', 'ip.daddr.str', 'ip.daddr'),
    protocol: field('ip.protocol', 'ip6.nexthdr') ?? (icmpType === undefined ? undefined : 1),
    ...transport,
    laterFragment,
    length: field('ip.totlen', 'ip6.payloadlen'),
    ttl: field('ip.ttl', 'ip6.hoplimit'),
    mark: field('oob.mark'),
    uid: field('oob.uid'),
  });
}

function isLaterFragment(fragmentField: string | number | undefined, offset: number): boolean {
  return (Number(fragmentField ?? 0) & offset) !== 0;
}

const actions = new Map<string, Verdict>([
  ['blocked', 'dropped'],
  ['allowed', 'accepted'],
]);

/** ulogd writes each TCP flag as a field of its own: 0 or 1, or true. */
function tcpFlags(record: Record<string, unknown>): number | undefined {
  if (!('tcp.sport' in record) && !('tcp.syn' in record)) return undefined;
  return ['fin', 'syn', 'rst', 'psh', 'ack', 'urg'].reduce(
    (bits, name, index) => (record[`tcp.${name}`] ? bits | (1 << index) : bits),
    0,
  );
}
