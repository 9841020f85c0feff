import {
  bytesOf,
  type Header,
  newHeader,
  newPacket,
  readAddress,
  readDecimal,
  readHexadecimal,
  readMac,
  readNumber,
  readProtocol,
  type Token,
} from './header.ts';
import { type Packet, TcpFlag } from '../../../base/model/packet.ts';

const openingBracket = 91;
const closingBracket = 93;

/** Matches the number of bytes after INCOMPLETE. */
const byteCount = /^ +\[\d+ +bytes\](?= |$)/;

/**
 * Reads the tokens from `IN=` on. For each key the first token counts, in the outer packet and in the inner one. Up to `SRC=` every token
 * must contain `=`, because a process may be named `drop IN=a OUT= `, and the kernel writes words of its own after that name.
 */
export function readHeader(text: string, start: number): Header {
  const bytes = bytesOf(text);
  const header = newHeader();
  const { outer } = header;
  const { length } = text;
  const token: Token = { text, bytes, at: 0, stop: 0, isLast: false, problem: header.problem };
  let packet = outer;
  let isBeforeSource = true;

  let end = text.indexOf(' ', start);
  header.inInterface = text.slice(start + 3, end);
  for (let at = end + 1; at < length; at = end + 1) {
    end = at;
    while (end < length && bytes[end] !== space) end++;
    if (end === at) continue;
    // Brackets contain the packet that an ICMP error is about, so a token ends before a closing bracket.
    const opens =
      bytes[at] === openingBracket && packet === outer && (outer.protocol === 'ICMP' || outer.protocol === 'ICMPv6');
    if (opens) {
      packet = newPacket();
      header.inner ??= packet;
      token.problem = packet === header.inner ? header.innerProblem : { text: undefined };
    }
    token.at = opens ? at + 1 : at;
    const closes = packet !== outer && bytes[end - 1] === closingBracket;
    token.stop = closes ? end - 1 : end;
    token.isLast = end === length;
    const head = headOf(token);
    readField(token, head, packet, header);
    if (isBeforeSource) {
      if (head === SRC || head === INCO || header.arp) isBeforeSource = false;
      else if (!hasKey(token)) header.hasForeignWords = true;
    }
    // The `[8 bytes]` after an INCOMPLETE is not an inner packet, nor its end.
    if (head === INCO && token.stop === end && isWord(token, 'INCOMPLETE'))
      end += byteCount.exec(text.slice(end, end + 64))?.[0].length ?? 0;
    if (closes) {
      if (packet === header.inner) header.innerIsClosed = true;
      packet = outer;
      token.problem = header.problem;
    }
  }
  if (header.innerIsClosed) header.innerIsCut = false;
  return header;
}

function hasKey({ bytes, at, stop }: Token): boolean {
  for (let index = at; index < stop; index++) if (bytes[index] === equals) return true;
  return false;
}

/** Returns four characters as one number, so that one instruction compares them. */
function four(key: string): number {
  return (key.charCodeAt(0) << 24) | (key.charCodeAt(1) << 16) | (key.charCodeAt(2) << 8) | key.charCodeAt(3);
}

const SRC = four('SRC=');
const DST = four('DST=');
const SPT = four('SPT=');
const DPT = four('DPT=');
const LEN = four('LEN=');
const TTL = four('TTL=');
const OUT = four('OUT=');
const MAC = four('MAC=');
const MTU = four('MTU=');
const UID = four('UID=');
const RES = four('RES=');
const PROT = four('PROT');
const TYPE = four('TYPE');
const CODE = four('CODE');
const MARK = four('MARK');
const HOPL = four('HOPL');
const FRAG = four('FRAG');
const PHYS = four('PHYS');
const MACD = four('MACD');
const INCO = four('INCO');
const TRUN = four('TRUN');
const WIND = four('WIND');
const URGP = four('URGP');
/** Words of three letters have a space after them, so these include it. */
const ARP = four('ARP ');
const flags = new Map(Object.entries(TcpFlag).map(([name, bit]) => [four(`${name} `), bit]));

const space = 32;
const colon = 58;
const equals = 61;

function headOf({ bytes, at, stop }: Token): number {
  const fourth = stop - at === 3 ? space : (bytes[at + 3] as number);
  return ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | fourth;
}

