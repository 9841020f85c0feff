import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { createWorkFolder } from '../../src/report/work-folder.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const folder = temporaryFolder();
let folders = 0;

function parent(): string {
  const path = folder(`parent-${++folders}`);
  mkdirSync(path);
  return path;
}

function made(place: string): string {
  const { path, remove } = createWorkFolder(place);
  onTestFinished(remove);
  return path;
}

/** The name of a folder of this user that a process left, as `createWorkFolder` calls it. */
function nameOf(pid: number | undefined): string {
  const [name = ''] = /^.*-(?=\d+-\w+$)/.exec(made(parent()).split('/').at(-1) ?? '') ?? [];
  return `${name}${pid}-abcdef`;
}

const gone = (): number => spawnSync(process.execPath, ['--version']).pid;

test('is removed with all that is in it', () => {
  const place = parent();
  const { path, remove } = createWorkFolder(place);
  writeFileSync(join(path, 'report.duckdb'), '');
  remove();
  expect(readdirSync(place)).toEqual([]);
});

test('a folder of a run which was killed is removed by the next one', async () => {
  const place = parent();
  const module = JSON.stringify(new URL('../../src/report/work-folder.ts', import.meta.url).href);
  const program = `import { createWorkFolder } from ${module}; console.log(createWorkFolder(process.argv[1]).path); setInterval(() => {}, 1000);`;
  const run = spawn(process.execPath, ['--input-type=module', '-e', program, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void run.kill('SIGKILL'));
  const [path] = (await once(createInterface(run.stdout), 'line')) as [string];
  writeFileSync(join(path, 'report.duckdb'), 'rows');
  made(place);
  expect(existsSync(join(path, 'report.duckdb'))).toBe(true);
  run.kill('SIGKILL');
  await once(run, 'exit');
  made(place);
  expect(existsSync(path)).toBe(false);
});

test.each<[string, (path: string) => void, () => string]>([
  ['a folder of a process that is alive', (path) => mkdirSync(path), () => nameOf(process.ppid)],
  [
    'a folder of another namespace of processes',
    (path) => mkdirSync(path),
    () => nameOf(gone()).replace(/-\d+-/, '-1-'),
  ],
  ['a folder of another name', (path) => mkdirSync(path), () => `other-${nameOf(gone())}`],
  ['a file', (path) => writeFileSync(path, ''), () => nameOf(gone())],
  ['a symbolic link', (path) => symlinkSync('/', path), () => nameOf(gone())],
])('what else stands there stays: %s', (_, make, name) => {
  const path = join(parent(), name());
  make(path);
  made(join(path, '..'));
  expect(readdirSync(join(path, '..'))).toContain(path.split('/').at(-1));
});

test.runIf(process.getuid?.() === 0)('a folder of another user stays', () => {
  const path = join(parent(), nameOf(gone()));
  mkdirSync(path);
  chownSync(path, 65_534, 65_534);
  made(join(path, '..'));
  expect(existsSync(path)).toBe(true);
});
