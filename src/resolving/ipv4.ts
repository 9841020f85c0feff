import type { AddressRange } from '../model/endpoint.ts';

const dot = 46;

/** A dotted decimal address as an unsigned 32-bit number; undefined for IPv6. `address` is canonical. */
export function ipv4Number(address: string): number | undefined {
  let value = 0;
  let part = 0;
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    if (code === dot) {
      value = value * 256 + part;
      part = 0;
    } else if (code >= 48 && code <= 57) part = part * 10 + code - 48;
    else return undefined;
  }
  return value * 256 + part;
}

/** The network of a CIDR with `length` bits that an address lies in. */
export function ipv4Network(value: number, length: number): number {
  return length === 0 ? 0 : Math.floor(value / 2 ** (32 - length));
}

/** IANA's special-purpose registry, by hand: a flood asks for every packet, and ipaddr.js takes 4 µs. A test compares them. */
export function ipv4Range(value: number): AddressRange {
  const first = value >>> 24;
  const second = (value >>> 16) & 0xff;
  if (first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168))
    return 'private';
  if (first === 100 && second >= 64 && second < 128) return 'private';
  if (first === 127) return 'loopback';
  if (first === 169 && second === 254) return 'link-local';
  if (first === 0) return 'unspecified';
  if (first >= 224 && first < 240) return 'multicast';
  return value === 0xffffffff ? 'broadcast' : 'public';
}
