/** Compiles address ranges, and checks which addresses they contain. */
import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../../platform/address.ts';
import { type Json, shown } from '../../platform/json.ts';

/** An IPv4 address as a number, or the eight 16-bit parts of an IPv6 address. */
export type Address = number | readonly number[];

export interface Range {
  readonly first: Address;
  readonly mask: number;
}

export function parseAddress(text: string): Address | undefined {
  const canonical = canonicalAddress(text);
  if (canonical === '') return undefined;
  return canonical.includes(':') ? ipaddr.IPv6.parse(canonical).parts : toNumber(canonical);
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

function toNumber(dotted: string): number {
  let value = 0;
  for (const part of dotted.split('.')) value = (value << 8) | Number(part);
  return value >>> 0;
}
