import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../../platform/address.ts';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Undefined for anything but a CIDR. */
export function parseNetwork(cidr: unknown): Network | undefined {
  return typeof cidr === 'string' && cidr.length < 50 && ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined;
}

export function contains(network: Network, address: string): boolean {
  const ip = ipaddr.parse(address);
  return ip.kind() === network[0].kind() && (ip as ipaddr.IPv4).match(network);
}

/** The block of `2^(width - length)` addresses that an address lies in, and which of them it is. `address` is canonical. */
export function blockOf(address: string, length: number): { cidr: string; ordinal: number } {
  const bytes = ipaddr.parse(address).toByteArray();
  let ordinal = 0;
  for (let bit = length; bit < bytes.length * 8; bit++) {
    const byte = bit >> 3;
    const mask = 0x80 >> (bit & 7);
    ordinal = ordinal * 2 + ((bytes[byte] ?? 0) & mask ? 1 : 0);
    bytes[byte] = (bytes[byte] ?? 0) & ~mask;
  }
  return { cidr: `${canonicalAddress(ipaddr.fromByteArray(bytes).toString())}/${length}`, ordinal };
}
