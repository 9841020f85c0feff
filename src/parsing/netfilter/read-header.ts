import { headOf, INCO, isWord, readField, SRC } from './fields.ts';
import { type Header, newHeader, newPacket } from './header.ts';
import { bytesOf, type Token } from './values.ts';

const space = 32;
const openingBracket = 91;
const closingBracket = 93;
const equals = 61;

/** Behind INCOMPLETE: how many bytes there were. */
const byteCount = /^ +\[\d+ +bytes\](?= |$)/;

/**
 * Reads the tokens from `IN=` on. Of each key the first counts, in the outer packet and in the inner one. Up to `SRC=` all have a key: a
 * process may be named `drop IN=a OUT= `, and the kernel goes on after that name with words of its own.
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
    // In brackets stands the packet that an ICMP error is about: a token ends before what closes them.
    const opens =
      bytes[at] === openingBracket && packet === outer && (outer.protocol === 'ICMP' || outer.protocol === 'ICMPv6');
    if (opens) {
      packet = newPacket();
      header.inner ??= packet;
      token.problem = packet === header.inner ? header.innerProblem : { text: undefined };
    }
    token.at = opens ? at + 1 : at;
    token.stop = packet !== outer && bytes[end - 1] === closingBracket ? end - 1 : end;
    token.isLast = end === length;
    const head = headOf(token);
    readField(token, head, packet, header);
    if (isBeforeSource) {
      if (head === SRC || head === INCO || header.arp) isBeforeSource = false;
      else if (!hasKey(token)) header.hasForeignWords = true;
    }
    // The `[8 bytes]` of an INCOMPLETE is no inner packet.
    if (head === INCO && token.stop === end && isWord(token, 'INCOMPLETE'))
      end += byteCount.exec(text.slice(end, end + 64))?.[0].length ?? 0;
    if (packet !== outer && bytes[end - 1] === closingBracket) {
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
