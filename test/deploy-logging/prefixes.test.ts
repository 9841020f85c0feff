import { expect, test } from 'vitest';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { readShipped } from './files.ts';

const table = createPrefixTable();

test.each(['iptables-logdrop.sh', 'nftables-logdrop.sh'])('%s: its own prefixes count as drops', (name) => {
  const [, prefix = ''] = /\bprefix=(\S+)/.exec(readShipped(name)) ?? [];
  expect(prefix).not.toBe('');
  for (const printed of [`${prefix}: `, `${prefix}-invalid: `]) {
    expect(printed.length).toBeLessThanOrEqual(29);
    expect(table.look(printed).verdict).toBe('dropped');
  }
});

test.each(['drop', 'deny', 'denied', 'block', 'DROP', 'DENY', 'DENIED', 'BLOCK'])(
  'a prefix with %s, which the scripts accept, counts as a drop',
  (word) => {
    for (const name of ['iptables-logdrop.sh', 'nftables-logdrop.sh']) expect(readShipped(name)).toContain(`*${word}*`);
    expect(table.look(`my-${word}-1: `).verdict).toBe('dropped');
  },
);

test('the rules for UFW log with their own prefix, and drop the packets that they log', () => {
  const rules = readShipped('ufw-after.rules')
    .split('\n')
    .filter((line) => line.startsWith('-A '));
  expect(rules).toHaveLength(2);
  const [, prefix = ''] = /--log-prefix "([^"]*)"/.exec(rules[0] ?? '') ?? [];
  expect(table.look(prefix)).toMatchObject({ verdict: 'dropped', rule: 'ufw' });
  expect(rules[1]).toBe('-A ufw-after-forward -j DROP');
});
