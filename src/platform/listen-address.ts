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
