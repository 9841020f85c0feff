import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
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
/** There is no API server and nothing to read, so doctor finds problems. */
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

test.each([
  [
    ['why', '--from', 'a/b', '--to', 'c/d', '--port', '1/TCP', '--policies', '/nowhere'],
    'kubectl drops why: /nowhere: ',
  ],
  [['why', '--from', 'a/b', '--to', 'c/d'], 'kubectl drops: --port: '],
  [['report', '--output', 'table', '/dev/null'], 'kubectl drops report: '],
  [['--server', 'nonsense'], 'kubectl drops: --server nonsense: '],
])('errors of kubectl drops name it: %j', (args, begin) => {
  const folder = mkdtempSync(join(tmpdir(), 'plugin-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const plugin = join(folder, 'kubectl-drops.ts');
  symlinkSync(main, plugin);
  const { status, stderr } = spawnSync(process.execPath, [plugin, ...args], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr.startsWith(begin) || stderr.includes(`\n${begin}`)).toBe(true);
  expect(stderr).not.toMatch(/^kube-netfilter-tailer/m);
});
