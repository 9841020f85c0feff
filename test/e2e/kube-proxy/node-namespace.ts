import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run as runOutside } from '../network/command.ts';
import { createNamespaceGroup } from '../network/namespaces.ts';
import { type Outcome, outcomeWith } from '../outcome.ts';
import { createOwnFolder } from '../own-folder.ts';
import { inTime, until } from '../until.ts';

/** Every iptables of the machine takes its lock here. */
const XTABLES_LOCK = '/run/xtables.lock';

/** Only what hangs takes so long. */
const RUNS_WITHIN_MS = 180_000;

export type Backend = 'legacy' | 'nft';

export type NodeNamespace = Awaited<ReturnType<typeof createNodeNamespace>>;

/**
 * The node of programs that write its rules: a network namespace, an xtables lock and an iptables of its own. `server`:
 * an `https://127.0.0.1:PORT` outside, which has the same address inside. Needs root.
 */
export async function createNodeNamespace(server: string, backend: Backend = 'legacy') {
  const group = await createNamespaceGroup();
  const namespace = await group.add('node');
  const folder = createOwnFolder('node-namespace');
  const lock = join(folder, 'xtables.lock');
  writeFileSync(lock, '');
  writeFileSync(XTABLES_LOCK, '', { flag: 'a' });
  for (const tool of ['iptables', 'iptables-restore', 'iptables-save'])
    for (const name of [tool, tool.replace('ip', 'ip6')])
      symlinkSync(`/usr/sbin/xtables-${backend}-multi`, join(folder, name));

  /** Starts a program that keeps running, and ends with this process at the latest. */
  const start = (command: string, args: readonly string[]): ChildProcess => {
    // `ip netns exec` also gives a mount namespace, so the lock is this node's, not the machine's.
    const script = `mount --bind ${lock} ${XTABLES_LOCK} && exec "$@"`;
    return spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, 'sh', '-c', script, 'sh', command, ...args],
      { stdio: 'pipe', env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, TZ: 'UTC' } },
    );
  };
  /** Runs a program to its end, however it ends; `iptables` is that of the backend. */
  const run = (command: string, args: readonly string[], input = ''): Promise<Outcome> =>
    outcomeWith(start(command, args), input, RUNS_WITHIN_MS);

  const up = await run('ip', ['link', 'set', 'lo', 'up']);
  if (up.code !== 0) throw new Error(`[kube-proxy] no loopback device: ${up.stderr}`);
  const socket = join(folder, 'api-server');
  const port = Number(new URL(server).port);
  const relay = [process.execPath, join(import.meta.dirname, '../relay.ts')] as const;
  // A Unix socket in a file can be used from all network namespaces.
  const outside = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...relay, socket, `127.0.0.1:${port}`]);
  await untilPrinted('the relay outside', outside);
  const inside = start(relay[0], [relay[1], `127.0.0.1:${port}`, socket]);
  await untilPrinted('the relay inside', inside);

  return {
    run,
    start,
    /** The network namespace. */
    namespace,
    /** Makes a network namespace for a Pod, which is removed with this one; returns its name. */
    addNamespace: (role: string): Promise<string> => group.add(role),
    /** Writes a file that is removed with the node; returns its path. */
    writeFile(name: string, content: string): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    /** Takes the xtables lock; resolves to a function that releases it. */
    async holdLock(): Promise<() => Promise<void>> {
      const holder = start('flock', ['--no-fork', XTABLES_LOCK, 'sh', '-c', 'echo held; exec cat']);
      await untilPrinted('flock', holder);
      return async () => {
        const closed = once(holder, 'close');
        holder.stdin?.end();
        await closed;
      };
    },
    async destroy(): Promise<void> {
      for (const each of [inside, outside]) {
        const closed = once(each, 'close');
        each.kill('SIGKILL');
        await inTime(closed, () => `[node] a relay of ${namespace} was killed and does not end`);
      }
      await untilEmpty(namespace);
      await group.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilPrinted(name: string, { stdout }: ChildProcess): Promise<void> {
  await inTime(once(stdout as NodeJS.ReadableStream, 'data'), () => `[node] ${name} prints nothing`);
}

/** If a program is killed, its child, such as kube-proxy's iptables-restore, ends a moment later. */
async function untilEmpty(namespace: string): Promise<void> {
  let left = '';
  await until(
    async () => (left = (await runOutside('ip', ['netns', 'pids', namespace])).stdout) === '',
    () => `[node] ${namespace} is not empty: ${left.split('\n').map(commandOf).join('; ')}`,
  );
}

function commandOf(pid: string): string {
  try {
    return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`;
  } catch {
    return pid;
  }
}
