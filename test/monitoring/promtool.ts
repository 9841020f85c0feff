import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cached = join(homedir(), '.cache/kube-netfilter-tailer/promtool/promtool');

/**
 * Path of promtool: the one on the PATH, else that of the Debian package `prometheus`, unpacked once into the cache folder. The
 * package is not installed, as that would start a server; building promtool from its Go module takes ten minutes.
 */
export async function ensurePromtool(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const candidates = [...(env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'promtool')), cached];
  for (const path of candidates) if (await isExecutable(path)) return path;
  await mkdir(dirname(cached), { recursive: true });
  // Beside it: a rename does not cross file systems.
  const folder = await mkdtemp(join(dirname(cached), 'unpacking-'));
  try {
    await download(folder);
    const [packed] = await readdir(folder);
    await run('dpkg-deb', ['--extract', join(folder, packed ?? ''), folder]);
    await rename(join(folder, 'usr/bin/promtool'), cached);
  } catch (cause) {
    throw new Error('promtool is needed: put it on the PATH, or have apt-get download the Debian package prometheus', {
      cause,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return cached;
}

async function download(cwd: string): Promise<void> {
  const aptGet = ['download', 'prometheus'];
  try {
    await run('apt-get', aptGet, { cwd });
  } catch {
    // A fresh image has no package lists.
    await run('apt-get', ['update'], { maxBuffer: 64 * 1024 * 1024 });
    await run('apt-get', aptGet, { cwd });
  }
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
