/**
 * Keeps the servers of one test control plane for as long as its standard input stays open: a pipe from the test
 * process, which the kernel closes however that process ends. Then the servers are killed and their folder removed.
 *
 * node supervisor.ts <folder> <JSON of Server[]>; prints a line for each server that exits by itself. Takes orders, a line each
 * (`kill etcd`), and prints `done` when one is carried out.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { argv, exit, stdin, stdout } from 'node:process';
import { logFile, PIDS_FILE } from './folder.ts';

export interface Server {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** `kill`: at once; `pause`: it hangs until `resume`; `start`: again after `kill`. */
export type Order = 'kill' | 'start' | 'pause' | 'resume';

if (import.meta.main) supervise(argv[2] ?? '', JSON.parse(argv[3] ?? '[]'));

function supervise(folder: string, servers: readonly Server[]): void {
  const children = new Map<string, ChildProcess>();
  const killed = new Set<ChildProcess>();
  for (const server of servers) start(server);

  function start({ name, command, args }: Server): void {
    const log = openSync(logFile(folder, name), 'a');
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log] });
    child.on('error', (error) => stdout.write(`${name}: ${error.message}\n`));
    child.on('exit', (code, signal) => {
      if (!killed.has(child)) stdout.write(`${name} exited with ${signal ?? `code ${code}`}\n`);
    });
    children.set(name, child);
    // For the case that this process is killed too: the next start reads it.
    writeFileSync(join(folder, PIDS_FILE), [...children.values()].map(({ pid }) => `${pid}\n`).join(''));
  }

  // SIGKILL: the data is thrown away, and the API server takes seconds over a polite end while watches are open.
  async function kill(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    killed.add(child);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async function obey(order: Order, name: string): Promise<void> {
    const server = servers.find((each) => each.name === name);
    const child = children.get(name);
    if (server === undefined || child === undefined) throw new Error(`there is no server ${name}`);
    if (order === 'kill') await kill(child);
    else if (order === 'start') start(server);
    else child.kill(order === 'pause' ? 'SIGSTOP' : 'SIGCONT');
    stdout.write('done\n');
  }

  const stop = async (): Promise<void> => {
    await Promise.all([...children.values()].map(kill));
    rmSync(folder, { recursive: true, force: true });
    exit(0);
  };
  // A test process that is gone no longer reads what is printed here.
  stdout.on('error', () => {});
  const stopNow = (): void => void stop();
  stdin.on('error', stopNow);
  createInterface(stdin)
    .on('line', (line) => {
      const [order, name = ''] = line.split(' ');
      void obey(order as Order, name);
    })
    .on('close', stopNow);
  process.on('SIGTERM', stopNow);
}
