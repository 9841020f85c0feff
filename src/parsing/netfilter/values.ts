import { canonicalAddress, isDottedDecimal } from '../../platform/address.ts';
import { protocolName } from './protocols.ts';

/** Takes the first thing of a packet that cannot be read, in words for a person. */
export interface ParseProblem {
  text: string | undefined;
}

/** Stands in a field that was printed but cannot be read; there is a complaint then. */
const invalid = '?';

const colon = 58;

/**
 * Looking at a byte costs less than half of looking at a character, and a line is looked at character by character:
 * so it is copied here first. Longer texts than a line get an array of their own.
 */
const scratch = Buffer.alloc(64 * 1024);
const wide = /[^\x00-\xff]/g;

/** The characters as bytes; those that do not fit in one become 0xff, which means nothing in a header. */
export function bytesOf(text: string): Uint8Array {
  // V8 knows that the bytes of a one-byte string cannot match this, and does not look.
  const narrow = text.search(wide) < 0 ? text : text.replace(wide, '\xff');
  if (text.length > scratch.length) return Buffer.from(narrow, 'latin1');
  scratch.write(narrow, 'latin1');
  return scratch;
}

/** The value of a token `KEY=value`: canonical text of an address. */
export function readAddress(
  complaint: ParseProblem,
  bytes: Uint8Array,
  text: string,
  at: number,
  skip: number,
  end: number,
): string {
  const value = text.slice(at + skip, end);
  // IPv4 as the kernel prints it is canonical as it stands.
  const canonical = isDottedDecimal(bytes, at + skip, end) ? value : canonicalAddress(value);
  if (canonical !== '') return canonical;
  complaint.text ??= `${shorten(text.slice(at, end))} is not an address`;
  return invalid;
}

/** The value of a token `KEY=value` that must be a number; -1 and a complaint if it is none. */
export function readDecimal(
  complaint: ParseProblem,
  bytes: Uint8Array,
  text: string,
  at: number,
  skip: number,
  end: number,
  max: number,
): number {
  const value = readNumber(bytes, at + skip, end, max);
  if (value === -1) complaint.text ??= `${shorten(text.slice(at, end))} is not a number up to ${max}`;
  return value;
}

/** Decimal digits only; -1 for anything else, or past `max`. */
export function readNumber(bytes: Uint8Array, at: number, end: number, max: number): number {
  if (at >= end || end - at > 10) return -1;
  let value = 0;
  for (let i = at; i < end; i++) {
    const digit = (bytes[i] as number) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= max ? value : -1;
}

export function readProtocol(complaint: ParseProblem, name: string): string {
  const known = protocolName(name);
  if (known === undefined) complaint.text ??= `PROTO=${shorten(name)} is not a protocol`;
  return known ?? invalid;
}

/** The kernel prints `0x1a`, ulogd `1a`; 32 bits; -1 for anything else. */
export function readHexadecimal(text: string): number {
  return /^(?:0x)?[0-9a-fA-F]{1,8}$/.test(text) ? parseInt(text, 16) : -1;
}

/** The first six octets of `MAC=`, which are the destination's; '' when they are none. */
export function readMac(bytes: Uint8Array, text: string, at: number, end: number): string {
  if (end - at < 17 || (end - at > 17 && bytes[at + 17] !== colon)) return '';
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
