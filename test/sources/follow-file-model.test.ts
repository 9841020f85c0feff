import { mkdirSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxLineLength } from '../../src/sources/scanner.ts';
import type { Heard } from './heard.ts';
import { createFollower } from './log-follower.ts';
import { createWriter, type WrittenLine } from './log-writer.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * A program of what happens to a log and to who follows it, and a model that knows what has been written: lines come in order,
 * none twice, and none is missing but those of a file that was truncated or taken away before they could be read.
 */
type Action =
  /** So many lines of so many bytes. */
  | { do: 'lines'; count: number; size: number }
  /** The first bytes of the next line; whatever is written next ends it. */
  | { do: 'part'; size: number }
  | { do: 'wait'; time: number }
  | { do: 'turns'; count: number }
  /** Stop now, or after so many further lines, and go on with the position. */
  | { do: 'restart'; after: number; down: Change[] }
  | Change;
type Change = { do: 'truncate'; count: number } | { do: 'rename'; count: number } | { do: 'delete'; count: number };

const folder = temporaryFolder();
const second = 1000;
let runs = 0;

const size = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 14, max: 300 }) },
  { weight: 2, arbitrary: fc.integer({ min: maxLineLength - 2, max: maxLineLength + 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 400_000 }) },
);
const steady: fc.Arbitrary<Action>[] = [
  fc.record({ do: fc.constant('lines'), count: fc.integer({ min: 1, max: 20 }), size }),
  fc.record({ do: fc.constant('part'), size }),
  fc.record({ do: fc.constant('wait'), time: fc.integer({ min: 0, max: 3000 }) }),
  fc.record({ do: fc.constant('turns'), count: fc.integer({ min: 1, max: 3 }) }),
];
const change: fc.Arbitrary<Change> = fc.record({
  do: fc.constantFrom('truncate', 'rename', 'delete'),
  count: fc.integer({ min: 0, max: 20 }),
});
const after = fc.integer({ min: 0, max: 8 });
const program = (...more: fc.Arbitrary<Action>[]): fc.Arbitrary<Action[]> =>
  fc.array(fc.oneof(...steady, ...more), { maxLength: 25 });

test('one file and any number of restarts: each line once, to the byte', () => {
  const restart = fc.record({ do: fc.constant('restart' as const), after, down: fc.constant<Change[]>([]) });
  fc.assert(
    fc.property(program(restart), (actions) => {
      const { seen, lines, whole, tooLong, counts, heard } = perform(actions);
      expect(seen).toStrictEqual(whole);
      expect(counts).toStrictEqual({ lines: lines.length, tooLong });
      expect(heard.losses).toStrictEqual([]);
      expect(heard.notices.map(({ key }) => key)).not.toContain('replaced');
    }),
    { numRuns: 300 },
  );
});

test('renamed, truncated, deleted and made anew: none twice, none out of order, none lost unsaid', () => {
  const restart = fc.record({ do: fc.constant('restart' as const), after, down: fc.array(change, { maxLength: 2 }) });
  fc.assert(
    fc.property(program(restart, change, change), (actions) => {
      const { seen, lines, whole, excused, heard } = perform(actions);
      expect(seen).toStrictEqual(seen.toSorted((a, b) => a - b));
      expect(new Set(seen).size).toBe(seen.length);
      const missing = new Set(whole).difference(new Set(seen));
      expect([...missing.difference(excused)]).toStrictEqual([]);
      const known = new Set(seen.map((number) => lines[number]?.generation));
      const isTold = heard.losses.length > 0 || heard.notices.some(({ key }) => key === 'replaced');
      expect(isTold || ![...missing].some((number) => known.has(lines[number]?.generation))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('renamed while it is followed: nothing is lost', () => {
  const rename = fc.record({ do: fc.constant('rename' as const), count: fc.integer({ min: 0, max: 20 }) });
  fc.assert(
    fc.property(program(rename), (actions) => {
      const { seen, whole, heard } = perform(actions);
      expect(seen).toStrictEqual(whole);
      expect(heard.losses).toStrictEqual([]);
    }),
    { numRuns: 300 },
  );
});

interface Outcome {
  lines: readonly WrittenLine[];
  /** Numbers of the lines that are whole and not too long. */
  whole: number[];
  tooLong: number;
  /** Numbers of those handed over whole, in that order. */
  seen: readonly number[];
  /** Numbers of those that may be missing. */
  excused: Set<number>;
  counts: { lines: number; tooLong: number };
  heard: Heard;
}

function perform(actions: readonly Action[]): Outcome {
  const directory = folder(`run-${++runs}`);
  mkdirSync(directory);
  const writer = createWriter(`${directory}/kern.log`);
  const follower = createFollower(writer.path);
  const { heard, seen } = follower;
  const excused = new Set<number>();

  follower.start();
  for (const action of actions) act(action);
  writer.endLine();
  follower.time.advance(60 * second);
  follower.stop();
  rmSync(directory, { recursive: true });

  const { lines } = writer;
  return {
    lines,
    whole: [...lines.keys()].filter((number) => lines[number]?.ended && !isTooLong(lines[number])),
    tooLong: lines.filter(isTooLong).length,
    seen,
    excused,
    counts: follower.counts,
    heard,
  };

  function act(action: Action): void {
    switch (action.do) {
      case 'lines':
        // A file that comes into being is seen within a second.
        if (writer.writeLines(action.count, action.size)) follower.time.advance(second);
        return;
      case 'part':
        if (writer.writePart(action.size)) follower.time.advance(second);
        return;
      case 'wait':
        return follower.time.advance(action.time);
      case 'turns':
        for (let i = 0; i < action.count; i++) follower.time.step();
        return;
      case 'restart':
        follower.stop(action.after);
        for (const each of action.down) {
          excuse(writer.generation);
          apply(each);
        }
        if (follower.inode !== writer.inode) excuse(writer.generation - 1);
        return follower.start();
      case 'truncate':
      case 'rename':
      case 'delete':
        return changeWhileFollowed(action);
      default:
        action satisfies never;
    }
  }

  function changeWhileFollowed(action: Change): void {
    const told = heard.losses.length;
    const isKnown = seen.some((number) => writer.lines[number]?.generation === writer.generation);
    if (action.do === 'truncate') excuse(writer.generation);
    apply(action);
    follower.time.advance(second);
    if (action.do === 'truncate' && isKnown) expect(heard.losses.length).toBe(told + 1);
  }

  function apply({ do: what, count }: Change): void {
    writer[what]();
    if (count > 0) writer.writeLines(count, 40);
  }

  /** What has not been read of that file, or of those before it, may never be. */
  function excuse(generation: number): void {
    for (const [number, line] of writer.lines.entries())
      if (line.generation <= generation && !seen.includes(number)) excused.add(number);
  }
}

function isTooLong({ bytes }: WrittenLine): boolean {
  return bytes > maxLineLength;
}
