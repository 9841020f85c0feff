import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The file that the image ships, which global-setup.ts builds: the sources may work where their bundle does not. */
export const bundle = join(root, 'dist/kube-netfilter-tailer.cjs');

/** The Node.js that runs it; scripts/arm64-proof.sh names another one. */
export const bundleNode = process.env['BUNDLE_NODE'] ?? process.execPath;

/** Resolves to the output of the program; rejects unless it exits with 0. */
export function runBundle(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return run(bundleNode, [bundle, ...args], { maxBuffer: 64 * 1024 * 1024 });
}

export async function buildBundle(): Promise<void> {
  await run(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
}
