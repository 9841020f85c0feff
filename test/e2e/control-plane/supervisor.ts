/**
 * Keeps the servers of one test control plane for as long as its standard input stays open: a pipe from the test
 * process, which the kernel closes however that process ends. Then the servers are killed and their folder removed.
 *
 * node supervisor.ts <folder> <JSON of Server[]>; prints a line for each server that exits by itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit, stdin, stdout } from 'node:process';
import { logFile, PIDS_FILE } from './folder.ts';

export interface Server {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

if (import.meta.main) supervise(argv[2] ?? '', JSON.parse(argv[3] ?? '[]'));

function supervise(folder: string, servers: readonly Server[]): void {
  const children = servers.map(({ name, command, args }) => {
    const log = openSync(logFile(folder, name), 'a');
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log] });
    child.on('error', (error) => stdout.write(`${name}: ${error.message}\n`));
    child.on('exit', (code, signal) => stdout.write(`${name} exited with ${signal ?? `code ${code}`}\n`));
    return child;
  });
  // For the case that this process is killed too: the next start reads it.
  writeFileSync(join(folder, PIDS_FILE), children.map(({ pid }) => `${pid}\n`).join(''));

  const stop = async (): Promise<void> => {
    // SIGKILL: the data is thrown away, and the API server takes seconds over a polite end while watches are open.
    const running = children.filter(
      (child) => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    );
    const exits = running.map((child) => once(child, 'exit'));
    for (const child of running) child.kill('SIGKILL');
    await Promise.all(exits);
    rmSync(folder, { recursive: true, force: true });
    exit(0);
  };
  // A test process that is gone no longer reads what is printed here.
  stdout.on('error', () => {});
  const stopNow = (): void => void stop();
  stdin.on('end', stopNow).on('error', stopNow).resume();
  process.on('SIGTERM', stopNow);
}
