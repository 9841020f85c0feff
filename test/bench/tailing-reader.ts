/**
 * One figure of `tailing.ts`, in a process of its own. Prints it as JSON.
 *
 *     node test/bench/tailing-reader.ts follow FILE     to its last line, which has a needle; seconds, and lines handed over
 *     node test/bench/tailing-reader.ts read FILE       blocks, and nothing done with them; seconds
 *     node test/bench/tailing-reader.ts cut FILE        the same, and text is made of each line
 *     node test/bench/tailing-reader.ts idle FOLDER     until it is killed; prints when all files in it are watched
 *     node test/bench/tailing-reader.ts latency FILE    numbered lines, until SIGTERM; microseconds from write to hand-over
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { needlesOfAll } from '../../src/parsing/formats.ts';
import { createFollowFile } from '../../src/sources/tail/follow-file.ts';
import type { Source } from '../../src/sources/source.ts';
import { monotonicMicros, readNumbered } from '../soak/line.ts';

const blockSize = 256 * 1024;

const [mode, path = ''] = process.argv.slice(2);
if (mode === 'follow') followToEnd();
else if (mode === 'read' || mode === 'cut') readToEnd(mode === 'cut');
else if (mode === 'idle') watchAll();
else measureLatency();

function followToEnd(): void {
  let handedOver = 0;
  const began = performance.now();
  const source = follow(path, (text) => {
    handedOver++;
    if (!text.includes('IN=last')) return;
    const seconds = (performance.now() - began) / 1000;
    print({ seconds, handedOver });
    process.exit();
  });
  source.start();
}

function readToEnd(cut: boolean): void {
  const block = Buffer.allocUnsafeSlow(blockSize);
  const began = performance.now();
  const fd = openSync(path, 'r');
  const { size } = fstatSync(fd);
  let lines = 0;
  let rest = '';
  for (let offset = 0; offset < size;) {
    const length = readSync(fd, block, 0, blockSize, null);
    offset += length;
    if (!cut) continue;
    const pieces = (rest + block.toString('latin1', 0, length)).split('\n');
    rest = pieces.pop() ?? '';
    lines += pieces.length;
  }
  closeSync(fd);
  print({ seconds: (performance.now() - began) / 1000, handedOver: lines });
}

function watchAll(): void {
  const sources = readdirSync(path).map((name) => follow(join(path, name), () => {}));
  for (const source of sources) source.start();
  const look = setInterval(() => {
    if (sources.some(({ state }) => state !== 'reading')) return;
    clearInterval(look);
    print({ watched: sources.length });
  }, 100);
}

function measureLatency(): void {
  const took: number[] = [];
  const source = follow(path, (text) => {
    const line = readNumbered(text);
    if (line !== undefined) took.push(monotonicMicros() - line.at);
  });
  process.once('SIGTERM', () => {
    print(took);
    process.exit();
  });
  source.start();
  const look = setInterval(() => {
    if (source.state !== 'reading') return;
    clearInterval(look);
    print('reading');
  }, 100);
}

function follow(file: string, onLine: (text: string) => void): Source {
  return createFollowFile({
    path: file,
    needles: needlesOfAll,
    saved: undefined,
    from: 'start',
    listener: {
      onLine: ({ text }) => onLine(text),
      onLost: ({ reason }) => console.error(reason),
      onNotice: ({ text }) => console.error(text),
    },
  });
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
