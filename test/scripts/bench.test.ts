import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every bench that a document or a file names is in the help', () => {
  const { status, stdout } = bench('--help');
  expect(status).toBe(0);
  const benches = namesIn(stdout);
  expect(benches).toContain('growth');
  const files = ['docs', 'src', 'test', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:md|ts|mjs)$/.test(file))
      .map((file) => join(root, folder, file)),
  );
  const named = namesIn([join(root, 'CONTRIBUTING.md'), ...files].map((file) => readFileSync(file, 'utf8')).join('\n'));
  expect(named.difference(benches)).toEqual(new Set());
});

test('the help of a bench lists its options, and starts nothing', () => {
  expect(bench('growth', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--beside BUNDLE') });
});

test.each([['growht'], ['../bench/growth'], ['--nonsense']])('%s is unknown: the help lists the benches', (name) => {
  expect(bench(name)).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('npm run bench -- growth'),
  });
});

function bench(...args: string[]) {
  return spawnSync(process.execPath, [join(root, 'scripts/bench.mjs'), ...args], { encoding: 'utf8' });
}

function namesIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(/npm run bench -- ([a-z]+)/g), ([, name = '']) => name));
}
