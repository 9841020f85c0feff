import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withLock } from '../control-plane/lock.ts';
import { run } from '../network/command.ts';

const PLUGIN = '/usr/lib/x86_64-linux-gnu/ulogd/ulogd_output_JSON.so';
const WITHIN_MS = 10_000;

export interface Ulogd {
  /** The lines of its output file as soon as there are `count` or more; rejects after 10 s. */
  readonly untilLines: (count: number) => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
}

/** Installs the Debian packages ulogd2 and ulogd2-json if they are missing. */
export async function ensureUlogd(): Promise<void> {
  // As in global-setup.ts: packages are installed by one process of this machine at a time.
  await withLock('kube-netfilter-tailer-tools', () => {}, installMissing);
}

async function installMissing(): Promise<void> {
  if (existsSync(pluginPath())) return;
  const packages = ['ulogd2', 'ulogd2-json'];
  // RUNLEVEL: no daemon is started.
  const args = ['RUNLEVEL=1', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', '-y', '--no-install-recommends'];
  await run('env', [...args, ...packages]).catch(async () => {
    await run('apt-get', ['update']);
    await run('env', [...args, ...packages]);
  });
}

/** Starts a real ulogd in a network namespace with a shipped configuration, of which only the folders are changed. */
export async function startUlogd(namespace: string, configuration: string): Promise<Ulogd> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-ulogd-'));
  const output = join(folder, 'netfilter.json');
  const path = join(folder, 'ulogd.conf');
  const changed = configuration
    .replaceAll('/var/log/ulog/syslogemu.log', output)
    .replace('logfile="syslog"', `logfile="${join(folder, 'ulogd.log')}"`)
    .replaceAll(/\/usr\/lib\/x86_64-linux-gnu(?=\/ulogd\/)/g, libraries());
  await writeFile(path, changed);
  const child: ChildProcess = spawn('ip', ['netns', 'exec', namespace, 'ulogd', '-c', path], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
    const deadline = performance.now() + WITHIN_MS;
    for (;;) {
      // Before it looks: what is late may be this process.
      const isLast = performance.now() > deadline || child.exitCode !== null || child.signalCode !== null;
      const found = await look();
      if (found !== undefined) return found;
      if (isLast) throw new Error(`[ulogd] no ${what}: ${await readText(join(folder, 'ulogd.log'))}`);
      await delay(50);
    }
  };
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill();
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // The kernel's list of those who listen, by group.
    const listeners = ['netns', 'exec', namespace, 'cat', '/proc/net/netfilter/nfnetlink_log'];
    await until('start', async () => (/^ *100 /m.test((await run('ip', listeners)).stdout) ? true : undefined));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    untilLines: async (count) =>
      until(`${count} lines`, async () => {
        // What follows the last end of a line is still being written.
        const lines = (await readText(output)).split('\n').slice(0, -1);
        return lines.length < count ? undefined : lines;
      }),
    stop,
  };
}

async function readText(path: string): Promise<string> {
  return existsSync(path) ? readFile(path, 'utf8') : '';
}

function libraries(): string {
  return `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;
}

function pluginPath(): string {
  return PLUGIN.replace('/usr/lib/x86_64-linux-gnu', libraries());
}
