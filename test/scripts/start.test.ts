import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const path = temporaryFolder();
const command = 'replay --quiet --pods cluster.json --output json ./saved.log'.split(' ');

/** A user's folder with the files that `replay` names. */
function folder(name: string): string {
  mkdirSync(path(name));
  copyFileSync(join(root, 'samples/cluster.json'), join(path(name), 'cluster.json'));
  copyFileSync(join(root, 'samples/policy-deny.log'), join(path(name), 'saved.log'));
  return path(name);
}

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(program: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:npm_|INIT_CWD$)/.test(name));
  const options = { cwd, env: { ...Object.fromEntries(inherited), npm_config_update_notifier: 'false', ...env } };
  return await promisify(execFile)(program, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

describe.concurrent('npm start, run from another folder', () => {
  test.each([['--prefix'], ['--prefix, by a link']])(
    "%s: LOG and --pods are relative to the caller's folder",
    async (way) => {
      const link = path('link');
      if (way.endsWith('link')) symlinkSync(root, link);
      const option = way.split(',', 1)[0] as string;
      const place = way.endsWith('link') ? link : root;
      const { code, stdout } = await run('npm', [option, place, 'start', '--silent', '--', ...command], folder(way));
      expect(code).toBe(0);
      expect(stdout.split('\n').filter((line) => line.includes('"kind":"Event"')).length).toBeGreaterThan(2);
    },
  );

  test('npm start runs from a folder of the checkout', async () => {
    const replay = 'replay --quiet --pods cluster.json policy-deny.log'.split(' ');
    expect(await run('npm', ['start', '--silent', '--', ...replay], join(root, 'samples'))).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('without a command it shows one case on one screen, and names commands that show others', async () => {
    const { code, stdout } = await run('npm', ['--prefix', root, 'start', '--silent'], folder('bare'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lines .* in 1 file/m);
    expect(stdout.split('\n').length).toBeLessThan(50);
    const named = [...stdout.matchAll(/^ {2}npm start -- (.+?) *#/gm)].map(([, each = '']) => each.split(' '));
    expect(named).toHaveLength(4);
    const samples = readdirSync(join(root, 'samples')).map((name) => `samples/${name}`);
    for (const each of named) {
      const args = each.flatMap((arg) => (arg.includes('*') ? samples.filter((name) => name.endsWith('.log')) : [arg]));
      expect(await run('npm', ['start', '--silent', '--', ...args], root)).toMatchObject({ code: 0 });
    }
  });
});

describe.concurrent('scripts/start.mjs, run by hand within the script of a package', () => {
  const manifest = join(root, 'package.json');
  const inRoot = ['replay', '--quiet', '--pods', 'samples/cluster.json', 'samples/policy-deny.log'];
  const own = { npm_lifecycle_event: 'start', npm_package_json: manifest };
  test.each<[string, () => string, string[], (called: string) => NodeJS.ProcessEnv]>([
    [
      'of another',
      () => root,
      inRoot,
      (called) => ({ ...own, npm_package_json: '/nonexistent/package.json', INIT_CWD: called }),
    ],
    [
      'of this one, another script',
      () => root,
      inRoot,
      (called) => ({ ...own, npm_lifecycle_event: 'test', INIT_CWD: called }),
    ],
    ['of this one, another folder', () => folder('by hand'), command, (called) => ({ ...own, INIT_CWD: called })],
    ['of a folder that is gone', () => root, inRoot, (called) => ({ ...own, INIT_CWD: join(called, 'gone') })],
  ])('%s: INIT_CWD belongs to another call', async (_, cwd, args, envOf) => {
    const ended = await run(process.execPath, [join(root, 'scripts/start.mjs'), ...args], cwd(), envOf(path()));
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  });
});
