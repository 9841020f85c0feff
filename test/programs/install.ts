/**
 * Installs the programs that tests and scripts start, from the table in table.ts:
 *
 *   node test/programs/install.ts [USE …]       e2e if none is named; table.ts has the names
 */
import { execFile } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../e2e/control-plane/lock.ts';
import { createOwnFolder } from '../e2e/own-folder.ts';
import { brought, type Row, table, type Use, uses } from './table.ts';

const run = promisify(execFile);
/** A user's shell may lack root's folders. */
const path = [process.env['PATH'] ?? '', '/usr/local/sbin', '/usr/sbin', '/sbin'].join(delimiter);
/** Where programs are that are unpacked but not installed. */
const cache = join(homedir(), '.cache/kube-netfilter-tailer/programs');
/** The file that Debian asks whether a daemon may be started. */
const policy = '/usr/sbin/policy-rc.d';
const noDaemons = '#!/bin/sh\n# Written by kube-netfilter-tailer while its tests install packages.\nexit 101\n';

/**
 * Installs missing programs; only one process of this machine does so at a time. Throws an error that names what is
 * still missing, and what to do.
 */
export async function installPrograms(use: Use): Promise<void> {
  if (lackingRows(use).length === 0) return;
  await withLock(
    'kube-netfilter-tailer-tools',
    () => {},
    () => installRows(lackingRows(use)),
  );
  const lacking = lackingRows(use);
  if (lacking.length === 0) return;
  const names = lacking.map((row) => `${missingOf(row).join(', ')} (package ${row.package})`);
  throw new Error(
    `[programs] missing: ${names.join('; ')}. They are installed where this runs as root on Debian; else run as root: ` +
      `apt-get install --no-install-recommends ${debianPackages(lacking).join(' ')}`,
  );
}

/** The names of a row's entries that are missing. */
export function missingOf(row: Row): readonly string[] {
  return row.entries.filter((entry) => locate(row, entry) === undefined);
}

export function rowsOf(use: Use): readonly Row[] {
  return table.filter((row) => row.uses.includes(use));
}

/** The folders of all packages of PyPI. */
export function wheelFolders(): readonly string[] {
  return table.filter(isWheel).map(keptFolder);
}

/** The path of an entry of a package that is only unpacked. */
export function unpackedFile(name: string, entry: string): string {
  return join(unpackedFolder(name), entry);
}

/**
 * From now on PATH is a folder with a link to each program that the table has for this use, and nothing else. So a
 * program that is missing in the table is missing on every machine, whatever is installed there. Returns a function
 * that restores PATH.
 */
