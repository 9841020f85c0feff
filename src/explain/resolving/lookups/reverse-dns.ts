import { Resolver } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import type { Millis } from '../../../base/model/log-line.ts';

/** Limits a request, so that no finding waits for a dead DNS server. Node.js checks at multiples of this time, so it may take twice as long. */
const defaultTimeout: Millis = 900;

/** RFC 1123, and underscores. No number comes last, as the owner of the address chooses the name, and could imitate an address. */
const hostName =
  /^(?=.{1,253}$)(?!.*(?:^|\.)\d+$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;

/** Most addresses have one name. */
const nameLimit = 3;

/**
 * The owner of an address writes its PTR record, so a name counts only if it leads back to the address. The function rejects if no server
 * answers. Each server is asked once for the record and once for each of up to three names, and each request takes at most twice `timeout`.
 * `servers`: as for `dns.setServers`, by default the system's.
 */
export function createReverseDns(
  servers?: readonly string[],
  timeout = defaultTimeout,
): (address: string) => Promise<string | undefined> {
  const resolver = new Resolver({ timeout, tries: 1 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (given) => {
    const address = ipaddr.process(given);
    // `reverse` is not used, because it reports every failure as a missing name.
    const names = await orNone(resolver.resolvePtr(nameInArpa(address)));
    const tried = names.filter((name) => hostName.test(name)).slice(0, nameLimit);
    const found = await Promise.allSettled(tried.map((name) => addressesOf(name, address.kind())));
    const confirmed = found.findIndex((each) => each.status === 'fulfilled' && each.value.includes(address.toString()));
    const failure = found.find((each) => each.status === 'rejected');
    if (confirmed < 0 && failure !== undefined) throw failure.reason;
    return tried[confirmed];
  };

  async function addressesOf(name: string, kind: 'ipv4' | 'ipv6'): Promise<string[]> {
    const addresses = await orNone(kind === 'ipv4' ? resolver.resolve4(name) : resolver.resolve6(name));
    return addresses.map((each) => ipaddr.parse(each).toString());
  }
}

/** Returns an empty list for "no such name", because that is an answer and not a failure. */
async function orNone(answer: Promise<string[]>): Promise<string[]> {
  try {
    return await answer;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
    throw error;
  }
}

/** `10.1.2.3` → `3.2.1.10.in-addr.arpa` (RFC 1035, 3.5), and for IPv6 the hexadecimal digits under `ip6.arpa` (RFC 3596, 2.5). */
function nameInArpa(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const bytes = address.toByteArray().toReversed();
  if (bytes.length === 4) return `${bytes.join('.')}.in-addr.arpa`;
  return `${bytes.map((byte) => `${(byte & 15).toString(16)}.${(byte >> 4).toString(16)}`).join('.')}.ip6.arpa`;
}
