import { readFileSync } from 'node:fs';

/** A line for each well-known port (below 1024) and transport, `443/tcp https`. `scripts/build.mjs` writes the text into the bundle, in place of this call. */
const registry = readFileSync(new URL('../../data/iana-ports.txt', import.meta.url), 'latin1');

/** Names that people know, where the registry has an alias. */
const better: Record<string, string | undefined> = { '80/tcp': 'http', '80/udp': 'http' };

/** IANA's name for a well-known port, `443/TCP` → `https`; undefined if it has none, and for ports past 1023. */
export function ianaName(port: number, protocol: string): string | undefined {
  if (port > 1023) return undefined;
  const transport = protocol === 'UDPLITE' ? 'udp' : protocol.toLowerCase();
  const key = `${port}/${transport}`;
  return better[key] ?? registered(key);
}

function registered(key: string): string | undefined {
  const at = registry.indexOf(`\n${key} `);
  if (at < 0) return undefined;
  const from = at + key.length + 2;
  return registry.slice(from, registry.indexOf('\n', from));
}
