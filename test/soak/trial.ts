import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../src/model/log-line.ts';
import { agentFlags, type Program, startProgram, type Used } from './program.ts';
import { type Progress, readSnapshot, type Snapshot } from './record.ts';
import type { Style } from './rotation.ts';
import { lengthOf, missingOf, type Run } from './distinct-values.ts';
import type { Written } from './writer.ts';

export interface TrialOptions {
  style: Style;
  seconds: number;
  /** Lines a second. */
  rate: number;
  interval: Millis;
  lag: Millis;
  keep: number;
  /** How long to let it run between two kills; undefined: it is never killed. */
  nextKill: (() => Millis) | undefined;
  /** Program with the arguments of `reader.ts`, and what it is given besides. */
  reader: readonly [file: string, ...args: string[]];
  /** A reader that says nothing for so long after the last line was written will bring no more. */
  timeout: Millis;
  /** Nothing is deleted before it was read. Default: false. */
  waits?: boolean;
  /** Removed when done. */
  folder: string;
}

export interface Trial extends Spent {
  style: Style;
  written: Written;
  kills: number;
  lost: number;
  lostRuns: Run[];
  snapshot: Snapshot;
}

type Spent = Pick<Used, 'cpuSeconds' | 'peakBytes'>;

const writer = join(import.meta.dirname, 'writer.ts');
/** For a reader that starts, on a machine that has other things to do. */
const startTimeout: Millis = 30_000;
/** After the last line: what is read a second time may come late, as rotated files are looked at every second. */
const settling: Millis = 2500;
const longestDrain: Millis = 120_000;

/** One writer against one reader, which is killed and started again. Rejects when one of them ends by itself too early. */
export async function runTrial(options: TrialOptions): Promise<Trial> {
  const { style, seconds, rate, interval, lag, keep, nextKill, folder } = options;
  mkdirSync(join(folder, 'log'), { recursive: true });
  const path = join(folder, 'log', 'kern.log');
  const file = join(folder, 'snapshot.json');
  const numbers = Object.entries({ rate, seconds, interval, lag, keep });
  const writing = startProgram(writer, [
    '--path',
    path,
    '--style',
    style,
    ...numbers.flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...(options.waits === true ? ['--snapshot', file] : []),
  ]);
  let reading: Program | undefined;
  const used: Spent = { cpuSeconds: 0, peakBytes: 0 };
  let kills = 0;
  try {
    if (!(await writing.more(startTimeout))) throw new Error('the writer did not start');
    reading = startReader();
    await untilReading(reading);
    const finished = writing.finish(3 * seconds * 1000 + 60_000);
    // The first failure is reported; the writer is ended for it then.
    finished.catch(() => {});
    writing.begin();
    if (nextKill !== undefined) await killUntil(finished, nextKill);
    await finished;
    const written = writing.last as Written;
    await drain(reading, written.lines);
    account(reading);
    await reading.stop('SIGTERM');
    const snapshot = readSnapshot(file);
    if (snapshot === undefined) throw new Error('the reader left no snapshot');
    const lostRuns = missingOf(snapshot.counted, written.lines);
    return { style, written, kills, lost: lengthOf(lostRuns), lostRuns, snapshot, ...used };
  } finally {
    await Promise.all([writing.stop('SIGKILL'), reading?.stop('SIGKILL')]);
    rmSync(folder, { recursive: true });
  }

  function startReader(): Program {
    const [program, ...args] = options.reader;
    return startProgram(program, ['--path', path, '--snapshot', file, ...args], agentFlags);
  }

  async function killUntil(finished: Promise<void>, next: () => Millis): Promise<void> {
    const end = new AbortController();
    void finished.catch(() => {}).finally(() => end.abort());
    for (;;) {
      // Rejects when the writer has finished.
      await delay(next(), undefined, { signal: end.signal }).catch(() => {});
      if (end.signal.aborted) return;
      // A reader that was killed before its first snapshot with lines may begin anywhere.
      if (!existsSync(file) || reading === undefined) continue;
      account(reading);
      await reading.stop('SIGKILL');
      kills++;
      reading = startReader();
    }
  }

  async function drain(current: Program, lines: number): Promise<void> {
    const deadline = performance.now() + longestDrain;
    while (linesOf(current) < lines && performance.now() < deadline) {
      const isFirst = current.last === undefined;
      if (!(await current.more(isFirst ? startTimeout : options.timeout))) break;
    }
    await delay(settling);
  }

  /** Takes the counts of a program as they are when it ends. */
  function account(current: Program): void {
    if (current.ended) throw new Error('the reader ended by itself');
    const { cpuSeconds, peakBytes } = current.used();
    used.cpuSeconds += cpuSeconds;
    used.peakBytes = Math.max(used.peakBytes, peakBytes);
  }
}

async function untilReading(reading: Program): Promise<void> {
  while ((reading.last as Progress | undefined)?.state !== 'reading')
    if (!(await reading.more(startTimeout))) throw new Error('the reader did not begin to read');
}

function linesOf(reading: Program): number {
  return (reading.last as Progress | undefined)?.lines ?? 0;
}
