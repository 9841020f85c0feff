import { type Packet, protocolName } from '../../../base/model/packet.ts';
import { canonicalAddress, isDottedDecimal } from '../../../base/platform/address.ts';

/** An address or a protocol of '' has not been read yet. */
export function newPacket(): Packet {
  return {
    source: '',
    destination: '',
    protocol: '',
    sourcePort: undefined,
    destinationPort: undefined,
    icmpType: undefined,
    icmpCode: undefined,
    tcpFlags: undefined,
    length: undefined,
    ttl: undefined,
    laterFragment: false,
    incomplete: false,
  };
}

export interface Header {
  inInterface: string;
  outInterface: string | undefined;
  physIn: string | undefined;
  physOut: string | undefined;
  /** The first octets of `MAC=` and of `MACDST=`; '' for an invalid address. */
  mac: string | undefined;
  macDestination: string | undefined;
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  outer: Packet;
  inner: Packet | undefined;
  /** The line has `ARP HTYPE=`, and so other fields than an IP header: see `readArp`. */
  arp: boolean;
  /** Words that a LOG rule does not print stand before `SRC=`. */
  hasForeignWords: boolean;
  problem: ParseProblem;
  innerProblem: ParseProblem;
  innerIsClosed: boolean;
  /** The line ends inside the addresses of the inner packet. */
  innerIsCut: boolean;
}

/** A header during reading, before it is known to be complete. -1 stands for a printed value that is not a number. */
export function newHeader(): Header {
  return {
    inInterface: '',
    outInterface: undefined as string | undefined,
    physIn: undefined as string | undefined,
    physOut: undefined as string | undefined,
    mac: undefined as string | undefined,
    macDestination: undefined as string | undefined,
    mtu: undefined as number | undefined,
    mark: undefined as number | undefined,
    uid: undefined as number | undefined,
    outer: newPacket(),
    inner: undefined as Packet | undefined,
    arp: false,
    hasForeignWords: false,
    problem: { text: undefined },
    innerProblem: { text: undefined },
    innerIsClosed: false,
    innerIsCut: false,
  };
}

export interface ParseProblem {
  text: string | undefined;
}

/** Stands for a field that was printed, but cannot be read. */
const invalid = '?';

const colon = 58;

/** Each line is copied here, because reading bytes takes half the time of reading characters. Longer texts get their own array. */
const scratch = Buffer.alloc(64 * 1024);
const wide = /[^\x00-\xff]/g;

/** Returns the characters as bytes. Wider characters become 0xff, which has no meaning in a header. */
export function bytesOf(text: string): Uint8Array {
  // V8 knows that a one-byte string cannot match this, so it does not search.
  const narrow = text.search(wide) < 0 ? text : text.replace(wide, '\xff');
  if (text.length > scratch.length) return Buffer.from(narrow, 'latin1');
  scratch.write(narrow, 'latin1');
  return scratch;
}

/** A word of a line: `bytes` and `text` from `at` up to `stop`. */
export interface Token {
  text: string;
  bytes: Uint8Array;
  at: number;
  stop: number;
  isLast: boolean;
  problem: ParseProblem;
}

/** Reads the address after the first `skip` characters; '?' and a problem if it is invalid. */
export function readAddress({ text, bytes, at, stop, problem }: Token, skip: number): string {
  const value = text.slice(at + skip, stop);
  // The kernel prints IPv4 addresses in canonical form.
  const canonical = isDottedDecimal(bytes, at + skip, stop) ? value : canonicalAddress(value);
  if (canonical !== '') return canonical;
  problem.text ??= `${shorten(text.slice(at, stop))} is not an address`;
  return invalid;
}

export function readDecimal(token: Token, skip: number, max: number): number {
  const value = readNumber(token, skip, max);
  if (value === -1)
    token.problem.text ??= `${shorten(token.text.slice(token.at, token.stop))} is not a number up to ${max}`;
  return value;
}

/** Reads decimal digits after the first `skip` characters; -1 for anything else, or for more than `max`. */
export function readNumber({ bytes, at, stop }: Token, skip: number, max: number): number {
  const start = at + skip;
  if (start >= stop || stop - start > 10) return -1;
  let value = 0;
  for (let i = start; i < stop; i++) {
    const digit = (bytes[i] as number) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= max ? value : -1;
}

export function readProtocol({ text, at, stop, problem }: Token, skip: number): string {
  const name = text.slice(at + skip, stop);
  const known = protocolName(name);
  if (known === undefined) problem.text ??= `PROTO=${shorten(name)} is not a protocol`;
  return known ?? invalid;
}

/** Reads up to 32 bits, `0x1a` from the kernel or `1a` from ulogd; -1 for anything else. */
export function readHexadecimal(text: string): number {
  return /^(?:0x)?[0-9a-fA-F]{1,8}$/.test(text) ? parseInt(text, 16) : -1;
}

/** Reads the first six octets, which are the destination's; '' if they are invalid. */
export function readMac({ text, bytes, at: start, stop }: Token, skip: number): string {
  const at = start + skip;
  if (stop - at < 17 || (stop - at > 17 && bytes[at + 17] !== colon)) return '';
  let lower = true;
  for (let i = 0; i < 17; i++) {
    const code = bytes[at + i] as number;
    if (i % 3 === 2) {
      if (code !== colon) return '';
    } else if (code >= 65 && code <= 70) lower = false;
    else if (!((code >= 48 && code <= 57) || (code >= 97 && code <= 102))) return '';
  }
  const octets = text.slice(at, at + 17);
  return lower ? octets : octets.toLowerCase();
}

function shorten(token: string): string {
  return token.length > 60 ? `${token.slice(0, 60)}…` : token;
}
