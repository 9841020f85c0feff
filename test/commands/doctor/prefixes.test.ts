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

function check(rules: readonly LogRule[], lines: KernelLog | undefined, areAll = false): string[] {
  return checkPrefixes({ rules, areAll, log: lines, prefixes, now: () => nine }).map(
    ({ name, status }) => `${status} ${name}`,
  );
}

describe('of rules and lines', () => {
  test.each<[string, LogRule[], KernelLog | undefined, string]>([
    ['drop, seen', [rule('my-drop: ')], log('my-drop:', 'my-drop:'), 'ok prefix my-drop:'],
    ['drop, not seen', [rule('calico-drop: ')], log(), 'ok prefix calico-drop:'],
    ['drop, nothing to read', [rule('my-drop: ')], undefined, 'ok prefix my-drop:'],
    ['seen, no rule to be seen', [], log('[UFW BLOCK]'), 'ok prefix [UFW BLOCK]'],
    ['set by hand', [rule('mine ')], undefined, 'ok prefix mine'],
    ['accepted', [rule('allow ')], undefined, 'ok prefix allow'],
    ['on purpose', [rule('AUDIT x')], undefined, 'ok prefix AUDIT x'],
    ['without a word for it', [rule('calico-packet: ')], log('calico-packet:'), 'warning prefix calico-packet:'],
    ['NFLOG', [rule('DROP by policy', { target: 'NFLOG', group: 100 })], log(), 'warning prefix DROP by policy'],
    ['NFLOG that ulogd writes', [rule('drop', { target: 'NFLOG', group: 1 })], log('drop'), 'ok prefix drop'],
    ['packets, but no line', [rule('my-drop: ', { packets: 3 })], log(), 'warning prefix my-drop:'],
    ['control characters', [rule('drop\u001b[31m')], undefined, 'ok prefix drop\\x1b[31m'],
  ])('%s', (_, rules, lines, expected) => {
    expect(check(rules, lines)).toEqual([expected]);
  });

  test('none', () => {
    expect(check([], log())).toEqual([]);
  });

  test('a rule that is gone needs no other prefix', () => {
    expect(check([], log('what:'), true)).toEqual(['ok prefix what:']);
    expect(check([], log('what:'), false)).toEqual(['warning prefix what:']);
  });

  test('of hundreds, those that need doing come first', () => {
    const many = Array.from({ length: 40 }, (_, index) => rule(`drop-${index}`));
    const shown = check([...many, rule('what')], undefined);
    expect(shown).toHaveLength(13);
    expect(shown[0]).toMatch(/^warning prefix what/);
    expect(shown.at(-1)).toBe('ok prefix …');
  });
});

test.each<[string, LogRule[], KernelLog | undefined, string[]]>([
  ['of a rule', [rule('what: ')], log('what:'), ['PREFIXES=what=dropped']],
  ['with characters of a shell', [rule("a';reboot")], undefined, []],
  ['that is none', [rule('')], undefined, []],
  ['of lines alone, in which anybody may have written it', [], log('what:'), []],
  ['of lines alone, which is the one of Calico', [], log('calico-packet:'), ['PREFIXES=calico-packet=dropped']],
])('the advice names a setting only where it is safe: a prefix %s', (_, rules, lines, settings) => {
  const [found] = checkPrefixes({ rules, areAll: false, log: lines, prefixes, now: () => nine });
  expect(found?.advice?.match(/PREFIXES=[^ ,]+/g) ?? []).toEqual(settings);
});
