import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Position, Source } from '../../src/read/sources/source.ts';
import { type Heard, listening } from '../read/sources/heard.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { type Ground, grounds } from './grounds.ts';
import { forAll } from '../for-all.ts';

const path = temporaryFolder();
let runs = 0;

/** Every source keeps the promises of `source.ts`. */
describe.each(Object.entries(grounds))('%s', (_, prepare) => {
  test('hands over every line once and in order', () => {
    const { write, settle, heard } = begun();
    for (const count of [1, 0, 3, 200]) {
      for (let i = 0; i < count; i++) write(nextText());
      settle();
    }
    expect(numbersIn(heard)).toEqual(Array.from({ length: 204 }, (__, number) => number));
    expect(heard.losses).toEqual([]);
  });

  test('counts what it reads', () => {
    const { write, settle, source } = begun();
    for (let i = 0; i < 5; i++) write(nextText());
    settle();
    expect(source.counts).toMatchObject({ lines: 5, tooLong: 0 });
    expect(source.counts.bytes).toBeGreaterThan(5 * 'IN=0'.length);
    expect(source.state).toBe('reading');
  });

  test('continues from any position it ever had, with the counts until then', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('write' as const), lines: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constantFrom('settle', 'keep', 'stop', 'kill'), lines: fc.constant(0) }),
    );
    forAll([fc.array(step, { maxLength: 20 })], { numRuns: 100 }, (steps) => {
      const ground = prepare(path(`run-${++runs}`));
      let written = 0;
      let seen: number[] = [];
      const kept: { position: Position | undefined; seen: number[] } = { position: undefined, seen: [] };
      let source = start();
      ground.settle();
      // An agent does this as soon as it has begun.
      kept.position = copyOf(source.position);
      for (const { do: what, lines } of [...steps, { do: 'settle', lines: 0 } as const]) {
        for (let i = 0; i < lines; i++) ground.write(`IN=${written++}`);
        if (what === 'settle') ground.settle();
        if (what === 'keep' || what === 'stop')
          Object.assign(kept, { position: copyOf(source.position), seen: [...seen] });
        if (what === 'stop' || what === 'kill') {
          source.stop();
          source = start();
        }
      }
      ground.settle();
      source.stop();
      expect(seen).toEqual(Array.from({ length: written }, (__, number) => number));

      function start(): Source {
        seen = [...kept.seen];
        const mine = seen;
        const { heard, listener } = listening(() => mine.push(numberIn(heard.lines.at(-1)?.text ?? '')));
        const next = ground.open(kept.position, listener);
        next.start();
        return next;
      }
    });
  });

  test('after a stop, it hands over nothing, waits for nothing, and keeps its position', () => {
    const { write, settle, heard, source, time } = begun();
    write(nextText());
    settle();
    source.stop();
    source.stop();
    const position = copyOf(source.position);
    write(nextText());
    settle();
    expect(numbersIn(heard)).toEqual([0]);
    expect(source.state).toBe('stopped');
    expect(copyOf(source.position)).toEqual(position);
    expect(time.pending).toBe(0);
  });

  test('if the listener stops it, that line was the last, and the next source continues after it', () => {
    const ground = prepare(path(`run-${++runs}`));
    const first = begin(ground, undefined, (source, heard) => heard.lines.length === 2 && source.stop());
    ground.settle();
    for (let number = 0; number < 5; number++) ground.write(`IN=${number}`);
    ground.settle();
    const second = begin(ground, copyOf(first.source.position));
    ground.settle();
    expect([numbersIn(first.heard), numbersIn(second.heard)]).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
    second.source.stop();
  });

  test('an error of the listener passes through', () => {
    const ground = prepare(path(`run-${++runs}`));
    // Reading a device also ends with this code.
    const own = Object.assign(new Error('a defect'), { code: 'EAGAIN' });
    const { source } = begin(ground, undefined, () => {
      throw own;
    });
    ground.settle();
    ground.write(nextText());
    expect(() => ground.settle()).toThrow(own);
    source.stop();
  });

  test('gives each line its place and time', () => {
    const { write, settle, heard, source, time } = begun();
    write(nextText());
    settle();
    const [line] = heard.lines;
    expect(line?.source.startsWith('/') || line?.source === source.name).toBe(true);
    expect(Math.abs((line?.time ?? 0) - time.now())).toBeLessThan(60_000);
  });

  function begun(): Begun {
    const ground = prepare(path(`run-${++runs}`));
    const one = begin(ground, undefined);
    ground.settle();
    texts = 0;
    return one;
  }
});

interface Begun extends Ground {
  source: Source;
  heard: Heard;
}

let texts = 0;

function nextText(): string {
  return `IN=${texts++}`;
}

function begin(
  ground: Ground,
  saved: Position | undefined,
  onLine: (source: Source, heard: Heard) => void = () => {},
): Begun {
  const { heard, listener } = listening(() => onLine(source, heard));
  const source: Source = ground.open(saved, listener);
  source.start();
  return { ...ground, source, heard };
}

function numbersIn({ lines }: Heard): number[] {
  return lines.map(({ text }) => numberIn(text));
}

function numberIn(text: string): number {
  return Number(/IN=(\d+)$/.exec(text)?.[1]);
}

function copyOf(position: Position | undefined): Position | undefined {
  return position === undefined ? undefined : (JSON.parse(JSON.stringify(position)) as Position);
}
