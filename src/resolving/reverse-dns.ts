import { Resolver } from 'node:dns/promises';

/** One try, so that a finding does not wait for a DNS that is itself what fails. */
const options = { timeout: 1000, tries: 1 };

/** As a host name may be spelled (RFC 1123, underscores allowed): whoever owns the address writes this text. */
const hostName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;

/**
 * The host name of an address by its PTR record; undefined if it has none. Rejects when no server answers. `servers` as
 * `dns.setServers` takes them; by default those of the system.
 */
export function createReverseDns(servers?: readonly string[]): (address: string) => Promise<string | undefined> {
  const resolver = new Resolver(options);
  if (servers !== undefined) resolver.setServers(servers);
  return async (address) => {
    try {
      const names = await resolver.reverse(address);
      return names.find((name) => hostName.test(name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTFOUND' || code === 'ENODATA') return undefined;
      throw error;
    }
  };
}
