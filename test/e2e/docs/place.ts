import { type ChildProcess, spawn } from 'node:child_process';
import { type EventEmitter, on, once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '../control-plane/connection.ts';
import { createNodeNamespace } from '../kube-proxy/node-namespace.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';
import { createOwnFolder } from '../own-folder.ts';

const root = join(import.meta.dirname, '../../..');
const WITHIN_S = 60;
const STOPPED_AFTER_S = 1;

export type Place = Awaited<ReturnType<typeof createPlace>>;

/**
 * A node of the cluster with a checkout of this project, where commands are run as a reader would run them. `bundle`:
 * this program; `files`: files in addition to those of the checkout, which is a copy. Needs root.
 */
export async function createPlace(connection: Connection, bundle: string, files: Readonly<Record<string, string>>) {
  const folder = createOwnFolder('docs');
  const node = await createNodeNamespace(connection.server, 'nft');
  for (const name of ['layers', 'work', 'tmp', 'files', 'kubectl-cache']) mkdirSync(join(folder, name));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, 'files', name), content);
  const port = new URL(connection.server).port;
  // Programs that come before the machine's on the PATH, and what they need.
  cpSync(join(import.meta.dirname, 'node/bin'), join(folder, 'bin'), { recursive: true });
  for (const family of ['ip', 'ip6'])
    for (const verb of ['', '-save', '-restore'])
      symlinkSync('/usr/sbin/xtables-nft-multi', join(folder, 'bin', `${family}tables${verb}`));
  copyFileSync(connection.adminKubeconfig, join(folder, 'kubeconfig'));

  // This process keeps the mounts.
  const holder = node.start('bash', [join(import.meta.dirname, 'node/set-up.sh'), folder, root]);
  const printed: Buffer[] = [];
  holder.stderr?.on('data', (bytes: Buffer) => printed.push(bytes));
  const [ready] = (await Promise.race([
    once(holder.stdout as NodeJS.ReadableStream, 'data'),
    once(holder, 'exit'),
  ])) as [unknown];
  if (!Buffer.isBuffer(ready)) {
    await node.destroy();
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`[docs] the node could not be set up: ${Buffer.concat(printed).toString()}`);
  }

  const enter = (command: readonly string[]): string[] => [
    `--mount=/proc/${holder.pid}/ns/mnt`,
    `--net=/proc/${holder.pid}/ns/net`,
    `--wdns=${join(folder, 'work')}`,
    '--',
    ...command,
  ];
  const env = {
    HOME: folder,
    PATH: `${join(folder, 'bin')}:${join(folder, '.local/bin')}:${process.env['PATH']}`,
    KUBECONFIG: join(folder, 'kubeconfig'),
    KUBECACHEDIR: join(folder, 'kubectl-cache'),
    TMPDIR: join(folder, 'tmp'),
    API_PORT: port,
    PLACE_FOLDER: folder,
    PLACE_BUNDLE: bundle,
    PLACE_NODE: process.execPath,
    PLACE_KUBECTL: connection.kubectlPath,
    TZ: 'UTC',
    NODE_NAME: 'node-b',
  };
  const running = new Set<ChildProcess>();
  const spawnIn = (command: readonly string[]): ChildProcess => {
    // Ends with this process, so that nothing is left when the tests are killed.
    const args = ['--pdeathsig', 'KILL', '--', 'nsenter', ...enter(command)];
    const child = spawn('setpriv', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    running.add(child.on('close', () => running.delete(child)));
    return child;
  };
  const run = async (command: readonly string[]): Promise<Outcome> => outcomeOf(spawnIn(command));
  const shell = (command: string): string[] => ['bash', '-c', `. '${join(folder, 'bin/prelude')}'\n${command}`];

  const runToEnd = (command: string): Promise<Outcome> =>
    run(['timeout', '--kill-after=1', `${WITHIN_S}`, ...shell(command)]);

  return {
    /** Runs a command line to its end. A pipeline fails with the first of its programs, and a list with the first of its commands. */
    run: runToEnd,
    /** Runs a command that sets a variable: later commands see it, until `reset` is run. */
    set: (command: string) =>
      runToEnd(`${command}\ndeclare -p ${/^\w+/.exec(command)?.[0]} >> '${join(folder, 'variables')}'`),
    /** Interrupts the command after a second; its exit status is then 0. */
    async runAndStop(command: string): Promise<Outcome> {
      const outcome = await run([
        'timeout',
        '--signal=INT',
        '--kill-after=5',
        `${STOPPED_AFTER_S}`,
        ...shell(`exec ${command}`),
      ]);
      return outcome.code === 124 ? { ...outcome, code: 0 } : outcome;
    },
    /** Starts a command that keeps running. */
    start(command: string) {
      const child = spawnIn(shell(`exec ${command}`));
      const outcome = outcomeOf(child);
      return {
        /** Ends it; resolves to its outcome. */
        async end(this: void): Promise<Outcome> {
          if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
          return outcome;
        },
        /** Resolves when its standard output matches, or when it has ended. */
        async printed(this: void, what: RegExp): Promise<void> {
          let text = '';
          for await (const [bytes] of on(child.stdout as NodeJS.ReadableStream & EventEmitter, 'data', {
            close: ['end'],
          })) {
            text += String(bytes);
            if (what.test(text)) return;
          }
        },
      };
    },
    async destroy(): Promise<void> {
      for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      const closed = once(holder, 'close');
      holder.stdin?.end();
      await closed;
      await node.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
