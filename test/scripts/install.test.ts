import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const path = temporaryFolder();

/**
 * A checkout whose program only says that it ran. Its npm notes its arguments and, like a clean install, empties
 * node_modules.
 */
function checkout(name: string) {
  const folder = path(name);
  for (const file of ['scripts/install.mjs', 'scripts/start.mjs', 'package.json', 'package-lock.json'])
    cpSync(join(root, file), join(folder, file));
  cpSync(join(root, 'samples/policy-deny.log'), join(folder, 'samples/policy-deny.log'));
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src/main.ts'), 'console.log("ran");\n');
  mkdirSync(join(folder, 'programs'));
  symlinkSync(process.execPath, join(folder, 'programs/node'));
  const npm = join(folder, 'programs/npm');
  writeFileSync(npm, '#!/bin/sh\necho "$@" >> npm.log\nrm -rf node_modules\nmkdir node_modules\n');
  chmodSync(npm, 0o755);
  const PATH = `${join(folder, 'programs')}:/usr/bin:/bin`;
  return {
    run: (script: string, ...args: readonly string[]) =>
      spawnSync(process.execPath, [join(folder, 'scripts', script), ...args], {
        cwd: folder,
        env: { PATH },
        encoding: 'utf8',
      }),
    /** The packages installed since the last call: `program`, without development packages, or `all`. */
    installed: () => {
      const log = join(folder, 'npm.log');
      const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
      rmSync(log, { force: true });
      return lines.map((line) => (line.includes('--omit=dev') ? 'program' : 'all'));
    },
    changeLock: () => writeFileSync(join(folder, 'package-lock.json'), '{}\n'),
  };
}

test("npm start installs the program's packages, npm test the others, and each does so once", () => {
  const { run, installed } = checkout('both');
  expect(run('start.mjs', 'replay', 'x.log')).toMatchObject({ status: 0, stdout: 'ran\n' });
  expect(installed()).toEqual(['program']);
  run('start.mjs', 'doctor');
  expect(installed()).toEqual([]);
  run('install.mjs');
  expect(installed()).toEqual(['all']);
  run('install.mjs');
  run('start.mjs', 'doctor');
  expect(installed()).toEqual([]);
});

test('a changed lockfile is installed again by the first process that needs it', () => {
  const { run, installed, changeLock } = checkout('changed');
  run('install.mjs');
  changeLock();
  run('start.mjs');
  run('install.mjs');
  expect(installed()).toEqual(['all', 'program', 'all']);
});

test.each([
  ['report', 'audit.ndjson'],
  ['drops', 'report', 'audit.ndjson'],
  ['replay', '--output', 'html', 'x.log'],
  ['replay', '--output=html', 'x.log'],
  ['replay', '-o', 'html', 'x.log'],
  ['replay', '-ohtml', 'x.log'],
])('commands that make a report also get the development packages: %s %s', (...args) => {
  const { run, installed } = checkout(args.join(' '));
  expect(run('start.mjs', ...args)).toMatchObject({ status: 0, stdout: 'ran\n' });
  expect(installed()).toEqual(['all']);
});

test.each([['report'], ['report', '--help'], ['drops', 'report', '-h'], ['drops'], ['help', 'report']])(
  'commands that only say how a report is made get the packages of the program: %s %s',
  (...args) => {
    const { run, installed } = checkout(args.join(' '));
    expect(run('start.mjs', ...args)).toMatchObject({ status: 0, stdout: 'ran\n' });
    expect(installed()).toEqual(['program']);
  },
);

test('if npm fails, nothing counts as installed, and the status is 1', () => {
  const { run, installed } = checkout('failing');
  writeFileSync(path('failing/programs/npm'), '#!/bin/sh\nexit 7\n');
  expect(run('start.mjs', 'doctor')).toMatchObject({ status: 1, stdout: '' });
  expect(run('start.mjs', 'doctor').stderr).toContain('exit status 7');
  expect(installed()).toEqual([]);
});
