import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export interface Server {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** `kill`: at once; `pause`: it hangs until `resume`; `start`: again after `kill`. */
export type Order = 'kill' | 'start' | 'pause' | 'resume';

export type Running = ReturnType<typeof startServers>;

/**
 * Starts servers with their logs in one folder. They end with this process at the latest: the kernel kills them, in
 * whatever way it ends.
 */
export function startServers(folder: string, servers: readonly Server[]) {
  const children = new Map<string, ChildProcess>();
  const killed = new Set<ChildProcess>();
  const { promise: failure, reject: fail } = Promise.withResolvers<never>();
  // No code waits for it after the start.
  failure.catch(() => {});
  for (const server of servers) start(server);

  function start({ name, command, args }: Server): void {
    const log = openSync(logFile(name), 'a');
    // Detached: Ctrl-C in the terminal must reach the tests first, and the servers only through them.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.on('error', fail).on('exit', (code, signal) => {
      if (!killed.has(child)) fail(new Error(`${name} exited with ${signal ?? `code ${code}`}`));
    });
    children.set(name, child);
  }

  // SIGKILL: the data is thrown away, and with SIGTERM the API server takes seconds to end while watches are open.
  async function kill(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    killed.add(child);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  function logFile(name: string): string {
    return join(folder, `${name}.log`);
  }

  return {
    /** Rejects when a server ends by itself; it never resolves. */
    failure,
    pidOf: (name: string): number => children.get(name)?.pid ?? 0,
    /** Resolves when the order is carried out, not when a started server is ready. */
    async order(this: void, order: Order, name: string): Promise<void> {
      const server = servers.find((each) => each.name === name);
      const child = children.get(name);
      if (server === undefined || child === undefined) throw new Error(`there is no server ${name}`);
      if (order === 'kill') await kill(child);
      else if (order === 'start') start(server);
      else child.kill(order === 'pause' ? 'SIGSTOP' : 'SIGCONT');
    },
    /** The last lines of each log. */
    logs: () => servers.map(({ name }) => `--- ${name}\n${lastLines(logFile(name), 15)}`).join('\n'),
    /** Kills them, and removes the folder. */
    async stop(this: void): Promise<void> {
      await Promise.all([...children.values()].map(kill));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function lastLines(path: string, count: number): string {
  const text = readFileSync(path, 'utf8').trimEnd();
  return text === '' ? '(empty)' : text.split('\n').slice(-count).join('\n');
}
