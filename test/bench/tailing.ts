/**
 * `npm run bench -- tailing`: what following files costs. How fast a large one is read, beside `grep -c` and loops
 * that only read or cut lines, in the same run; what 200 idle ones cost; and how long a line takes from being written to
 * being handed over. Ratios count: the machine's speed does not.
 *
 *     npm run bench -- tailing                                500 MB, 3 runs each; 20 s of idling; 20 s per rate of lines
 *     npm run bench -- tailing --megabytes 100 --seconds 5
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/events/describe.ts';
import { preparePrograms } from '../programs/install.ts';
import { agentFlags, type Program, startProgram } from '../soak/program.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { writeLog } from './generate.ts';

const megabyte = 1_000_000;
const runs = 3;
const idleFiles = 200;
const rates = [10, 1000];
const limit = 60_000;
const reader = join(import.meta.dirname, 'tailing-reader.ts');
const writer = join(import.meta.dirname, '../soak/writer.ts');

const { values } = parseArgs({
  options: { megabytes: { type: 'string', default: '500' }, seconds: { type: 'string', default: '20' } },
});
const seconds = Number(values.seconds);
const bytes = Number(values.megabytes) * megabyte;

await preparePrograms('measuring');
const folder = scratchFolder('tailing');
const throughputs = [await throughput('1 drop in 10', 10), await throughput('drops only', 1)];
const idle = await idleCost();
const latencies: Latency[] = [];
for (const rate of rates) latencies.push(await latency(rate));

console.log(`\n${alignColumns(throughputTable()).join('\n')}`);
console.log(`medians of ${runs} runs of ${values.megabytes} MB\n`);
console.log(`${alignColumns(otherTable()).join('\n')}\n`);
console.log(JSON.stringify({ throughputs, idle, latencies }));
process.exit();

interface Throughput {
  name: string;
  lines: number;
  handedOver: number;
  seconds: { followed: number; cut: number; read: number; grep: number };
}

async function throughput(name: string, every: number): Promise<Throughput> {
  console.error(`${name} …`);
  const log = join(folder, 'kern.log');
  const { lines } = writeLog(log, bytes, every);
  appendFileSync(
    log,
    'Nov 21 12:00:00 node-0 kernel: calico-drop: IN=last OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP\n',
  );
  // In turn, so that all see the same moods of the machine; once before, so that the file is in memory for all.
  grep(log);
  const taken = [];
  for (let run = 0; run < runs; run++)
    taken.push({
      followed: await timed('follow', log),
      cut: await timed('cut', log),
      read: await timed('read', log),
      grep: grep(log),
    });
  rmSync(log);
  return {
    name,
    lines: lines + 1,
    handedOver: taken[0]?.followed.handedOver ?? 0,
    seconds: {
      followed: median(taken.map(({ followed }) => followed.seconds)),
      cut: median(taken.map(({ cut }) => cut.seconds)),
      read: median(taken.map(({ read }) => read.seconds)),
      grep: median(taken.map((run) => run.grep)),
    },
  };
}

async function timed(mode: 'follow' | 'cut' | 'read', log: string): Promise<{ seconds: number; handedOver: number }> {
  const program = startProgram(reader, [mode, log], agentFlags);
  await program.finish(limit);
  return program.last as { seconds: number; handedOver: number };
}

function grep(log: string): number {
  const began = performance.now();
  spawnSync('grep', ['-c', 'IN=', log]);
  return (performance.now() - began) / 1000;
}

async function idleCost(): Promise<{ files: number; seconds: number; cpuSeconds: number; peakBytes: number }> {
  console.error(`${idleFiles} idle files …`);
  const logs = join(folder, 'idle');
  mkdirSync(logs);
  for (let number = 0; number < idleFiles; number++) writeLog(join(logs, `${number}.log`), 1, 10);
  const program = startProgram(reader, ['idle', logs], agentFlags);
  await untilPrinted(program);
  // Warming up and cleaning up after a start is not idling.
  await delay(3000);
  const before = program.used();
  await delay(seconds * 1000);
  const after = program.used();
  await program.stop('SIGKILL');
  return {
    files: idleFiles,
    seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    peakBytes: after.peakBytes,
  };
}

interface Latency {
  rate: number;
  lines: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
  longest: number;
}

async function latency(rate: number): Promise<Latency> {
  console.error(`latency at ${rate} lines/s …`);
  const log = join(folder, `${rate}.log`);
  const numbers = ['--rate', String(rate), '--seconds', String(seconds)];
  const writing = startProgram(writer, ['--path', log, '--style', 'none', '--whole', ...numbers]);
  await untilPrinted(writing);
  const reading = startProgram(reader, ['latency', log], agentFlags);
  await untilPrinted(reading);
  writing.begin();
  await writing.finish(2 * seconds * 1000 + limit);
  await delay(2000);
  await reading.stop('SIGTERM');
  const took = (reading.last as number[]).toSorted((a, b) => a - b);
  if (took.length !== rate * seconds) throw new Error(`${took.length} lines were handed over of ${rate * seconds}`);
  const quantile = (share: number): number =>
    (took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? NaN) / 1000;
  return { rate, lines: took.length, p50: quantile(0.5), p99: quantile(0.99), longest: quantile(1) };
}

function throughputTable(): string[][] {
  const rows = [['log', 'lines', 'handed over', 'lines/s', 'MB/s', 'cutting lines', 'only reading', 'grep -c']];
  for (const { name, lines, handedOver, seconds: taken } of throughputs) {
    const other = (each: number): string => `${speed(each)} MB/s, ${(taken.followed / each).toFixed(1)} times as fast`;
    rows.push([
      name,
      lines.toLocaleString('en-US'),
      handedOver.toLocaleString('en-US'),
      Math.round(lines / taken.followed).toLocaleString('en-US'),
      speed(taken.followed),
      other(taken.cut),
      other(taken.read),
      other(taken.grep),
    ]);
  }
  return rows;
}

function otherTable(): string[][] {
  const { files, cpuSeconds, peakBytes } = idle;
  return [
    ['what', 'figure'],
    [`${files} idle files: CPU`, `${((100 * cpuSeconds) / seconds).toFixed(2)} % of a core`],
    [`${files} idle files: peak RSS`, `${Math.round(peakBytes / megabyte)} MB`],
    ...latencies.map(({ rate, p50, p99, longest }) => [
      `written → handed over, ${rate} lines/s: p50, p99, longest`,
      [p50, p99, longest].map((millis) => `${millis.toFixed(1)} ms`).join(', '),
    ]),
  ];
}

function speed(taken: number): string {
  return (bytes / megabyte / taken).toFixed(0);
}

async function untilPrinted(program: Program): Promise<void> {
  if (!(await program.more(limit))) throw new Error('a program did not start');
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;
}
