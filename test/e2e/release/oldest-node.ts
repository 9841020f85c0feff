import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const start = promisify(execFile);

/** The first release that package.json allows, and the checksum of npm's archive for each processor. */
const version = '24.12.0';
const integrity: Readonly<Record<string, string>> = {
  x64: 'sha512-YlIBWctcYUkCj4iwBrlwP5b5ugaLRwfO6VCSkBzDk/IvQLAdeNDgTUu+jfI//DHJC3txokVqEJZYhluqcpT4QA==',
  arm64: '',
};

/** Path of its `node`; fetched once from the npm registry and kept in the cache folder. */
export async function ensureOldestNode(): Promise<string> {
  const name = `node-linux-${process.arch}`;
  const cache = join(homedir(), '.cache/kube-netfilter-tailer/node');
  const folder = join(cache, `${name}-${version}`);
  const node = join(folder, 'package/bin/node');
  if (existsSync(node)) return node;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, '.unfinished-'));
  try {
    const { stdout } = await start('npm', ['pack', '--json', `${name}@${version}`], { cwd: unfinished });
    const [packed] = JSON.parse(stdout) as { filename: string; integrity: string }[];
    if (packed === undefined || packed.integrity !== integrity[process.arch])
      throw new Error(`${name}@${version}: npm has another archive than the one that was tested: ${packed?.integrity}`);
    await start('tar', ['-xzf', packed.filename], { cwd: unfinished });
    // If two test runs fetch it at the same time, either copy will do.
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(node)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return node;
}
