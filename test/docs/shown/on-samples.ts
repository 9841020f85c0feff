import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { root } from '../documents.ts';

/** When the logs were written: it gives their stamps a year. */
const written = new Date('2026-11-21T20:00:00Z');

/** `kube-netfilter-tailer` runs the program of this checkout; `kubectl` prints the cluster of the samples. */
const commands = `
kube-netfilter-tailer() { "$NODE" "$MAIN" "$@"; }
npm() { while [ "$1" != -- ]; do shift; done; shift; kube-netfilter-tailer "$@"; }
kubectl() { cat cluster.json; }
`;

/** Runs commands of a page in a folder with a cluster and these logs of samples/; returns what is printed on both outputs. */
export async function runOnSamples(
  shown: string,
  logs: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-page-'));
  try {
    copyFileSync(join(root, 'samples/cluster.json'), join(folder, 'cluster.json'));
    symlinkSync(join(root, 'samples'), join(folder, 'samples'));
    for (const [name, sample] of Object.entries(logs)) {
      copyFileSync(join(root, 'samples', `${sample}.log`), join(folder, name));
      utimesSync(join(folder, name), written, written);
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const child = spawn('bash', ['-c', `${commands}\n${shown}`], {
      cwd: folder,
      env: { PATH: process.env['PATH'], NODE: process.execPath, MAIN: join(root, 'src/main.ts') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = await Promise.all([child.stdout, child.stderr].map((stream) => text(stream)));
    return printed.join('').trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
