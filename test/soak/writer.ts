/**
 * Writes numbered lines to a log and rotates it, in a process of its own and with blocking calls: only the machine
 * delays it.
 *
 *     node test/soak/writer.ts --path kern.log --style create --rate 50000 --seconds 40 --interval 200 --lag 20 --keep 20
 *
 * Creates the file, prints a line, and begins when the file exists that `--begin` names. Prints what it did when it
 * ends. `--snapshot FILE` is that of a reader: until the reader has read a file, the file is not deleted, and
 * writing continues without rotation.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { lineOf, monotonicMicros } from './line.ts';
import { createLiveFile } from './live-file.ts';
import { readSnapshot } from './record.ts';
import { firstFile, planRotation, type Style } from './rotation.ts';

/** The object that the writer prints at its end. */
export interface Written {
  lines: number;
  rotations: number;
  /** How many files got the inode number of an earlier one. */
  reused: number;
  seconds: number;
}

const { values } = parseArgs({
  options: {
    path: { type: 'string', default: 'kern.log' },
    style: { type: 'string', default: 'create' },
    rate: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '40' },
    interval: { type: 'string', default: '200' },
    lag: { type: 'string', default: '20' },
    keep: { type: 'string', default: '20' },
    begin: { type: 'string', default: '' },
    snapshot: { type: 'string' },
  },
});
const { path, snapshot } = values;
const style = values.style as Style;
const rate = Number(values.rate);
const interval = Number(values.interval);
const total = rate * Number(values.seconds);
/** After a halt it catches up in pieces, so that rotations happen in between. */
const mostAtOnce = Math.max(1, rate / 50);
const sleeping = new Int32Array(new SharedArrayBuffer(4));

const live = createLiveFile(firstFile(style, path));
const options = { style, path, lag: Number(values.lag), keep: Number(values.keep), endLine };
let rest = '';
let lines = 0;
let rotations = 0;
/** The number of lines at the end of each rotation. */
const ends: number[] = [];
let nextRotation = style === 'none' ? Infinity : interval;
let steps: { at: number; act: () => void }[] = [];

process.stdout.write('{"ready":true}\n');
while (!existsSync(values.begin)) Atomics.wait(sleeping, 0, 0, 1);
const began = performance.now();
while (lines < total || steps.length > 0) {
  const elapsed = performance.now() - began;
  writeDue(elapsed);
  for (; (steps[0]?.at ?? Infinity) <= elapsed; steps.shift()) steps[0]?.act();
  if (steps.length === 0 && ends.length < rotations) ends.push(lines);
  if (elapsed >= nextRotation && steps.length === 0 && lines < total && mayDelete()) rotate(elapsed);
  Atomics.wait(sleeping, 0, 0, 1);
}
endLine();
live.close();
const written: Written = { lines, rotations, reused: live.reused, seconds: (performance.now() - began) / 1000 };
process.stdout.write(`${JSON.stringify(written)}\n`);

function writeDue(elapsed: number): void {
  const due = Math.min(total, Math.floor((elapsed * rate) / 1000), lines + mostAtOnce);
  if (due <= lines) return;
  const stamp = new Date().toISOString().replace('Z', '000+00:00');
  const at = monotonicMicros();
  let text = rest;
  let last = '';
  for (; lines < due; lines++) text += last = lineOf(lines, stamp, at);
  const end = text.length - (last.length >> 1);
  live.write(text.slice(0, end));
  rest = text.slice(end);
}

function endLine(): void {
  live.write(rest);
  rest = '';
}

/** Whether the file that the next rotation deletes was read or, if it was written last, is open. */
function mayDelete(): boolean {
  // With a link, the new file is one of the files that are kept.
  const oldest = rotations - options.keep + (style === 'symlink' ? 1 : 0);
  const needed = style === 'delete' ? (ends.at(-1) ?? 0) + 1 : (ends[oldest] ?? 0);
  if (snapshot === undefined || needed === 0) return true;
  return (readSnapshot(snapshot)?.runs ?? []).some(([, to]) => to >= needed);
}

function rotate(elapsed: number): void {
  rotations++;
  nextRotation = Math.max(nextRotation + interval, elapsed);
  let at = elapsed;
  steps = planRotation(options, rotations, live).map(({ after, act }) => ({ at: (at += after), act }));
  for (; (steps[0]?.at ?? Infinity) <= elapsed; steps.shift()) steps[0]?.act();
}
