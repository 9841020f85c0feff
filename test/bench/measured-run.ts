import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { bundle } from '../e2e/bundle.ts';

export interface MeasuredRun {
  /** Wall-clock time. */
  seconds: number;
  /** Processor time in seconds. */
  cpu: number;
  /** Resident memory in MB at most. */
  peak: number;
}

/** The program writes its usage to descriptor 3 when it ends, because /proc has lost it by then. */
const usage = `import fs from 'node:fs'; process.on('exit', () => fs.writeSync(3, JSON.stringify(process.resourceUsage())));`;

interface RunOptions {
  /** The file that gets its output. */
  output?: string;
  /** The bundle, by default. */
  program?: string;
  /** The expected exit status. */
  status?: number;
}

/** Runs the bundle to its end, as a user starts it. */
export async function runMeasured(
  args: readonly string[],
  { output = '/dev/null', program = bundle, status: expected = 0 }: RunOptions = {},
): Promise<MeasuredRun> {
  const start = performance.now();
  const options = ['--import', `data:text/javascript,${encodeURIComponent(usage)}`];
  const run = spawn(process.execPath, [...options, program, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] });
  const [used, [status]] = await Promise.all([
    text(run.stdio[3] as Readable),
    once(run, 'exit') as Promise<[number]>,
    pipeline(run.stdout as Readable, createWriteStream(output)),
  ]);
  if (status !== expected) throw new Error(`${args[0]} ended with ${status}`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(used) as NodeJS.ResourceUsage;
  const seconds = (performance.now() - start) / 1000;
  return { seconds, cpu: (userCPUTime + systemCPUTime) / 1e6, peak: Math.round(maxRSS / 1024) };
}
