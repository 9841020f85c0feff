import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { libraries } from '../../programs/table.ts';
import { run } from '../network/command.ts';

const WITHIN_MS = 60_000;

export interface Ulogd {
  /** The lines of its output file as soon as there are `count` or more; rejects after a minute. */
  readonly untilLines: (count: number) => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
}

/** Starts a real ulogd in a network namespace with a shipped configuration, of which only the folders are changed. */
export async function startUlogd(namespace: string, configuration: string): Promise<Ulogd> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-ulogd-'));
  const output = join(folder, 'netfilter.json');
  const path = join(folder, 'ulogd.conf');
  const changed = configuration
    .replaceAll('/var/log/ulog/syslogemu.log', output)
    .replace('logfile="syslog"', `logfile="${join(folder, 'ulogd.log')}"`)
    .replaceAll(/\/usr\/lib\/x86_64-linux-gnu(?=\/ulogd\/)/g, libraries);
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
        // The text behind the last end of a line is still being written.
        const lines = (await readText(output)).split('\n').slice(0, -1);
        return lines.length < count ? undefined : lines;
      }),
    stop,
  };
}

async function readText(path: string): Promise<string> {
  return existsSync(path) ? readFile(path, 'utf8') : '';
}
