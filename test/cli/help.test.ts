import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { completionScript } from '../../src/cli/options/completion-scripts.ts';
import { createProgram, manualPage } from '../../src/cli/options/program.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { helpOf } from './parsed.ts';
import { program } from './program.ts';

const path = temporaryFolder();

const manual = (): string => manualPage(createProgram());

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Returns the words that bash would offer. */
function offeredByBash(...words: readonly string[]): string[] {
  writeFileSync(path('completion.bash'), completionScript('bash'));
  const typed = ['kube-netfilter-tailer', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `kube-netfilter-tailer() { '${process.execPath}' '${main}' "$@"; }
. ./completion.bash; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _kube_netfilter_tailer; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', ask], { cwd: path(), encoding: 'utf8' });
  return out.split('\n').filter((word) => word !== '');
}

test.each<[string, string[], string[]]>([
  ['of a command', ['re'], ['replay', 'report']],
  ['of the value of an option', ['replay', '-o', 'm'], ['mermaid']],
  ['of a value behind "="', ['replay', '--output', '=', 'm'], ['mermaid']],
  ['of nothing, where nothing begins so', ['doctor', '--zzz'], []],
])('completion in bash: %s', (_, words, expected) => {
  expect(offeredByBash(...words)).toEqual(expected);
});

test('bash completes the value of an option that is a file', () => {
  writeFileSync(path('cluster.json'), '');
  expect(offeredByBash('replay', '--pods', 'clus')).toEqual(['cluster.json']);
});

test('the manual page has a section for each command, and no line of help becomes an instruction', () => {
  const page = manual();
  const sections = [...page.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(
    'NAME SYNOPSIS COMMANDS RUN DIRECTORY REPLAY REPORT DOCTOR WHY SUGGEST DROPS CONFIG COMPLETION'.split(' '),
  );
  const instructions = page.split('\n').filter((line) => /^[.']/.test(line) && !/^\.(?:TH|SH|B|I|nf|fi)\b/.test(line));
  expect(instructions).toEqual([]);
});

test('the manual page has no line wider than 80 columns, and every word of the help', () => {
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
  expect([fish.status, fish.out]).toEqual([0, completionScript('fish')]);
  expect([wrong.status, wrong.out]).toEqual([2, '']);
});

/** The help of a command in a terminal of 80 columns. */
async function helpIn80Columns(command: string): Promise<string> {
  const terminal = path('terminal.cjs');
  writeFileSync(terminal, 'process.stdout.columns = 80;');
  const { out, status } = await program([command, '--help'], { env: { NODE_OPTIONS: `--require=${terminal}` } });
  expect(status).toBe(0);
  return out;
}

test.each([['replay'], ['why'], ['config'], ['completion']])(
  'the help of %s fits a terminal of 80 columns',
  async (command) => {
    const help = await helpIn80Columns(command);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  },
);

/** The examples of a help text, each in one line. */
function examples(help: string): string[] {
  return help.replaceAll(/ \\\n +/g, ' ').match(/^ {2}kube.*$/gm) ?? [];
}

test('an example that is wider than the terminal can still be pasted', async () => {
  const wide = examples(helpOf('why'));
  expect(wide.some((example) => example.length > 80)).toBe(true);
  expect(examples(await helpIn80Columns('why'))).toEqual(wide);
});

test.each([[['drops']], [['drops', 'top']], [['drops', 'why']], [['why']], [['suggest']]])(
  'the help of %j has texts beside the options, and no empty line below an option without a text',
  (command) => {
    const help = helpOf(...command);
    expect(help).toMatch(/^ {2}-h, --help {2,}this help$/m);
    expect(help).toMatch(/^ {6}--insecure-skip-tls-verify$/m);
    expect(help).not.toMatch(/^ +$/m);
  },
);

test.each([
  [['replay'], /^Usage: kube-netfilter-tailer replay /],
  [['drops', 'top'], /^Usage: kube-netfilter-tailer drops top /],
  [[], /^Usage: kube-netfilter-tailer COMMAND/],
])('first words of a reader: help %j is the help of that command', async (command, shown) => {
  expect(await program(['help', ...command])).toMatchObject({ status: 0, err: '', out: expect.stringMatching(shown) });
});

test('help of an unknown command is an error with exit status 2', async () => {
  const err = expect.stringMatching(
    /^kube-netfilter-tailer: help relpay: there is no such command; did you mean replay\?\n/,
  );
  expect(await program(['help', 'relpay'])).toMatchObject({ status: 2, out: '', err });
});
