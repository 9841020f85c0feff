import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** Runs the program; rejects unless it exits with 0. Resolves to what it printed. */
export type Program = (args: readonly string[]) => Promise<{ stdout: string; stderr: string }>;

/** Builds the file that the image ships: the sources may work where their bundle does not. */
export async function buildProgram(): Promise<Program> {
  await run(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
  const bundle = join(root, 'dist/kube-netfilter-tailer.cjs');
  await access(bundle);
  return (args) => run(process.execPath, [bundle, ...args], { maxBuffer: 64 * 1024 * 1024 });
}
