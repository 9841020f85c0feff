import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Row, table, type Use } from './table.ts';

/** The answers of this machine; tests name another one. */
export interface Place {
  readonly rows: readonly Row[];
  readonly env: NodeJS.ProcessEnv;
  /** The folder of programs that are unpacked and not installed. */
  readonly cache: string;
  /** Whether this process may install packages. */
  readonly isRoot: boolean;
  /** The file by which Debian asks whether a daemon may be started. */
  readonly policy: string;
}

// A user's shell may lack them, and root's programs are there.
const administrators = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

export const thisMachine: Place = {
  rows: table,
  env: { ...process.env, PATH: [...(process.env['PATH'] ?? '').split(delimiter), ...administrators].join(delimiter) },
  cache: join(homedir(), '.cache/kube-netfilter-tailer/programs'),
  isRoot: process.getuid?.() === 0,
  policy: '/usr/sbin/policy-rc.d',
};

export function rowsOf(use: Use, { rows }: Place): readonly Row[] {
  return rows.filter(({ uses }) => uses.includes(use));
}

/** Path of a program; undefined if there is none. */
export function findProgram(name: string, { env, cache }: Place): string | undefined {
  const folders = [...(env['PATH'] ?? '').split(delimiter), cache];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Names of the programs and files of a row that are not there. */
export function missingOf({ package: name, programs, files = [], wheel }: Row, place: Place): readonly string[] {
  if (wheel !== undefined && !isThere(join(wheelFolder(name, wheel.version, place), wheel.folder)))
    return [`${name} ${wheel.version}`];
  const lacked = programs.filter((each) => findProgram(each, place) === undefined);
  return [...lacked, ...files.filter((path) => !isThere(path))];
}

/** Returns the folder of a package of PyPI; each version has its own. */
export function wheelFolder(name: string, version: string, { cache }: Pick<Place, 'cache'>): string {
  return join(cache, 'wheels', `${name}-${version}`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
