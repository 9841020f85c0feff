import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Millis } from '../../src/model/log-line.ts';
import { imageCommand } from '../deploy/image-command.ts';

/** A program that prints JSON, a line each. It never outlives the process that started it. */
export interface Program {
  readonly pid: number;
  /** The last object that it printed. */
  readonly last: unknown;
  readonly ended: boolean;
  /** True when it has printed something more in that time. False also when it ends. */
  more: (within: Millis) => Promise<boolean>;
  /** Until it ends by itself. Rejects if that was with an error, or takes longer. */
  finish: (within: Millis) => Promise<void>;
  /** Resolves when it is gone. */
  stop: (signal: NodeJS.Signals) => Promise<void>;
  /** Ends its standard input: the sign to begin. */
  begin: () => void;
  used: () => Used;
}

/** What a process has used since its start. */
export interface Used {
  /** User and system time. */
  cpuSeconds: number;
  /** Pages that had to be read from a disk. */
  majorFaults: number;
  residentBytes: number;
  /** Peak resident memory. */
  peakBytes: number;
}

const image = imageCommand();

export const agentFlags = image.flags;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function startProgram(file: string, args: readonly string[], flags: readonly string[] = []): Program {
  // It gets the signal even if this process is killed. setpriv becomes the program, so the process is the same.
  const command = ['--pdeathsig', 'KILL', '--', process.execPath, ...flags, file, ...args];
  const child = spawn('setpriv', command, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...image.allocator },
  });
  running.add(child);
  const prints = new EventEmitter();
  let last: unknown;
  let how: string | undefined;
  createInterface(child.stdout).on('line', (line) => {
    last = parse(line);
    prints.emit('line', true);
  });
  child.stdin.on('error', () => {});
  const gone = new Promise<void>((resolve) => {
    const end = (text: string): void => {
      how ??= text;
      running.delete(child);
      prints.emit('line', false);
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(signal ?? `exit status ${code}`));
  });

  return {
    pid: child.pid ?? 0,
    get last() {
      return last;
    },
    get ended() {
      return how !== undefined;
    },
    async more(within) {
      if (how !== undefined) return false;
      const signal = AbortSignal.timeout(within);
      const [printed] = (await once(prints, 'line', { signal }).catch(() => [false])) as [boolean];
      return printed;
    },
    async finish(within) {
      const tooLong = setTimeout(() => {
        how = `not ended after ${within / 1000} s`;
        child.kill('SIGKILL');
      }, within);
      await gone;
      clearTimeout(tooLong);
      if (how !== 'exit status 0') throw new Error(`${file}: ${how}`);
    },
    async stop(signal) {
      if (how === undefined) child.kill(signal);
      await gone;
    },
    begin: () => void child.stdin.end(),
    used: () => usedBy(child.pid ?? 0),
  };
}

/** Reads the use of a process that runs; throws when it has ended. */
export function usedBy(pid: number): Used {
  // proc(5): field 12 is majflt, 14 and 15 are times in hundredths of a second. The second one is a name and may have spaces in it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  if (fields[0] === 'Z') throw new Error(`the process ${pid} has ended`);
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    majorFaults: Number(fields[9]),
    residentBytes: kilobytes('VmRSS') * 1024,
    peakBytes: kilobytes('VmHWM') * 1024,
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}
