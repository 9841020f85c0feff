/** Compiles address ranges, and checks which addresses they contain. */
import ipaddr from 'ipaddr.js';
import { type Json, shown } from '../../../base/platform/json.ts';

/** An IPv4 address as a number, or the eight 16-bit parts of an IPv6 address. */
export type Address = number | readonly number[];

export interface Range {
  readonly first: Address;
  readonly mask: number;
}

const longestAddress = 45;

/** Remembers nothing, because policies may have a hundred thousand ranges, which would displace the addresses of packets. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(':')) return parseIPv4(text, text.length);
  if (text.length > longestAddress || text.includes('%')) return undefined;
  try {
    return ipaddr.IPv6.parse(text).parts;
  } catch {
    return undefined;
  }
}

/** Reads `text` up to `end`: four decimal parts up to 255 without leading zeros. */
export function parseIPv4(text: string, end: number): number | undefined {
  let address = 0;
  let parts = 0;
  let digits = 0;
  let part = 0;
  for (let index = 0; index <= end; index++) {
    const code = index < end ? text.charCodeAt(index) : dot;
    if (code === dot) {
      if (digits === 0 || part > 255) return undefined;
      address = address * 256 + part;
      parts++;
      digits = part = 0;
    } else {
      if (code < zero || code > zero + 9 || digits === 3 || (digits > 0 && part === 0)) return undefined;
      part = part * 10 + code - zero;
      digits++;
    }
  }
  return parts === 4 ? address : undefined;
}

const dot = 46;
const zero = 48;

export function textOfIPv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

/** Returns undefined for an invalid range. Leading zeros are invalid, because enforcers read them differently. */
export function parseRange(text: string): Range | undefined {
  const slash = text.lastIndexOf('/');
  const bits = text.slice(slash + 1);
  const first = slash < 0 ? undefined : parseAddress(text.slice(0, slash));
  if (first === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  const mask = Number(bits);
  return mask <= (typeof first === 'number' ? 32 : 128) ? { first, mask } : undefined;
}

export interface Network {
  readonly range: Range;
  readonly text: string;
}

/** Returns the networks, or the text of the first value that is invalid. */
export function readNetworks(
  values: readonly Json[],
  parse: (text: string) => Range | undefined = parseRange,
): Network[] | string {
  const networks = values.map((value) => ({
    range: typeof value === 'string' ? parse(value) : undefined,
    text: shown(value),
  }));
  const wrong = networks.find(({ range }) => range === undefined);
  return wrong === undefined ? (networks as Network[]) : wrong.text;
}

export function contains({ first, mask }: Range, address: Address): boolean {
  if (typeof first === 'number')
    return typeof address === 'number' && (mask === 0 || (first ^ address) >>> (32 - mask) === 0);
  if (typeof address === 'number') return false;
  let left = mask;
  for (let part = 0; left > 0; part++, left -= 16) {
    const difference = (first[part] as number) ^ (address[part] as number);
    if ((left >= 16 ? difference : difference >>> (16 - left)) !== 0) return false;
  }
  return true;
}
