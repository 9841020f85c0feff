/** IP addresses in their canonical text. */
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Enough for the addresses of a node in an hour; a scan with random sources costs only its own misses. */
const cache = new LRUCache<string, string>({ max: 8192 });

/** RFC 5952, or '' for no address. Strict: four decimal parts without leading zeros, or IPv6 without a zone. */
export function canonicalAddress(text: string): string {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const canonical = parse(text);
  // A fixed number of entries bounds memory only if each is small.
  if (text.length <= 45) cache.set(copy(text), canonical);
  return canonical;
}

function parse(text: string): string {
  if (text.length > 45) return '';
  const bytes = Buffer.from(text, 'latin1');
  if (isDottedDecimal(bytes, 0, bytes.length)) return copy(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return '';
  const address = ipaddr.IPv6.parse(text);
  // RFC 5952, section 5: an IPv4 address inside is written as one.
  return address.isIPv4MappedAddress() ? `::ffff:${address.toIPv4Address().toString()}` : address.toString();
}

/** Four decimal parts up to 255 without leading zeros. By hand, because it is asked twice for every packet. */
export function isDottedDecimal(bytes: Uint8Array, at: number, end: number): boolean {
  if (end - at > 15) return false;
  let parts = 0;
  let digits = 0;
  let value = 0;
  for (let i = at; i <= end; i++) {
    const code = i < end ? (bytes[i] as number) : dot;
    if (code === dot) {
      if (digits === 0 || value > 255) return false;
      parts++;
      digits = value = 0;
    } else {
      if (code < 48 || code > 57 || (digits > 0 && value === 0) || digits === 3) return false;
      value = value * 10 + code - 48;
      digits++;
    }
  }
  return parts === 4;
}

const dot = 46;

/** A slice keeps the whole text in memory, so what is kept longer than a line is copied. */
export function copy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** A name that a logger without addresses gives an end: `shop/web-*`, `public network`. */
export function isName(end: string): boolean {
  return end.includes('/') || end.includes(' ');
}

export function isIPv6(canonical: string): boolean {
  return canonical.includes(':');
}

/** Returns the network of an address, `203.0.113.0/24`; '' if the text is not an address. */
export function networkOf(address: string, bits: { ipv4: number; ipv6: number }): string {
  const canonical = canonicalAddress(address);
  if (canonical === '') return '';
  return isIPv6(canonical)
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${canonical}/${bits.ipv6}`).toString()}/${bits.ipv6}`
    : `${ipaddr.IPv4.networkAddressFromCIDR(`${canonical}/${bits.ipv4}`).toString()}/${bits.ipv4}`;
}

/** An address to listen on. Without a host: all addresses of this machine. */
export interface ListenAddress {
  host: string | undefined;
  port: number;
}

/** `HOST:PORT`, `:PORT` or `[IPv6]:PORT`; undefined for anything else. Port 0 is any that is free. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, ipv6, host, digits] = /^(?:\[([\da-fA-F:.]+(?:%\w+)?)\]|([^\s:[\]/]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  return { host: ipv6 ?? (host === '' ? undefined : host), port };
}

/** `10.244.1.30:5432`, `[fd00::1]:5432`, as `parseListenAddress` reads it. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
