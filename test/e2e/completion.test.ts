import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../src/cli/options/program.ts';
import { createProgram } from '../../src/cli/options/program.ts';
import { createOwnFolder } from './own-folder.ts';

/** Completion in real shells; bash has its own in test/cli/help.test.ts, as it is on every machine. */

let folder: string;

beforeAll(() => {
  folder = createOwnFolder('completion');
  for (const shell of ['zsh', 'fish'] as const)
    writeFileSync(join(folder, shell), completionScript(shell, createProgram().commands));
  writeFileSync(join(folder, 'ask.zsh'), askZsh);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Prints what the script would offer for the words it is started with. */
const askZsh = `autoload -Uz compinit; compinit -u -D
source ./zsh
emulate sh; setopt ksharrays
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_kube_netfilter_tailer
printf '%s\\n' "\${COMPREPLY[@]}"
`;

test.each([
  ['by a script', 'source ./zsh', '_bash_complete -o filenames -F _kube_netfilter_tailer'],
  ['in a folder of $fpath', 'cp zsh _kube-netfilter-tailer; fpath=($PWD $fpath)', '_kube-netfilter-tailer'],
])('the completion of zsh is registered %s', (_, how, expected) => {
  const load = 'autoload -Uz compinit; compinit -u -D';
  const script = `${load}; ${how}; ${load}; print -r -- $_comps[kube-netfilter-tailer]`;
  const env = { ...process.env, HOME: folder };
  expect(execFileSync('zsh', ['-f', '-c', script], { cwd: folder, env, encoding: 'utf8' }).trim()).toBe(expected);
});

function offered(shell: 'zsh' | 'fish', words: readonly string[]): string[] {
  const typed = ['kube-netfilter-tailer', ...words];
  const args =
    shell === 'zsh'
      ? ['-f', 'ask.zsh', ...typed]
      : ['--no-config', '-c', `source fish; complete -C '${typed.join(' ')}'`];
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const out = execFileSync(shell, args, { cwd: folder, env, encoding: 'utf8' });
  // fish puts the text of an option behind it, and zsh itself leaves out what begins otherwise.
  return out.split('\n').flatMap((line) => (line.startsWith(words.at(-1) ?? '') ? line.split('\t', 1)[0] || [] : []));
}

describe.each(['zsh', 'fish'] as const)('%s completes', (shell) => {
  test.each<[string, string[], string[]]>([
    ['a command', ['re'], ['replay', 'report']],
    ['an option', ['replay', '--ou'], ['--output']],
    ['the value of an option', ['replay', '-o', 'm'], ['mermaid']],
    ['a value, by the long name', ['run', '--pod-cache', 'c'], ['cluster']],
  ])('%s', (_, words, expected) => {
    expect(offered(shell, words)).toEqual(expected);
  });
});

test('zsh completes files where an option has a file', () => {
  expect(offered('zsh', ['replay', '--pods', 'ask'])).toEqual(['ask.zsh']);
});
