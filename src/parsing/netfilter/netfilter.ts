import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation } from '../../model/packet.ts';
import { canonicalAddress, isIPv6 } from '../../platform/address.ts';
import { type Header, newPacket } from './header.ts';
import type { PrefixTable } from './prefixes.ts';
import { readHeader } from './read-header.ts';

/**
 * Netfilter LOG lines (Linux net/netfilter/nf_log_syslog.c):
 * prefixIN=eth0 OUT=cali1 MAC=… SRC=10.0.0.1 DST=10.0.0.2 LEN=60 … PROTO=TCP SPT=1 DPT=2 … SYN URGP=0 MARK=0x1
 * `text`: one line without its envelope. undefined: it is of another kind; unparsable: it is one of these, but broken. Never throws.
 * This is the hot path: one pass over the characters, no regular expression, no split.
 */
export function parseNetfilter(text: string, prefixes: PrefixTable): PacketObservation | Unparsable | undefined {
  const start = findHeader(text);
  if (start < 0) return undefined;
  const header = readHeader(text, start);
  if (header.arp) readArp(header, text, start);
  const problem = header.hasForeignWords
    ? foreign
    : (header.problem.text ?? (header.arp ? undefined : finishPackets(header)));
  if (problem !== undefined) return { kind: 'unparsable', format: 'netfilter', reason: problem };
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

const foreign = 'words of another message stand before SRC=';

/**
 * The first `IN=` followed by another field of the header, as a prefix may hold `IN=` too; -1 for none. A prefix may touch it
 * (`DROPIN=eth0 OUT=`), but then only `OUT=` will do, which the kernel always prints and other loggers leave out.
 */
function findHeader(text: string): number {
  let wordEnd = -1;
  let beforeOut = false;
  let beforeField = false;
  for (let at = text.indexOf('IN='); at >= 0; at = text.indexOf('IN=', at + 3)) {
    // One look at what follows a word serves every `IN=` in it, which keeps hostile words linear.
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

/** Checks what is known only at the end of the line. Returns why the line cannot be read; undefined if it can. */
function finishPackets(header: Header): string | undefined {
  const { outer, inner } = header;
  const outerProblem = finish(outer, '');
  if (outerProblem !== undefined || inner === undefined) return outerProblem;
  // Nothing is known of an inner packet that was not printed, or cut off within its addresses.
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

/** -1 stands for a value that is there but is no number: later ones of the same key must not take its place. */
function known(value: number | undefined): number | undefined {
  return value === -1 ? undefined : value;
}

/** `ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 MACSRC=… IPSRC=… MACDST=… IPDST=…` (arptables and bridges): no IP header, so no SRC=. */
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
