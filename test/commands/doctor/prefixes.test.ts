import { describe, expect, test } from 'vitest';
import { checkPrefixes } from '../../../src/commands/doctor/checks/prefixes.ts';
import type { KernelLog } from '../../../src/commands/doctor/kernel-log.ts';
import type { LogRule } from '../../../src/commands/doctor/rules/log-rule.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';

const prefixes = createPrefixTable([{ prefix: 'mine', verdict: 'dropped' }]);
const seconds = 1000;

function rule(prefix: string, given: Partial<LogRule> = {}): LogRule {
  return { target: 'LOG', prefix, group: undefined, packets: 0, ...given };
}

/** Lines with these prefixes, one a second, the last one a minute ago. */
function log(...lines: string[]): KernelLog {
  const packets = lines.map((prefix, index) => ({
    prefix,
    verdict: 'logged' as const,
    rule: '',
    time: nine - 60 * seconds - (lines.length - 1 - index) * seconds,
  }));
  return { lines: 100, from: nine - 1e6, last: nine, packets };
}

function check(rules: readonly LogRule[], lines: KernelLog | undefined): string[] {
  return checkPrefixes({ rules, log: lines, prefixes, now: () => nine }).map(
    ({ name, status, finding }) => `${status} ${name} | ${finding}`,
  );
}

describe('of rules and lines', () => {
  test.each<[string, LogRule[], KernelLog | undefined, string]>([
    [
      'drop, seen',
      [rule('my-drop: ')],
      log('my-drop:', 'my-drop:'),
      'ok prefix my-drop: | means dropped, 2 lines lately, the last one 60s ago',
    ],
    [
      'drop, not seen',
      [rule('calico-drop: ')],
      log(),
      'ok prefix calico-drop: | means dropped (calico drop), no such line lately',
    ],
    ['drop, nothing to read', [rule('my-drop: ')], undefined, 'ok prefix my-drop: | means dropped'],
    [
      'seen, no rule to be seen',
      [],
      log('[UFW BLOCK]'),
      'ok prefix [UFW BLOCK] | means dropped (ufw), 1 line lately, the last one 60s ago',
    ],
    ['set by hand', [rule('mine ')], undefined, 'ok prefix mine | means dropped (configured "mine")'],
    ['accepted', [rule('allow ')], undefined, 'ok prefix allow | means accepted: makes no Events'],
    [
      'on purpose',
      [rule('AUDIT x')],
      undefined,
      'ok prefix AUDIT x | does not tell what becomes of the packet: makes no Events',
    ],
    [
      'without a word for it',
      [rule('calico-packet: ')],
      log('calico-packet:'),
      'warning prefix calico-packet: | does not tell what becomes of the packet: makes no Events, 1 line lately, the last one 60s ago',
    ],
    [
      'NFLOG',
      [rule('DROP by policy', { target: 'NFLOG', group: 100 })],
      log(),
      "warning prefix DROP by policy | goes to NFLOG group 100, not to the kernel's log",
    ],
    [
      'NFLOG that ulogd writes',
      [rule('drop', { target: 'NFLOG', group: 1 })],
      log('drop'),
      'ok prefix drop | means dropped, 1 line lately, the last one 60s ago',
    ],
    [
      'packets, but no line',
      [rule('my-drop: ', { packets: 3 })],
      log(),
      'warning prefix my-drop: | means dropped, no such line lately, though its rule has met 3 packets',
    ],
    ['control characters', [rule('drop\u001b[31m')], undefined, 'ok prefix drop\\x1b[31m | means dropped'],
  ])('%s', (_, rules, lines, expected) => {
    expect(check(rules, lines)).toEqual([expected]);
  });

  test('none', () => {
    expect(check([], log())).toEqual([]);
  });

  test('of hundreds, those that need doing come first', () => {
    const many = Array.from({ length: 40 }, (_, index) => rule(`drop-${index}`));
    const shown = check([...many, rule('what')], undefined);
    expect(shown).toHaveLength(13);
    expect(shown[0]).toMatch(/^warning prefix what/);
    expect(shown.at(-1)).toBe('ok prefix … | 29 more prefixes');
  });
});

test.each([
  ['what: ', 'if the rule stands before one that drops: PREFIXES=what=dropped, or a prefix with the word drop in it'],
  ["a';reboot", 'if the rule stands before one that drops: a prefix with the word drop in it'],
  ['', 'give the rule a --log-prefix with the word drop in it, if it stands before one that drops'],
])('what to do with "%s" can be copied to a shell', (prefix, advice) => {
  const [found] = checkPrefixes({ rules: [rule(prefix)], log: undefined, prefixes, now: () => nine });
  expect(found?.advice).toBe(advice);
});
