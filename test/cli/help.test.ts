import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { completionScript, type Shell, createProgram, manualPage } from '../../src/cli/options/program.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { helpOf } from './parsed.ts';
import { program } from './program.ts';

const path = temporaryFolder();

const completion = (shell: Shell): string => completionScript(shell, createProgram().commands);
const manual = (): string => manualPage(createProgram());

const script = completion('bash');
test.each<[string, string[], string[]]>([
  ['of a command', ['re'], ['replay', 'report']],
  ['of an option', ['replay', '--ou'], ['--output']],
  ['of the value of an option', ['replay', '-o', 'm'], ['mermaid']],
  ['of a value, by the long name', ['run', '--pod-cache', ''], ['node', 'cluster']],
  ['of a setting whose placeholder is a word', ['run', '--log-level', 'd'], ['debug']],
  ['of an option behind another one', ['why', '--from', 'shop/web', '--t'], ['--to']],
  ['of nothing, where nothing begins so', ['doctor', '--zzz'], []],
])('completion in bash: %s', (_, words, expected) => {
  writeFileSync(path('completion.bash'), script);
  const typed = ['kube-netfilter-tailer', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `. ./completion.bash; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _kube_netfilter_tailer; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', ask], { cwd: path(), encoding: 'utf8' });
  expect(out.split('\n').filter((word) => word !== '')).toEqual(expected);
});

test('the value of an option without a list is completed with files', () => {
  writeFileSync(path('completion.bash'), script);
  writeFileSync(path('cluster.json'), '');
  const ask =
    '. ./completion.bash; COMP_WORDS=(kube-netfilter-tailer replay --pods clus); COMP_CWORD=3; _kube_netfilter_tailer; echo "$COMPREPLY"';
  expect(execFileSync('bash', ['-c', ask], { cwd: path(), encoding: 'utf8' })).toBe('cluster.json\n');
});

test('the completion of kubectl drops prints its words, and that no file belongs there', () => {
  const words = execFileSync('sh', { input: completion('kubectl'), encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(words).toEqual(expect.arrayContaining(['top', 'why', '--all-namespaces', '--since', '--watch']));
  expect(words.at(-1)).toBe(':4');
});

test('the manual page has a section for each command, and no line of help is taken for an instruction', () => {
  const page = manual();
  const sections = [...page.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(
    'NAME SYNOPSIS COMMANDS RUN DIRECTORY REPLAY REPORT DOCTOR WHY SUGGEST DROPS CONFIG COMPLETION'.split(' '),
  );
  const instructions = page.split('\n').filter((line) => /^[.']/.test(line) && !/^\.(?:TH|SH|B|I|nf|fi)\b/.test(line));
  expect(instructions).toEqual([]);
});

test('the manual page has no line that a terminal of 80 columns breaks, and every word of the help', () => {
  const laidOut = [
    ...manual()
      .replaceAll(String.raw`\-`, '-')
      .matchAll(/^\.nf\n([^]*?)\n\.fi$/gm),
  ];
  const lines = laidOut.flatMap(([, text = '']) => text.split('\n'));
  expect(lines.length).toBeGreaterThan(100);
  const long = lines.filter((line) => line.length > 71);
  expect(long.filter((line) => line.trim().includes(' '))).toEqual([]);
  expect(lines.join(' ').split(/\s+/)).toEqual(expect.arrayContaining(helpOf('run').trim().split(/\s+/)));
});

test('man and completion print to standard output', async () => {
  const [man, fish, wrong] = await Promise.all([
    program(['man']),
    program(['completion', 'fish']),
    program(['completion', 'tcsh']),
  ]);
  expect([man.status, man.out]).toEqual([0, manual()]);
  expect([fish.status, fish.out]).toEqual([0, completion('fish')]);
  expect([wrong.status, wrong.out]).toEqual([2, '']);
});

test.each([['replay'], ['config'], ['completion']])('the help of %s fits a terminal of 80 columns', async (command) => {
  const terminal = path('terminal.cjs');
  writeFileSync(terminal, 'process.stdout.columns = 80;');
  const { out, status } = await program([command, '--help'], { env: { NODE_OPTIONS: `--require=${terminal}` } });
  expect(status).toBe(0);
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test.each([
  [['replay'], /^Usage: kube-netfilter-tailer replay /],
  [['drops', 'top'], /^Usage: kube-netfilter-tailer drops top /],
  [[], /^Usage: kube-netfilter-tailer COMMAND/],
])('what a reader asks for first: help %j is the help of that command', async (command, shown) => {
  expect(await program(['help', ...command])).toMatchObject({ status: 0, err: '', out: expect.stringMatching(shown) });
});

test('help of an unknown command ends with exit status 2', async () => {
  expect(await program(['help', 'relpay'])).toMatchObject({ status: 2, out: '' });
});
