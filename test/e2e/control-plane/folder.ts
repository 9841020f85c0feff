import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'kube-netfilter-tailer-control-plane-';
export const PIDS_FILE = 'pids';

/** A new folder for one control plane; its name says which process it belongs to. */
export function createFolder(): string {
  const folder = join(tmpdir(), `${PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

export function logFile(folder: string, server: string): string {
  return join(folder, `${server}.log`);
}

export function lastLines(path: string, count: number): string {
  const text = readIfThere(path).trimEnd();
  return text === '' ? '(empty)' : text.split('\n').slice(-count).join('\n');
}

/** Removes what is left of control planes whose test process *and* supervisor were killed: servers, then the folder. */
export function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const owner = Number.parseInt(name.slice(PREFIX.length), 10);
    if (isAlive(owner)) continue;
    const folder = join(tmpdir(), name);
    for (const pid of readIfThere(join(folder, PIDS_FILE)).split('\n')) killIfOf(folder, Number(pid));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

// The number may belong to another process by now; one of ours has its folder among its arguments.
function killIfOf(folder: string, pid: number): void {
  if (!Number.isInteger(pid) || pid <= 1 || !readIfThere(`/proc/${pid}/cmdline`).includes(folder)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone between the look and the kill.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: alive, and another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
