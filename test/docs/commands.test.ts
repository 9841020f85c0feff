import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandsOf } from './commands.ts';
import { asCommand } from './programs.ts';

const tables: { commands: [string, string | undefined][] } = {
  // Code in sentences of the documents, and the command that it is.
  commands: [
    ['kubectl get pods', 'kubectl get pods'],
    ['kubectl', undefined],
    ['kubectl would do', undefined],
    ['iptables -F', 'iptables -F'],
    ['iptables rules', undefined],
    ['ip nat', undefined],
    ['ip -br link', 'ip -br link'],
    ['nft: a word', undefined],
    ['node node-a', undefined],
    ['doctor --send-test-event', 'kube-netfilter-tailer doctor --send-test-event'],
    ['config print', 'kube-netfilter-tailer config print'],
    ['run the tests', undefined],
    ['.ci/run', '.ci/run'],
    ['.ci/run unit types', '.ci/run unit types'],
    ['scripts/arm64-proof.sh --e2e', 'scripts/arm64-proof.sh --e2e'],
    ['./iptables-logdrop.sh --remove', './iptables-logdrop.sh --remove'],
    ['iptables-save | wc -l', 'iptables-save | wc -l'],
    ['constructor', undefined],
    ['constructor x', undefined],
  ],
};

const fence = '```';
const of = (text: string): [number, string][] =>
  commandsOf('page.md', text).map(({ line, text: command }) => [line, command]);

test('every line of a block of sh is one command, except comments and empty lines', () => {
  expect(of(`Do:\n\n${fence}sh\n# first\nls /etc     # why\n\n  sysctl -a | grep x\n${fence}\n`)).toEqual([
    [5, 'ls /etc     # why'],
    [7, '  sysctl -a | grep x'],
  ]);
});

test('commands of a document: continued lines and here-documents are one command', () => {
  const block = ['cat <<END > a', 'one', '# two', 'END', String.raw`ls \ `.trim(), '  -l', 'pwd'];
  expect(of(`${fence}sh\n${block.join('\n')}\n${fence}`)).toEqual([
    [2, 'cat <<END > a\none\n# two\nEND'],
    [6, 'ls \\\n  -l'],
    [8, 'pwd'],
  ]);
});

test('commands of a document: code is found in a sentence, across two lines, in a cell, and with backticks in it', () => {
  expect(
    of('a `ip route` b\n`kubectl -n\nx get pods`\n\n| `nft list ruleset \\| grep a` |\n|---|\n\n`` kubectl get `x` ``'),
  ).toEqual([
    [1, 'ip route'],
    [2, 'kubectl -n x get pods'],
    [5, 'nft list ruleset | grep a'],
    [8, 'kubectl get `x`'],
  ]);
});

test('a block that is not closed is an error', () => {
  expect(() => of(`\n${fence}sh\nls`)).toThrow('before line 3 is not closed');
});

test.each<[string, string | undefined]>(tables.commands)('%s in a sentence', (code, command) => {
  expect(asCommand(code)).toBe(command);
});

test('the end-to-end tests that scripts/arm64-proof.sh names exist', () => {
  const folder = join(import.meta.dirname, '../..');
  const script = readFileSync(join(folder, 'scripts/arm64-proof.sh'), 'utf8');
  const named = [...script.matchAll(/ (\S+\.test\.ts)$/gm)].map(([, name = '']) => name);
  expect(named).toHaveLength(2);
  expect(named.filter((name) => !existsSync(join(folder, 'test/e2e', name)))).toEqual([]);
});
