import { expect, test } from 'vitest';
import type { KernelLog } from '../../../src/cli/doctor/kernel-log.ts';
import type { Check } from '../../../src/cli/doctor/report.ts';
import type { LogRule } from '../../../src/cli/doctor/rules.ts';
import { found, logOf, logRule, packet, rulesOf, sourceWith } from './scene.ts';

/** sentences.expected.txt holds the messages. */
const check = (logs: readonly LogRule[], log: KernelLog | undefined): Check[] =>
  found('prefixes', { rules: rulesOf({ logs, unseen: ['nft'] }), kernelSources: sourceWith(log) });

const seen = (...prefixes: string[]): KernelLog => logOf({ packets: prefixes.map((each) => packet(each, 60_000)) });

const kubeRouter = logRule('', { target: 'NFLOG', group: 100 });

test.each<[string, LogRule[], KernelLog | undefined, string[]]>([
  ['none', [], logOf(), []],
  ['NFLOG that ulogd writes', [logRule('drop', { target: 'NFLOG', group: 1 })], seen('drop'), ['ok prefix drop']],
  [
    'kube-router, of whose packets ulogd says that they are blocked',
    [kubeRouter],
    logOf({ packets: [packet('', 9, 'dropped')] }),
    ['ok prefix (none)'],
  ],
  ['kube-router, of whose packets ulogd says nothing', [kubeRouter], seen(''), ['warning prefix (none)']],
  [
    'k3s, which logs a packet twice',
    [kubeRouter],
    seen('DROP by policy shop/db', ''),
    ['ok prefix (none)', 'ok prefix DROP by policy shop/db'],
  ],
  [
    'k3s, and a LOG rule without a prefix',
    [logRule('')],
    seen('DROP by policy shop/db', ''),
    ['warning prefix (none)', 'ok prefix DROP by policy shop/db'],
  ],
  [
    'two of one NFLOG group, of which one has lines',
    [kubeRouter, logRule('my-drop', { target: 'NFLOG', group: 100 })],
    seen('my-drop'),
    ['warning prefix (none)', 'ok prefix my-drop'],
  ],
  ['control characters', [logRule('drop\u001b[31m')], undefined, ['ok prefix drop\\x1b[31m']],
])('of rules and lines: %s', (_, rules, log, expected) => {
  expect(check(rules, log).map(({ name, status }) => `${status} ${name}`)).toEqual(expected);
});

test("rules that a Pod sees in its own network are not the node's", () => {
  expect(found('prefixes', { rules: rulesOf({ logs: [logRule('drop')] }), view: 'pod' })).toEqual([]);
});

test('of hundreds of prefixes, those that need a change come first', () => {
  const many = Array.from({ length: 40 }, (_, index) => logRule(`drop-${index}`));
  const shown = check([...many, logRule('what')], undefined);
  expect(shown).toHaveLength(13);
  expect(shown[0]).toMatchObject({ status: 'warning', name: 'prefix what' });
  expect(shown.at(-1)?.name).toBe('prefix …');
});

test.each<[string, LogRule[], KernelLog | undefined, string[]]>([
  ['of a rule', [logRule('what: ')], seen('what:'), ['PREFIXES=what=dropped']],
  ['with characters of a shell', [logRule("a';reboot")], undefined, []],
  ['that is none', [logRule('')], undefined, []],
  ['of lines alone, in which anybody may have written it', [], seen('what:'), []],
  ['of lines alone, which is the one of Calico', [], seen('calico-packet:'), ['PREFIXES=calico-packet=dropped']],
])('the advice names a setting only if it is safe: a prefix %s', (_, rules, log, settings) => {
  const [first] = check(rules, log);
  expect(first?.advice?.match(/PREFIXES=[^ ,]+/g) ?? []).toEqual(settings);
});
