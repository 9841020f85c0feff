import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { program } from './program.ts';

describe.concurrent('commands and options', () => {
  test.each<[string[], string]>([
    [['replay', '--colour', 'kern.log'], 'replay --help'],
    [['relpay', 'kern.log'], '--help'],
  ])('%j is not a command line: prints one problem and where the help is', async (args, help) => {
    const { status, out, err } = await program(args);
    expect([status, out]).toStrictEqual([2, '']);
    expect(err).toMatch(/^kube-netfilter-tailer: .+\nTry: kube-netfilter-tailer .+\n$/);
    expect(err.endsWith(`Try: kube-netfilter-tailer ${help}\n`)).toBe(true);
  });

  test('without a command, prints the help as an error', async () => {
    const { status, out, err } = await program([]);
    expect([status, out]).toStrictEqual([2, '']);
    expect(err).toContain('Usage: kube-netfilter-tailer COMMAND');
  });

  test('the version is printed', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await program(['version'])).toStrictEqual({ status: 0, out: `${version}\n`, err: '' });
  });
});

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Where there is neither an API server nor anything to read: doctor finds problems. */
const env = { PATH: '/nowhere', NODE_NAME: 'node-a', KUBECONFIG: '/nowhere', STATE_DIR: '/proc/nowhere' };

describe.concurrent('output that cannot be written', () => {
  test('doctor has its exit status even if its output is not read', async () => {
    const child = spawn(process.execPath, [main, 'doctor'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')]);
    expect({ status, err }).toEqual({ status: 1, err: '' });
  });

  test.each([['doctor'], ['version'], ['config', 'print', '--node', 'node-a']])('a full disk: %j', async (...args) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')]);
    expect(status).toBe(1);
    expect(err).toMatch(/^kube-netfilter-tailer: .*no space left on device.*\n$/);
  });
});
