import { type Packet, TcpFlag } from '../../model/packet.ts';
import {
  bytesOf,
  type ParseProblem,
  readAddress,
  readDecimal,
  readHexadecimal,
  readMac,
  readNumber,
  readProtocol,
} from './values.ts';

/** A header as read, before it is known to be whole. A number of -1 was printed but is none. */
export interface Header {
  inInterface: string;
  outInterface: string | undefined;
  physIn: string | undefined;
  physOut: string | undefined;
  /** First octets of `MAC=` and of `MACDST=`; '' where they are none. */
  mac: string | undefined;
  macDestination: string | undefined;
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  outer: Packet;
  inner: Packet | undefined;
  /** It says `ARP HTYPE=`, so it has other fields than an IP header: see `readArp`. */
  arp: boolean;
  /** The first thing that cannot be read. */
  complaint: ParseProblem;
  innerProblem: ParseProblem;
  innerHasAddresses: boolean;
  innerIsClosed: boolean;
  /** The line ends within the addresses of the inner packet. */
  innerIsCut: boolean;
}

/** '' in an address or the protocol means: not seen yet. */
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

const space = 32;
const colon = 58;
const equals = 61;
const openingBracket = 91;
const closingBracket = 93;

/** The first four characters of a token as one number: comparing it is one instruction. */
function four(key: string): number {
  return (key.charCodeAt(0) << 24) | (key.charCodeAt(1) << 16) | (key.charCodeAt(2) << 8) | key.charCodeAt(3);
}

const SRC = four('SRC='),
  DST = four('DST='),
  SPT = four('SPT='),
  DPT = four('DPT='),
  LEN = four('LEN='),
  TTL = four('TTL=');
const OUT = four('OUT='),
  MAC = four('MAC='),
  MTU = four('MTU='),
  UID = four('UID='),
  RES = four('RES=');
const PROT = four('PROT'),
  TYPE = four('TYPE'),
  CODE = four('CODE'),
  MARK = four('MARK'),
  HOPL = four('HOPL'),
  FRAG = four('FRAG');
const PHYS = four('PHYS'),
  MACD = four('MACD'),
  INCO = four('INCO'),
  TRUN = four('TRUN'),
  WIND = four('WIND'),
  URGP = four('URGP');
/** Words of three letters count with a space behind them. */
const SYN = four('SYN '),
  ACK = four('ACK '),
  PSH = four('PSH '),
  RST = four('RST '),
  FIN = four('FIN '),
  URG = four('URG ');
const ECE = four('ECE '),
  CWR = four('CWR '),
  ARP = four('ARP ');

/** Behind INCOMPLETE: how many bytes there were. */
const byteCount = /^ +\[\d+ +bytes\](?= |$)/;

