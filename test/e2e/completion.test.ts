import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { completionScript, shells } from '../../src/cli/options/completion-scripts.ts';
import { bundle } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import { openTerminal } from './kubectl-plugin/terminal.ts';
import { createPluginShell, type PluginShell } from './kubectl-plugin/plugin-shell.ts';
import { createOwnFolder } from './own-folder.ts';

/** Completion in real shells, in a terminal: keys are typed, and the command that then runs prints its words. */

const controlPlane = connect(inject('controlPlane'));
const folder = createOwnFolder('completion');
const programs = join(folder, 'bin');
let plugin: PluginShell;
let env: Record<string, string>;

beforeAll(() => {
  plugin = createPluginShell(controlPlane, folder, 'kube-system');
  mkdirSync(programs);
  symlinkSync(bundle, join(programs, 'complete'));
  // It answers the shell's completion requests, and prints all other command lines.
  const program = '#!/bin/sh\nif [ "$1" = __complete ]; then exec complete "$@"; fi\necho "GOT: $*"\n';
  writeFileSync(join(programs, 'kube-netfilter-tailer'), program, { mode: 0o755 });
  for (const shell of shells) writeFileSync(join(folder, shell), completionScript(shell));
  writeFileSync(join(folder, 'cluster.json'), '{}');
  env = { ...plugin.env, PATH: [programs, plugin.env.PATH].join(delimiter), HOME: folder, PS1: '$ ', LANG: 'C.UTF-8' };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const starts: Readonly<Record<'bash' | 'zsh' | 'fish', { command: readonly string[]; load: string }>> = {
  bash: { command: ['bash', '--norc', '--noprofile', '-i'], load: '. ./bash' },
  zsh: { command: ['zsh', '-f', '-i'], load: 'autoload -Uz compinit; compinit -u -D; source ./zsh' },
  fish: { command: ['fish', '--no-config', '--interactive'], load: 'source fish' },
};

test.each<[keyof typeof starts, string, string]>(
  (['bash', 'zsh', 'fish'] as const).flatMap((shell) =>
    [
      ['drops to\t--so\tpa\t', 'drops top --sort packets'],
      ['completion z\t', 'completion zsh'],
      ['drops -n kube-sy\t', 'drops -n kube-system'],
      ['replay --pods clu\t', 'replay --pods cluster.json'],
    ].map(([typed = '', expected = '']): [keyof typeof starts, string, string] => [shell, typed, expected]),
  ),
)('%s completes %j', async (shell, typed, expected) => {
  const { command, load } = starts[shell];
  const terminal = openTerminal(['env', '-C', folder, ...command], env, { columns: 100, lines: 30 });
  onTestFinished(async () => {
    terminal.type('exit\r');
    await terminal.untilExit();
  });
  terminal.type(`${load}; echo REA""DY\r`);
  await terminal.until((lines) => lines.some((line) => line.includes('READY')));
  terminal.type(`kube-netfilter-tailer ${typed}\r`);
  const lines = await terminal.until((shown) => shown.some((line) => line.startsWith('GOT: ')));
  expect(lines.find((line) => line.startsWith('GOT: '))?.trimEnd()).toBe(`GOT: ${expected}`);
});

test.each([
  ['by a script', 'source ./zsh'],
  ['in a folder of $fpath', 'cp zsh _kube-netfilter-tailer; fpath=($PWD $fpath)'],
])('the completion of zsh is registered %s', (_, how) => {
  const load = 'autoload -Uz compinit; compinit -u -D';
  const script = `${load}; ${how}; ${load}; print -r -- $_comps[kube-netfilter-tailer]`;
  const out = execFileSync('zsh', ['-f', '-c', script], { cwd: folder, env, encoding: 'utf8' });
  expect(out.trim()).toBe('_kube-netfilter-tailer');
});

test.each<[string[], RegExp]>([
  [['t'], /^top\t.*\n:4\n/],
  [['-n', 'kube-sy'], /^kube-system\n:4\n/],
  [['top', '--sort', 'pa'], /^packets\n:4\n/],
  [['--from-pod', 'deploym'], /^deployment\/\n:6\n/],
])('kubectl itself completes drops %j', async (words, expected) => {
  const file = join(folder, 'plugins', 'kubectl_complete-drops');
  writeFileSync(file, completionScript('kubectl'));
  chmodSync(file, 0o755);
  expect((await plugin.kubectl(['__complete', 'drops', ...words])).stdout).toMatch(expected);
});
