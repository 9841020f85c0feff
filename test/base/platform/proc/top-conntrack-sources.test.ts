import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTopSources } from '../../../../src/base/platform/proc.ts';
import { procTree } from './proc-tree.ts';
import { forAllAsync } from '../../../for-all.ts';

const tables: { sources: object } = {
  // The result of reading a table of connections.
  sources: {
    top: [
      { address: '10.244.0.7', connections: 5 },
      { address: 'fd00::1', connections: 3 },
      { address: '10.244.0.9', connections: 2 },
    ],
    counted: 11,
    complete: true,
  },
};

/** Linux 6.18 prints them so. */
const udp = (source: string, port: number): string =>
  `ipv4     2 udp      17 29 src=${source} dst=10.96.0.10 sport=${port} dport=53 [UNREPLIED] src=10.244.0.2 dst=${source} sport=53 dport=${port} mark=0 zone=0 use=2\n`;
const udp6 =
  'ipv6     10 udp      17 30 src=fd00:0000:0000:0000:0000:0000:0000:0001 dst=fd00:0000:0000:0000:0000:0000:0000:0002 sport=33047 dport=5000 [UNREPLIED] src=fd00:0000:0000:0000:0000:0000:0000:0002 dst=fd00:0000:0000:0000:0000:0000:0000:0001 sport=5000 dport=33047 mark=0 zone=0 use=2\n';
const tcp = (source: string): string =>
  `ipv4     2 tcp      6 86397 ESTABLISHED src=${source} dst=10.0.0.9 sport=49152 dport=443 src=10.0.0.9 dst=${source} sport=443 dport=49152 [ASSURED] mark=0 zone=0 use=2\n`;

const table = (text: string): string => procTree({ '1/net/nf_conntrack': text });

test('counts connections by their initiator, and returns at most three, most first', async () => {
  const text = [
    ...Array.from({ length: 5 }, (_, port) => udp('10.244.0.7', port)),
    tcp('10.244.0.8'),
    udp6.repeat(3),
    ...Array.from({ length: 2 }, () => tcp('10.244.0.9')),
  ].join('');
  expect(await readTopSources(table(text), '1')).toEqual(tables.sources);
});

test('an empty table has no sources', async () => {
  expect(await readTopSources(table(''), '1')).toEqual({ top: [], counted: 0, complete: true });
});

test('a /proc without such a file or process is unreadable', async () => {
  expect(await readTopSources(table(''), 'self')).toBeUndefined();
  expect(await readTopSources('/nowhere', '1')).toBeUndefined();
});

test('invalid lines of the table are skipped', async () => {
  const text = `\nipv4 2 udp\n src=10.0.0.1 \nipv4     2 udp      17 29 src=999.1.1.1 dst=1.1.1.1\nipv5     2 udp src=10.0.0.3 \n${tcp('10.0.0.2')}`;
  expect((await readTopSources(table(text), '1'))?.top).toEqual([{ address: '10.0.0.2', connections: 1 }]);
});

describe('the connection table is read up to a bound of', () => {
  const text = tcp('10.0.0.1').repeat(5000);

  test('the table is read up to a bound of lines', async () => {
    expect(await readTopSources(table(text), '1', { lines: 100 })).toEqual({
      top: [{ address: '10.0.0.1', connections: 100 }],
      counted: 100,
      complete: false,
    });
  });

  test('the table is read up to a bound of bytes', async () => {
    const found = await readTopSources(table(text), '1', { bytes: 100_000 });
    expect(found?.complete).toBe(false);
    // It stops at the first block past the bound.
    expect(found?.counted).toBe(Math.floor(131_072 / tcp('10.0.0.1').length));
  });

  test('the table is read up to a bound of time', async () => {
    let time = 0;
    const found = await readTopSources(table(text), '1', { time: 30, now: () => (time += 10) });
    expect(found?.complete).toBe(false);
    expect(found?.counted).toBe(Math.floor(131_072 / tcp('10.0.0.1').length));
  });

  test('a text without line breaks is not kept in memory', async () => {
    const found = await readTopSources(table(`${'x'.repeat(1 << 20)}\n${tcp('10.0.0.1')}`), '1');
    expect(found).toEqual({ top: [{ address: '10.0.0.1', connections: 1 }], counted: 1, complete: true });
  });
});

test('sums equal a naive count, whatever the order and the blocks', async () => {
  await forAllAsync(
    [fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 1200 })],
    { numRuns: 20 },
    async (sources) => {
      const found = await readTopSources(table(sources.map((part, port) => udp(`10.0.0.${part}`, port)).join('')), '1');
      const expected = Object.values(Object.groupBy(sources, String)).map((same = []) => same.length);
      expect(found?.top.map(({ connections }) => connections)).toEqual(expected.toSorted((a, b) => b - a).slice(0, 3));
      expect(found?.counted).toBe(sources.length);
    },
  );
});