/** Reads the tokens from `IN=` on. Of each key the first counts, in the outer packet and in the inner one. */
export function readHeader(text: string, start: number): Header {
  const bytes = bytesOf(text);
  const outer = newPacket();
  const header: Header = {
    inInterface: '',
    outInterface: undefined,
    physIn: undefined,
    physOut: undefined,
    mac: undefined,
    macDestination: undefined,
    mtu: undefined,
    mark: undefined,
    uid: undefined,
    outer,
    inner: undefined,
    arp: false,
    complaint: { text: undefined },
    innerProblem: { text: undefined },
    innerHasAddresses: false,
    innerIsClosed: false,
    innerIsCut: false,
  };
  const { length } = text;
  let packet = outer;
  let { complaint } = header;
  let flags = 0;
  let innerSource = false;
  let innerDestination = false;
  let outerFragment = false;
  let innerFragment = false;

  for (let at = start, end = 0; at < length; at = end + 1) {
    end = at;
    while (end < length && bytes[end] !== space) end++;
    if (end === at) continue;
    // Inside a bracket the token ends before what closes it.
    let stop = end;
    if (packet !== outer && bytes[end - 1] === closingBracket) stop--;
    else if (
      bytes[at] === openingBracket &&
      packet === outer &&
      (outer.protocol === 'ICMP' || outer.protocol === 'ICMPv6')
    ) {
      packet = newPacket();
      header.inner ??= packet;
      complaint = packet === header.inner ? header.innerProblem : { text: undefined };
      if (bytes[end - 1] === closingBracket) stop--;
      at++;
    }
    const size = stop - at;
    const first = bytes[at] as number;
    const head =
      (first << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (size === 3 ? space : (bytes[at + 3] as number));
    // By the first letter, then by the first four: a switch on small literals becomes a jump, one on large numbers does not.
    switch (first) {
      case 0x53: // S
        if (head === SRC) {
          if (packet === header.inner && !innerSource) {
            innerSource = true;
            header.innerIsCut = end === length;
          }
          if (packet.source === '') packet.source = readAddress(complaint, bytes, text, at, 4, stop);
        } else if (head === SPT) packet.sourcePort ??= readDecimal(complaint, bytes, text, at, 4, stop, 65_535);
        else if (head === SYN) flags |= TcpFlag.SYN;
        break;
      case 0x44: // D
        if (head === DST) {
          if (packet === header.inner && !innerDestination) {
            innerDestination = true;
            header.innerIsCut = end === length;
          } else if (packet === outer && end === length)
            complaint.text ??= 'the line ends at DST=, which may be cut off';
          if (packet.destination === '') packet.destination = readAddress(complaint, bytes, text, at, 4, stop);
        } else if (head === DPT) packet.destinationPort ??= readDecimal(complaint, bytes, text, at, 4, stop, 65_535);
        break;
      case 0x4c: // L
        if (head === LEN) packet.length ??= readNumber(bytes, at + 4, stop, 4_294_967_295);
        break;
      case 0x54: // T
        if (head === TTL) packet.ttl ??= readNumber(bytes, at + 4, stop, 255);
        else if (head === TYPE && bytes[at + 4] === equals)
          packet.icmpType ??= readDecimal(complaint, bytes, text, at, 5, stop, 255);
        else if (head === TRUN && size === 9 && text.startsWith('TRUNCATED', at)) packet.incomplete = true;
        break;
      case 0x50: // P
        if (head === PROT && text.startsWith('O=', at + 4)) {
          if (packet.protocol === '') packet.protocol = readProtocol(complaint, text.slice(at + 6, stop));
        } else if (head === PSH) flags |= TcpFlag.PSH;
        else if (head === PHYS && packet === outer) {
          if (text.startsWith('IN=', at + 4)) header.physIn ??= text.slice(at + 7, stop);
          else if (text.startsWith('OUT=', at + 4)) header.physOut ??= text.slice(at + 8, stop);
        }
        break;
      case 0x4f: // O
        if (head === OUT && packet === outer) header.outInterface ??= text.slice(at + 4, stop);
        break;
      case 0x4d: // M
        if (packet !== outer) break;
        if (head === MAC) header.mac ??= readMac(bytes, text, at + 4, stop);
        else if (head === MACD && text.startsWith('MACDST=', at))
          header.macDestination ??= readMac(bytes, text, at + 7, stop);
        else if (head === MARK && bytes[at + 4] === equals) header.mark ??= readHexadecimal(text.slice(at + 5, stop));
        else if (head === MTU) header.mtu ??= readNumber(bytes, at + 4, stop, 4_294_967_295);
        break;
      case 0x41: // A
        if (head === ACK) flags |= TcpFlag.ACK;
        else if (head === ARP && packet === outer && /^ARP +HTYPE=/.test(text.slice(at, at + 64))) header.arp = true;
        break;
      case 0x55: // U
        if (head === URG) flags |= TcpFlag.URG;
        else if (head === URGP && bytes[at + 4] === equals) packet.tcpFlags ??= 0;
        else if (head === UID && packet === outer) header.uid ??= readNumber(bytes, at + 4, stop, 4_294_967_295);
        break;
      case 0x57: // W
        if (head === WIND && text.startsWith('OW=', at + 4)) packet.tcpFlags ??= 0;
        break;
      case 0x46: // F
        if (head === FIN) flags |= TcpFlag.FIN;
        else if (head === FRAG && bytes[at + 4] === colon) {
          if (packet === outer ? !outerFragment : !innerFragment)
            packet.laterFragment = /^0*[1-9]\d*$/.test(text.slice(at + 5, stop));
          if (packet === outer) outerFragment = true;
          else innerFragment = true;
          if (text.slice(at + 5, stop) === 'TRUNCATED') packet.incomplete = true;
        }
        break;
      case 0x52: // R
        if (head === RST) flags |= TcpFlag.RST;
        else if (head === RES) packet.tcpFlags ??= 0;
        break;
      case 0x43: // C
        if (head === CODE && bytes[at + 4] === equals)
          packet.icmpCode ??= readDecimal(complaint, bytes, text, at, 5, stop, 255);
        else if (head === CWR) flags |= TcpFlag.CWR;
        break;
      case 0x45: // E
        if (head === ECE) flags |= TcpFlag.ECE;
        break;
      case 0x48: // H
        if (head === HOPL && text.startsWith('IMIT=', at + 4)) packet.ttl ??= readNumber(bytes, at + 9, stop, 255);
        break;
      case 0x49: // I
        if (at === start) header.inInterface = text.slice(at + 3, stop);
        else if (head === INCO && size === 10 && text.startsWith('INCOMPLETE', at)) {
          packet.incomplete = true;
          // Its `[8 bytes]` is no inner packet.
          if (stop === end) end += byteCount.exec(text.slice(end, end + 64))?.[0].length ?? 0;
        }
        break;
      case 0x28: // (
        if (size === 11 && text.startsWith('(TRUNCATED)', at)) packet.incomplete = true;
        break;
    }
    if (flags !== 0) {
      packet.tcpFlags = (packet.tcpFlags ?? 0) | flags;
      flags = 0;
    }
    if (packet !== outer && bytes[end - 1] === closingBracket && stop !== end) {
      if (packet === header.inner) header.innerIsClosed = true;
      packet = outer;
      complaint = header.complaint;
    }
  }
  header.innerHasAddresses = innerSource && innerDestination;
  if (header.innerIsClosed) header.innerIsCut = false;
  return header;
}
