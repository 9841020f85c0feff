import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { program } from './program.ts';
import { cluster } from './scene.ts';

describe.concurrent('commands and options', () => {
  test.each<[string[], string]>([
    [
      ['replay'],
      'kube-netfilter-tailer: no LOG is named; - reads standard input\nTry: kube-netfilter-tailer replay --help\n',
    ],
    [
      ['replay', '--pods', cluster],
      'kube-netfilter-tailer: no LOG is named; - reads standard input\nTry: kube-netfilter-tailer replay --help\n',
    ],
    [
      ['replay', '--colour', 'kern.log'],
      "kube-netfilter-tailer: Unknown option '--colour'\nTry: kube-netfilter-tailer replay --help\n",
    ],
    [['relpay', 'kern.log'], 'kube-netfilter-tailer: there is no command relpay\nTry: kube-netfilter-tailer --help\n'],
    [['--pods', cluster], 'kube-netfilter-tailer: there is no command --pods\nTry: kube-netfilter-tailer --help\n'],
  ])('%j', async (args, err) => {
    expect(await program(args)).toStrictEqual({ status: 2, out: '', err });
  });

  test('no command: the help, as an error', async () => {
    const { status, out, err } = await program([]);
    expect([status, out]).toStrictEqual([2, '']);
    expect(err).toContain('Usage: kube-netfilter-tailer COMMAND');
  });

  test.each<[string[], string]>([
    [['--help'], 'Usage: kube-netfilter-tailer COMMAND'],
    [['replay', '--help'], 'Usage: kube-netfilter-tailer replay --pods FILE LOG...'],
    [['replay', '-h'], 'Exit status'],
  ])('%j', async (args, part) => {
    const { status, out, err } = await program(args);
    expect([status, err]).toStrictEqual([0, '']);
    expect(out).toContain(part);
  });

  test('the version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await program(['version'])).toStrictEqual({ status: 0, out: `${version}\n`, err: '' });
  });
});
