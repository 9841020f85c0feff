import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../src/base/model/log-line.ts';
import { type Used, usedBy } from '../bench/used.ts';
import { imageCommand } from '../deploy/image-command.ts';
import { type AgentProcess, startAgent } from '../e2e/agent-process.ts';
import { differences, type Run } from './distinct-values.ts';
import { type Progress, readSnapshot, type Snapshot } from './record.ts';
import type { Style } from './rotation.ts';
import type { Written } from './writer.ts';

export interface TrialOptions {
  style: Style;
  seconds: number;
  /** Lines a second. */
  rate: number;
  interval: Millis;
  lag: Millis;
  keep: number;
  /** How long it runs between two kills; undefined if it is never killed. */
  nextKill: (() => Millis) | undefined;
  /** The program with `reader.ts`'s arguments, and its other options. */
  reader: readonly [file: string, ...args: string[]];
  /** A reader that prints nothing for this long after the last line was written will bring no more lines. */
  timeout: Millis;
  /** Whether nothing is deleted before it was read. Default: false. */
  waits?: boolean;
  /** Removed at the end. */
  folder: string;
}

export interface Trial extends Spent {
  style: Style;
  written: Written;
  kills: number;
  missing: Run[];
  doubled: Run[];
  snapshot: Snapshot;
}

type Spent = Pick<Used, 'cpuSeconds' | 'peakBytes'>;

const image = imageCommand();
/** How long a reader may take to start on a busy machine. */
const startTimeout: Millis = 30_000;
/** After the last line: lines that are read again may come late, because rotated files are looked at every second. */
const settling: Millis = 2500;
const longestDrain: Millis = 120_000;

/** Starts a TypeScript program as the image starts the agent. */
export function startProgram([file, ...args]: readonly [string, ...string[]]): AgentProcess {
  const env = { PATH: process.env['PATH'] ?? '', ...image.allocator };
  return startAgent([process.execPath, ...image.flags], env, args, file);
}

/** One writer and one reader, which is killed and started again. Rejects if one of them ends too early by itself. */
export async function runTrial(options: TrialOptions): Promise<Trial> {
  const { style, seconds, rate, interval, lag, keep, nextKill, folder } = options;
  mkdirSync(join(folder, 'log'), { recursive: true });
  const [path, begin, file] = ['log/kern.log', 'begin', 'snapshot.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const given = {
    path,
    style,
    rate,
    seconds,
    interval,
    lag,
    keep,
    begin,
    ...(options.waits ? { snapshot: file } : {}),
  };
  const writing = startProgram([
    join(import.meta.dirname, 'writer.ts'),
    ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ]);
  let reading: AgentProcess | undefined;
  const used: Spent = { cpuSeconds: 0, peakBytes: 0 };
  let kills = 0;
  try {
    await writing.untilLog(() => true);
    reading = startReader();
    await reading.untilLog(({ state }) => state === 'reading', startTimeout);
    const finished = writing.untilExit(3 * seconds * 1000 + 60_000);
    // The first failure is reported; the writer is then ended because of it.
    finished.catch(() => {});
    writeFileSync(begin, '');
    if (nextKill !== undefined) await killUntil(finished, nextKill);
    if ((await finished).code !== 0) throw new Error(`the writer failed: ${writing.errors}`);
    const written = writing.log.at(-1) as unknown as Written;
    await drain(reading, written.lines);
    account(reading);
    reading.signal('SIGTERM');
    await reading.untilExit();
    const snapshot = readSnapshot(file);
    if (snapshot === undefined) throw new Error('the reader left no snapshot');
    return { style, written, kills, ...differences(snapshot.runs, written.lines), snapshot, ...used };
  } finally {
    await Promise.all([writing.kill(), reading?.kill()]);
    rmSync(folder, { recursive: true });
  }

  function startReader(): AgentProcess {
    const [program, ...args] = options.reader;
    return startProgram([program, '--path', path, '--snapshot', file, ...args]);
  }

  async function killUntil(finished: Promise<unknown>, next: () => Millis): Promise<void> {
    const end = new AbortController();
    void finished.catch(() => {}).finally(() => end.abort());
    for (;;) {
      // Rejects when the writer has finished.
      await delay(next(), undefined, { signal: end.signal }).catch(() => {});
      if (end.signal.aborted) return;
      // A reader that was killed before its first snapshot with lines may begin anywhere.
      if (reading === undefined || !readSnapshot(file)?.runs.length) continue;
      account(reading);
      await reading.kill();
      kills++;
      reading = startReader();
    }
  }

  async function drain({ log }: AgentProcess, lines: number): Promise<void> {
    const deadline = performance.now() + longestDrain;
    let [heard, since] = [log.length, performance.now()];
    while (linesOf(log) < lines && performance.now() < deadline) {
      if (log.length > heard) [heard, since] = [log.length, performance.now()];
      if (performance.now() - since > (heard === 0 ? startTimeout : options.timeout)) break;
      await delay(50);
    }
    await delay(settling);
  }

  /** Takes the counts of a program when it ends. Throws if it ended by itself. */
  function account(current: AgentProcess): void {
    const { cpuSeconds, peakBytes } = usedBy(current.pid ?? 0);
    used.cpuSeconds += cpuSeconds;
    used.peakBytes = Math.max(used.peakBytes, peakBytes);
  }
}

function linesOf(log: AgentProcess['log']): number {
  return (log.at(-1) as Progress | undefined)?.lines ?? 0;
}
