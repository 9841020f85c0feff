import { Resolver } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import type { Millis } from '../model.ts';

/**
 * A finding does not wait for a DNS that is itself what fails. Node.js looks only at each multiple of this whether it has
 * passed, and may miss the first by a hair.
 */
const patience: Millis = 900;

/**
 * As a host name may be spelled (RFC 1123, underscores allowed; no name ends in a number, or it could pass for an address):
 * whoever owns the address writes this text.
 */
const hostName =
  /^(?=.{1,253}$)(?!.*(?:^|\.)\d+$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;

/**
 * The host name of an address by its PTR record; undefined if it has none. Rejects when no server answers. `servers` as
 * `dns.setServers` takes them; by default those of the system. Each is asked once, for `timeout` to twice that.
 */
export function createReverseDns(
  servers?: readonly string[],
  timeout = patience,
): (address: string) => Promise<string | undefined> {
  const resolver = new Resolver({ timeout, tries: 1 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (address) => {
    try {
      // Not `reverse`, which says of every failure that there is no such name.
      const names = await resolver.resolvePtr(nameInArpa(address));
      return names.find((name) => hostName.test(name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTFOUND' || code === 'ENODATA') return undefined;
      throw error;
    }
  };
}

/** `10.1.2.3` → `3.2.1.10.in-addr.arpa` (RFC 1035, 3.5); IPv6 by hexadecimal digits under `ip6.arpa` (RFC 3596, 2.5). */
function nameInArpa(address: string): string {
  const bytes = ipaddr.process(address).toByteArray().toReversed();
  if (bytes.length === 4) return `${bytes.join('.')}.in-addr.arpa`;
  return `${bytes.map((byte) => `${(byte & 15).toString(16)}.${(byte >> 4).toString(16)}`).join('.')}.ip6.arpa`;
}
