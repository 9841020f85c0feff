import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { libraries } from '../../programs/table.ts';
import { run } from '../network/command.ts';
import { until } from '../until.ts';

export type Ulogd = Awaited<ReturnType<typeof startUlogd>>;

/** Starts a real ulogd in a network namespace, with a shipped configuration in which only the folders are changed. */
export async function startUlogd(namespace: string, configuration: string) {
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
  const problem = (what: string) => () => `[ulogd] no ${what}: ${readText(join(folder, 'ulogd.log'))}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill();
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // The kernel's list of listeners, by group.
    const listeners = ['netns', 'exec', namespace, 'cat', '/proc/net/netfilter/nfnetlink_log'];
    await until(async () => /^ *100 /m.test((await run('ip', listeners)).stdout), problem('start'));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    /** The path of its output file. */
    output,
    /** The lines of its output file, as soon as there are at least `count`; rejects after a minute. */
    untilLines: (count: number): Promise<readonly string[]> =>
      until(
        () => {
          // The text after the last line break is still being written.
          const lines = readText(output).split('\n').slice(0, -1);
          return lines.length >= count && lines;
        },
        problem(`${count} lines`),
      ),
    stop,
  };
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
