import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Enough for the addresses that a node sees in an hour. A scan with random sources only slows itself down. */
const cache = new LRUCache<string, string>({ max: 8192 });

/** Returns the form of RFC 5952; '' unless the text is four decimal parts without leading zeros, or IPv6 without a zone. */
export function canonicalAddress(text: string): string {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const canonical = parse(text);
  // The number of entries bounds the memory only if each entry is small.
  if (text.length <= 45) cache.set(copy(text), canonical);
  return canonical;
}

function parse(text: string): string {
  if (text.length > 45) return '';
  const bytes = Buffer.from(text, 'latin1');
  if (isDottedDecimal(bytes, 0, bytes.length)) return copy(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return '';
  const address = ipaddr.IPv6.parse(text);
  // RFC 5952, section 5: write an embedded IPv4 address in dotted form.
  return address.isIPv4MappedAddress() ? `::ffff:${address.toIPv4Address().toString()}` : address.toString();
}

/** Four decimal parts up to 255 without leading zeros. Written by hand, because it runs twice for every packet. */
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

/** Copies a text that is kept longer than its line, because a slice would keep the whole line in memory. */
export function copy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** Returns whether the end is a name, as loggers without addresses give it: `shop/web-*`, `public network`. */
export function isName(end: string): boolean {
  return end.includes('/') || end.includes(' ');
}

export function isIPv6(canonical: string): boolean {
  return canonical.includes(':');
}

/** Returns the network of an address, `203.0.113.0/24`, or '' if the text is not an address. */
export function networkOf(address: string, bits: { ipv4: number; ipv6: number }): string {
  const canonical = canonicalAddress(address);
  if (canonical === '') return '';
  return isIPv6(canonical)
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${canonical}/${bits.ipv6}`).toString()}/${bits.ipv6}`
    : `${ipaddr.IPv4.networkAddressFromCIDR(`${canonical}/${bits.ipv4}`).toString()}/${bits.ipv4}`;
}

/** An address to listen on. Without a host, it means all addresses of this machine. */
export interface ListenAddress {
  host: string | undefined;
  port: number;
}

export const listenForm = /^(?:\[([\da-fA-F:.]+(?:%\w+)?)\]|([^\s:[\]/]*)):(\d{1,5})$/;

/** Reads `HOST:PORT`, `:PORT` or `[IPv6]:PORT`; undefined for anything else. Port 0 means any free port. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, ipv6, host, digits] = listenForm.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  return { host: ipv6 ?? (host === '' ? undefined : host), port };
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
