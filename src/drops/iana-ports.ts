import { readFileSync } from 'node:fs';

/** A line for each port and transport, `5432/tcp postgresql`. `scripts/build.mjs` writes the text into the bundle, in place of this call. */
const registry = readFileSync(new URL('../../data/iana-ports.txt', import.meta.url), 'latin1');

/** Where the registry's data holds an alias for the name that people know, or a name that misleads in a cluster. */
const better: Record<string, string | undefined> = { '80/tcp': 'http', '80/udp': 'http', '6443/tcp': '' };

/** IANA's name for a port, `5432/TCP` → `postgresql`; undefined where it has none. */
export function portName(port: number, protocol: string): string | undefined {
  const transport = protocol === 'UDPLITE' ? 'udp' : protocol.toLowerCase();
  const key = `${port}/${transport}`;
  return (better[key] ?? registered(key)) || undefined;
}

/** A search through 230 KB, but only once for each Event that is written. The registry as objects costs 17 MB. */
function registered(key: string): string | undefined {
  const at = registry.indexOf(`\n${key} `);
  if (at < 0) return undefined;
  const from = at + key.length + 2;
  return registry.slice(from, registry.indexOf('\n', from));
}