function readField(token: Token, head: number, packet: Packet, header: Header): void {
  const { at, stop } = token;
  if (stop - at === 3) {
    const flag = flags.get(head);
    if (flag !== undefined) packet.tcpFlags = (packet.tcpFlags ?? 0) | flag;
    else if (head === ARP && packet === header.outer) header.arp ||= /^ARP +HTYPE=/.test(token.text.slice(at, at + 64));
    return;
  }
  // Compare the first letter first: a switch on small literals becomes a jump, but one on large numbers does not.
  switch (head >> 24) {
    case 0x53: // S
      if (head === SRC && packet.source === '') {
        packet.source = readAddress(token, 4);
        if (packet === header.inner) header.innerIsCut = token.isLast;
      } else if (head === SPT) packet.sourcePort ??= readDecimal(token, 4, 65_535);
      return;
    case 0x44: // D
      if (head === DST) {
        if (packet === header.outer && token.isLast)
          token.problem.text ??= 'the line ends at DST=, which may be cut off';
        if (packet.destination !== '') return;
        packet.destination = readAddress(token, 4);
        if (packet === header.inner) header.innerIsCut = token.isLast;
      } else if (head === DPT) packet.destinationPort ??= readDecimal(token, 4, 65_535);
      return;
    case 0x4c: // L
      if (head === LEN) packet.length ??= readNumber(token, 4, 4_294_967_295);
      return;
    case 0x54: // T
      if (head === TTL) packet.ttl ??= readNumber(token, 4, 255);
      else if (head === TYPE && token.bytes[at + 4] === equals) packet.icmpType ??= readDecimal(token, 5, 255);
      else if (head === TRUN && isWord(token, 'TRUNCATED')) packet.incomplete = true;
      return;
    case 0x50: // P
      if (head === PHYS && packet === header.outer) readLineField(token, head, header);
      else if (head === PROT && packet.protocol === '' && token.text.startsWith('O=', at + 4))
        packet.protocol = readProtocol(token, 6);
      return;
    case 0x55: // U
      if (head === URGP && token.bytes[at + 4] === equals) packet.tcpFlags ??= 0;
      else if (head === UID && packet === header.outer) header.uid ??= readNumber(token, 4, 4_294_967_295);
      return;
    case 0x4f: // O
    case 0x4d: // M
      if (packet === header.outer) readLineField(token, head, header);
      return;
    case 0x57: // W
      if (head === WIND && token.text.startsWith('OW=', at + 4)) packet.tcpFlags ??= 0;
      return;
    case 0x52: // R
      if (head === RES) packet.tcpFlags ??= 0;
      return;
    case 0x46: // F
      if (head === FRAG && token.bytes[at + 4] === colon) readFragment(token.text.slice(at + 5, stop), packet);
      return;
    case 0x43: // C
      if (head === CODE && token.bytes[at + 4] === equals) packet.icmpCode ??= readDecimal(token, 5, 255);
      return;
    case 0x48: // H
      if (head === HOPL && token.text.startsWith('IMIT=', at + 4)) packet.ttl ??= readNumber(token, 9, 255);
      return;
    case 0x49: // I
      if (head === INCO && isWord(token, 'INCOMPLETE')) packet.incomplete = true;
      return;
    case 0x28: // (
      if (isWord(token, '(TRUNCATED)')) packet.incomplete = true;
  }
}

/** Reads a field that a line has only once: the interfaces, the link layer, the mark. */
function readLineField(token: Token, head: number, header: Header): void {
  const { text, bytes, at, stop } = token;
  if (head === OUT) header.outInterface ??= text.slice(at + 4, stop);
  else if (head === MAC) header.mac ??= readMac(token, 4);
  else if (head === MACD && text.startsWith('MACDST=', at)) header.macDestination ??= readMac(token, 7);
  else if (head === MARK && bytes[at + 4] === equals) header.mark ??= readHexadecimal(text.slice(at + 5, stop));
  else if (head === MTU) header.mtu ??= readNumber(token, 4, 4_294_967_295);
  else if (head === PHYS && text.startsWith('IN=', at + 4)) header.physIn ??= text.slice(at + 7, stop);
  else if (head === PHYS && text.startsWith('OUT=', at + 4)) header.physOut ??= text.slice(at + 8, stop);
}

function readFragment(value: string, packet: Packet): void {
  if (value === 'TRUNCATED') packet.incomplete = true;
  packet.laterFragment ||= /^0*[1-9]\d*$/.test(value);
}

function isWord({ text, at, stop }: Token, word: string): boolean {
  return stop - at === word.length && text.startsWith(word, at);
}
