import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { completion, manual } from '../../src/commands/help/help.ts';
import { readHelp } from '../../src/commands/help/read-help.ts';
import { wrapped } from '../../src/commands/help/wrap.ts';
import { replayHelp } from '../../src/commands/options/replay-options.ts';
import { runHelp } from '../../src/commands/options/run-options.ts';
import { UsageError } from '../../src/commands/options/usage-error.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { program } from './program.ts';

const path = temporaryFolder();

const of = (help: string, name: string) => readHelp('any', help).options.find(({ long }) => long === name);

describe('the help of a command is read as its options', () => {
  test('with a short form, and values that stand each in a line', () => {
    expect(of(replayHelp, 'output')).toMatchObject({
      short: 'o',
      value: 'FORMAT',
      choices: ['table', 'wide', 'json', 'yaml', 'audit', 'mermaid', 'html'],
    });
  });
  test('without a value', () => {
    expect(of(replayHelp, 'quiet')).toMatchObject({ short: 'q', value: undefined, choices: [] });
  });
  test('with the variable that sets it, and its text in the next line', () => {
    expect(of(runHelp, 'pod-cache')).toEqual({
      short: undefined,
      long: 'pod-cache',
      value: 'node|cluster',
      choices: ['node', 'cluster'],
      text: expect.stringMatching(/^Pods /),
    });
  });
  test('with values in a sentence', () => {
    const help = '  --how WORD  the way: slow (default), fast or none\n';
    expect(of(help, 'how')?.choices).toEqual(['slow', 'fast', 'none']);
  });
  test('several in a line as one each', () => {
    const { options } = readHelp('any', '      --context, --as\n                as for kubectl\n');
    expect(options.map(({ long, value, text }) => [long, value, text])).toEqual([
      ['context', 'VALUE', 'as for kubectl'],
      ['as', 'VALUE', 'as for kubectl'],
    ]);
  });
  test('and nothing of its examples', () => {
    const help =
      'Usage: x\n\n  kube-netfilter-tailer replay --pods FILE\n\n  -q, --quiet  no summary\n\nExit status\n  0  well\n';
    expect(readHelp('any', help).options.map(({ long, text }) => [long, text])).toEqual([['quiet', 'no summary']]);
  });
});

describe('completion in bash', () => {
  const script = completion(['bash']);
  test.each<[string, string[], string[]]>([
    ['of a command', ['re'], ['replay', 'report']],
    ['of an option', ['replay', '--ou'], ['--output']],
    ['of the value of an option', ['replay', '-o', 'm'], ['mermaid']],
    ['of a value, by the long name', ['run', '--pod-cache', ''], ['node', 'cluster']],
    ['of an option behind another one', ['why', '--from', 'shop/web', '--t'], ['--to']],
    ['of nothing, where nothing begins so', ['doctor', '--zzz'], []],
  ])('%s', (_, words, expected) => {
    writeFileSync(path('completion.bash'), script);
    const typed = ['kube-netfilter-tailer', ...words].map((word) => `'${word}'`).join(' ');
    const ask = `. ./completion.bash; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _kube_netfilter_tailer; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync('bash', ['-c', ask], { cwd: path(), encoding: 'utf8' });
    expect(out.split('\n').filter((word) => word !== '')).toEqual(expected);
  });

  test('of the value of an option without a list is that of files', () => {
    writeFileSync(path('completion.bash'), script);
    writeFileSync(path('cluster.json'), '');
    const ask =
      '. ./completion.bash; COMP_WORDS=(kube-netfilter-tailer replay --pods clus); COMP_CWORD=3; _kube_netfilter_tailer; echo "$COMPREPLY"';
    expect(execFileSync('bash', ['-c', ask], { cwd: path(), encoding: 'utf8' })).toBe('cluster.json\n');
  });
});

test('what completes kubectl drops prints its words, and that no file belongs there', () => {
  const words = execFileSync('sh', { input: completion(['kubectl']), encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(words).toEqual(expect.arrayContaining(['top', 'why', '--all-namespaces', '--since', '--watch']));
  expect(words.at(-1)).toBe(':4');
});

test.each([[[]], [['tcsh']], [['bash', 'zsh']]])('completion refuses %j', (args) => {
  expect(() => completion(args)).toThrow(UsageError);
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
  expect(lines.join(' ').split(/\s+/)).toEqual(expect.arrayContaining(runHelp.trim().split(/\s+/)));
});

describe('help on a terminal', () => {
  test.each([40, 60, 80, 100])('has no line past %i columns that could be broken, and every word', (columns) => {
    for (const help of [runHelp, replayHelp]) {
      const text = wrapped(help, columns);
      expect(text.split(/\s+/)).toEqual(help.split(/\s+/));
      const long = text.split('\n').filter((line) => line.length > columns && line.trim().includes(' '));
      expect(long.filter((line) => !/^ *\S+(?: \S+)? {2,}\S+$|^ *-/.test(line))).toEqual([]);
    }
  });
  test('goes on below where the text of an option begins', () => {
    expect(wrapped('  --pods FILE  one two three four five', 32)).toBe(
      '  --pods FILE  one two three\n               four five',
    );
  });
  test('is as it is where all fits', () => {
    expect(wrapped(replayHelp, 200)).toBe(replayHelp);
  });
});

test('man and completion print to standard output', async () => {
  const [man, fish, wrong] = await Promise.all([
    program(['man']),
    program(['completion', 'fish']),
    program(['completion', 'tcsh']),
  ]);
  expect([man.status, man.out]).toEqual([0, manual()]);
  expect([fish.status, fish.out]).toEqual([0, completion(['fish'])]);
  expect([wrong.status, wrong.out]).toEqual([2, '']);
});

describe('what a reader asks for first', () => {
  test.each([['replay'], ['config'], ['completion']])(
    'the help of %s fits a terminal of 80 columns',
    async (command) => {
      const terminal = path('terminal.cjs');
      writeFileSync(terminal, 'process.stdout.columns = 80;');
      const { out, status } = await program([command, '--help'], { env: { NODE_OPTIONS: `--require=${terminal}` } });
      expect(status).toBe(0);
      expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test.each([
    [['replay'], /^Usage: kube-netfilter-tailer replay /],
    [['drops', 'top'], /^Usage: kube-netfilter-tailer drops top /],
    [[], /^kube-netfilter-tailer \d/],
  ])('help %j is the help of that command', async (command, shown) => {
    expect(await program(['help', ...command])).toMatchObject({
      status: 0,
      err: '',
      out: expect.stringMatching(shown),
    });
  });

  test('help of a command that there is not: exit status 2', async () => {
    expect(await program(['help', 'relpay'])).toMatchObject({ status: 2, out: '' });
  });
});