export function restrictPath(use: Use): () => void {
  const folder = createOwnFolder('programs');
  // Tests also start programs as other users.
  chmodSync(folder, 0o755);
  const programs = rowsOf(use).flatMap((row) =>
    row.entries.flatMap((entry) => {
      const target = entry.startsWith('/') ? undefined : locate(row, entry);
      return target === undefined || !isExecutable(target) ? [] : [[entry, target] as const];
    }),
  );
  const contributors = brought.map((name) => [name, name === 'node' ? process.execPath : find(name, path)] as const);
  for (const [name, target] of [...contributors, ...programs])
    if (target !== undefined) symlinkSync(target, join(folder, name.replace(/.*\//, '')));
  const before = process.env['PATH'];
  process.env['PATH'] = folder;
  return () => {
    process.env['PATH'] = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Installs the programs that a script of this use starts, and restricts PATH until this process ends. */
export async function preparePrograms(use: Use): Promise<void> {
  await installPrograms(use);
  process.on('exit', restrictPath(use));
}

function lackingRows(use: Use): readonly Row[] {
  return rowsOf(use).filter((row) => missingOf(row).length > 0);
}

function locate(row: Row, entry: string): string | undefined {
  if (isWheel(row) || isUnpacked(row)) return [join(keptFolder(row), entry)].find(existsSync);
  return entry.startsWith('/') ? [entry].find(existsSync) : find(entry, path);
}

function find(program: string, folders: string): string | undefined {
  return folders
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isWheel(row: Row): boolean {
  return row.package.includes('==');
}

function isUnpacked(row: Row): boolean {
  return row.package.startsWith('unpack:');
}

function keptFolder(row: Row): string {
  if (isUnpacked(row)) return unpackedFolder(row.package.replace('unpack:', ''));
  return join(cache, 'wheels', row.package.replace('==', '-'));
}

function unpackedFolder(name: string): string {
  return join(cache, 'unpacked', name);
}

/** The packages that apt-get installs. */
function debianPackages(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => row.package).filter((name) => !/^unpack:|==/.test(name));
}

async function installRows(lacking: readonly Row[]): Promise<void> {
  if (find('apt-get', path) === undefined || process.getuid?.() !== 0) return;
  const packages = debianPackages(lacking);
  if (packages.length > 0)
    await withoutDaemons(() => aptGet(['install', '-y', '--no-install-recommends', ...packages]));
  for (const row of lacking) {
    if (isWheel(row)) await putWheel(row);
    else if (isUnpacked(row)) await unpack(row);
  }
}

/**
 * Runs it again with new package lists if it fails: a fresh image has no lists, and old lists name versions that are
 * gone.
 */
async function aptGet(args: readonly string[], cwd?: string): Promise<void> {
  process.stderr.write(`[programs] apt-get ${args.join(' ')}\n`);
  const env = { ...process.env, PATH: path, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { cwd, env, maxBuffer: 64 * 1024 * 1024 };
  await run('apt-get', args, options).catch(async () => {
    await run('apt-get', ['update'], options);
    await run('apt-get', args, options);
  });
}

/** A policy that Debian's packages ask before they start their daemons. The machine's own policy, if it has one, stays. */
async function withoutDaemons(work: () => Promise<void>): Promise<void> {
  // A policy of ours is left over from a run that was killed.
  if (existsSync(policy) && readFileSync(policy, 'utf8') !== noDaemons) return work();
  writeFileSync(policy, noDaemons, { mode: 0o755 });
  try {
    await work();
  } finally {
    rmSync(policy);
  }
}

/** A package that would start a server is only unpacked. */
async function unpack(row: Row): Promise<void> {
  await inCache(async (folder) => {
    await aptGet(['download', row.package.replace('unpack:', '')], folder);
    const [packed = ''] = readdirSync(folder);
    const target = join(folder, 'package');
    await run('dpkg-deb', ['--extract', join(folder, packed), target], { env: { ...process.env, PATH: path } });
    keep(target, row);
  });
}

/** Installs it without its dependencies, because each package has a row of its own. */
async function putWheel(row: Row): Promise<void> {
  process.stderr.write(`[programs] pip3 install ${row.package}\n`);
  await inCache(async (folder) => {
    const only = ['--no-deps', '--only-binary', ':all:', '--no-compile', '--disable-pip-version-check'];
    const target = join(folder, 'wheel');
    const args = ['install', '--quiet', ...only, '--target', target, row.package];
    await run('pip3', args, { env: { ...process.env, PATH: path } });
    keep(target, row);
  });
}

function keep(made: string, row: Row): void {
  const folder = keptFolder(row);
  mkdirSync(dirname(folder), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
}

/** Makes a folder next to its target, because a rename does not cross file systems. */
async function inCache(work: (folder: string) => Promise<void>): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'unpacking-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const wrong = given.filter((name) => !uses.includes(name as Use));
  if (wrong.length > 0) {
    process.stderr.write(`[programs] unknown: ${wrong.join(' ')}; it may be ${uses.join(', ')}\n`);
    process.exit(64);
  }
  try {
    for (const use of given.length > 0 ? (given as Use[]) : (['e2e'] as const)) await installPrograms(use);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
