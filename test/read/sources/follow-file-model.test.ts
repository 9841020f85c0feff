import { mkdirSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { maxLineLength } from '../../../src/read/sources/framing/scanner.ts';
import { runs } from '../../runs.ts';
import { fakeTime } from './fake-time.ts';
import type { Heard } from './heard.ts';
import { createFollower, type FollowerOptions } from './log-follower.ts';
import { type Change, createWriter, type StoredFile, type Style, type WrittenLine } from './log-writer.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { forAll } from '../../for-all.ts';

const tables: {
  found: [title: string, Style, FollowerOptions['changesAre'], Action[]][];
} = {
  // Programs that generated tests have found, each with its style of rotation and how changes become known. Blocks have
  // 1,000 bytes and arrive as soon as they are requested.
  found: [
    [
      'an empty log is renamed, closed and deleted, and the log that gets its inode is renamed before it is looked at',
      'numbered',
      'polled',
      [
        { do: 'change', change: 'rotate', pauses: [] },
        { do: 'lines', count: 1, size: 14 },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [
            { do: 'change', change: 'rotate', pauses: [] },
            { do: 'change', change: 'rewrite', pauses: [] },
          ],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        { do: 'restart', how: 'stop', after: 0, down: [], rotation: [5, 5, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0] },
        { do: 'change', change: 'rewrite', pauses: [] },
        { do: 'change', change: 'rotate', pauses: [] },
      ],
    ],
    [
      'of two logs that are not read yet, a start finds only the newer one at its first look, and only the older one at its second',
      'numbered',
      'notified',
      [
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'lines', count: 1, size: 65534 }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        {
          do: 'restart',
          how: 'kill',
          after: 0,
          down: [{ do: 'lines', count: 1, size: 60000 }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        { do: 'restart', how: 'kill', after: 0, down: [], rotation: [3, 6, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0] },
      ],
    ],
    [
      'of a log that is not read yet and an older one that is packed, a start finds only the newer one at its first look, and only the older one at its second',
      'delayed gzip',
      'notified',
      [
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'change', change: 'rewrite', pauses: [] }],
          rotation: [3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        { do: 'lines', count: 1, size: 14 },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'change', change: 'rotate', pauses: [] }],
          rotation: [3, 6, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    ],
    [
      'of two logs that are read and one that is packed, a start finds one by an old name and the next one not at all',
      'gzip',
      'notified',
      [
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'lines', count: 1, size: 65534 }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'lines', count: 1, size: 14 }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        { do: 'restart', how: 'stop', after: 0, down: [], rotation: [3, 5, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0] },
      ],
    ],
    [
      'a log of which nothing was read for more than a minute is renamed, and written to once more after the next one was begun',
      'create',
      'notified',
      [
        { do: 'lines', count: 1, size: 65534 },
        { do: 'wait', time: 70000 },
        { do: 'change', change: 'rotate', pauses: [] },
        { do: 'lines', count: 1, size: 14 },
        { do: 'wait', time: 996 },
        { do: 'late', count: 1, size: 14 },
      ],
    ],
    [
      'a log that was read to its end and closed is packed while no agent runs, and the next one is written anew before',
      'kubelet',
      'notified',
      [
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'change', change: 'rewrite', pauses: [] }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        { do: 'change', change: 'replace', pauses: [] },
        { do: 'wait', time: 70000 },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [
            { do: 'change', change: 'rewrite', pauses: [] },
            { do: 'change', change: 'rotate', pauses: [] },
          ],
          rotation: undefined,
        },
      ],
    ],
    [
      'a log is cut off while no agent runs, then copied and emptied while one starts',
      'copytruncate',
      'notified',
      [
        { do: 'lines', count: 6, size: 184 },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [{ do: 'change', change: 'cut', pauses: [] }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    ],
    [
      'a log is cut off, and the agent that has noticed it is killed before it keeps a position',
      'create',
      'notified',
      [
        { do: 'part', size: 131076 },
        { do: 'restart', how: 'stop', after: 0, down: [], rotation: undefined },
        { do: 'change', change: 'cut', pauses: [] },
        {
          do: 'restart',
          how: 'kill',
          after: 0,
          down: [{ do: 'lines', count: 2, size: 14 }],
          rotation: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    ],
    [
      'a log is cut off before the newline of a line that no more can be expected of once the log is packed',
      'gzip',
      'notified',
      [
        { do: 'part', size: 65535 },
        {
          do: 'restart',
          how: 'stop',
          after: 0,
          down: [
            { do: 'lines', count: 1, size: 65534 },
            { do: 'change', change: 'cut', pauses: [] },
          ],
          rotation: [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    ],
  ],
};

vi.mock(import('../../../src/read/sources/tail/content.ts'), async (original) => {
  const { openPackedAtOnce } = await import('./tail/packed-at-once.ts');
  return { ...(await original()), openPackedContent: openPackedAtOnce };
});

/** Called whenever a file is looked at. */
let onLook = (): void => {};
vi.mock(import('../../../src/read/sources/tail/open-log.ts'), async (original) => {
  const { lookAt, openLog, readHead, ...rest } = await original();
  return {
    ...rest,
    lookAt: (path) => (onLook(), lookAt(path)),
    openLog: (path) => (onLook(), openLog(path)),
    readHead: (fd) => (onLook(), readHead(fd)),
  };
});

/**
 * A program of what happens to a log and to its follower. A model knows what has been written and what of it still
 * exists: each line comes once and in order, except lines that were written to a file after it was renamed. No line is
 * missing, except lines that were gone before anybody could read them.
 */
type Action = Write | { do: 'turns'; count: number } | { do: 'save'; after: number } | Restart;
/** Happens even while nobody follows the log. */
type Write =
  /** This many lines of this many bytes. */
  | { do: 'lines'; count: number; size: number }
  /** The first bytes of the next line; the next write ends it. */
  | { do: 'part'; size: number }
  /** Lines to the file that was last renamed. */
  | { do: 'late'; count: number; size: number }
  | { do: 'wait'; time: number }
  /** `pauses`: those between its steps. */
  | { do: 'change'; change: Change; pauses: number[] };
/**
 * Stops now, or after this many further lines, or as by SIGKILL, and continues from the saved state. `rotation`: the
 * log is rotated once more while the next follower begins, one step whenever this many files have been looked at.
 */
type Restart = { do: 'restart'; how: 'stop' | 'kill'; after: number; down: Write[]; rotation: number[] | undefined };

interface Program extends Omit<FollowerOptions, 'path' | 'time'> {
  style: Style;
  actions: Action[];
}

const folder = temporaryFolder();
const second = 1000;
const start = Date.UTC(2026, 10, 21, 12);
/** A shorter file is recognized only by its inode. */
const tellable = 160;
const numRuns = runs(3000);
const timeLimit = 120_000;
let folders = 0;

const small = fc.integer({ min: 14, max: 300 });
const size = fc.oneof(
  { weight: 8, arbitrary: small },
  { weight: 1, arbitrary: fc.integer({ min: maxLineLength - 2, max: maxLineLength + 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 200_000 }) },
);
const wait = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 3000 }) },
  { weight: 1, arbitrary: fc.constant(70_000) },
);
const lines = fc.record({ do: fc.constant('lines' as const), count: fc.integer({ min: 1, max: 12 }), size });
const writing: fc.Arbitrary<Write> = fc.oneof(
  { weight: 2, arbitrary: lines },
  fc.record({ do: fc.constant('part' as const), size }),
  fc.record({ do: fc.constant('wait' as const), time: wait }),
);
const late = fc.record({ do: fc.constant('late' as const), count: fc.integer({ min: 1, max: 3 }), size: small });
const turns = fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 3 }) });
const after = fc.integer({ min: 0, max: 8 });
const save = fc.record({ do: fc.constant('save' as const), after });
const pauses = fc.array(fc.constantFrom(0, 0, 1, 15, 120, 1000), { maxLength: 8 });
const looks = fc.array(fc.nat({ max: 8 }), { minLength: 12, maxLength: 12 });
const changes = (...change: Change[]): fc.Arbitrary<Write> =>
  fc.record({ do: fc.constant('change' as const), change: fc.constantFrom(...change), pauses });
const restarts = (...down: fc.Arbitrary<Write>[]): fc.Arbitrary<Restart> =>
  fc.record({
    do: fc.constant('restart' as const),
    how: fc.constantFrom('stop', 'kill'),
    after,
    down: down.length > 0 ? fc.array(fc.oneof(...down), { maxLength: 5 }) : fc.constant([]),
    rotation: down.length > 0 ? fc.option(looks, { nil: undefined }) : fc.constant(undefined),
  });
const programs = (...action: fc.Arbitrary<Action>[]): fc.Arbitrary<Program> =>
  fc.record({
    style: fc.constantFrom('create', 'numbered', 'gzip', 'delayed gzip', 'kubelet', 'copytruncate'),
    changesAre: fc.constantFrom('notified', 'deaf', 'polled'),
    isDelayed: fc.boolean(),
    blockSize: fc.constantFrom(1000, 65_536, 262_144),
    actions: fc.array(fc.oneof(...action), { maxLength: 20 }),
  });

test(
  'one file and any number of restarts: each line once, to the byte',
  () => {
    const program = programs(writing, writing, turns, save, restarts());
    forAll([program], { numRuns }, (each) => {
      const { seen, all, whole, counts, heard } = perform(each);
      expect(seen).toStrictEqual(whole);
      expect(counts).toStrictEqual({ lines: all.length, tooLong: all.filter(isTooLong).length });
      expect(heard.losses).toStrictEqual([]);
      expect(heard.notices.map(({ key }) => key)).not.toContain('replaced');
    });
  },
  timeLimit,
);

test(
  'nothing is lost if a file is rotated in any style while it is followed',
  () => {
    const program = programs(writing, writing, late, turns, changes('rotate'));
    forAll([program], { numRuns }, (each) => {
      const { seen, whole, inOrder, excused, heard } = perform(each);
      expect([...seen].toSorted(byNumber)).toStrictEqual(
        whole.filter((line) => !excused.has(line) || seen.includes(line)),
      );
      expect(inOrder).toStrictEqual(inOrder.toSorted(byNumber));
      if (excused.size === 0) expect(heard.losses.filter(({ count }) => count !== undefined)).toStrictEqual([]);
    });
  },
  timeLimit,
);

test(
  'rotated, truncated, deleted and replaced, also between restarts and at the first reading: no line comes twice or out of order, and no readable line is lost',
  () => {
    const change = changes('rotate', 'rotate', 'rotate', 'truncate', 'delete', 'replace', 'rewrite', 'switch');
    const program = programs(writing, writing, late, turns, save, change, change, restarts(writing, late, change));
    forAll([program], { numRuns }, (each) => expectEachOnce(perform(each)));
  },
  timeLimit,
);

test(
  'cut in half, also between restarts and beside rotation: no line comes twice, and none is lost that was written after it was noticed',
  () => {
    const cut = changes('cut');
    const program = fc.oneof(
      programs(writing, writing, turns, save, cut, restarts(writing, cut)),
      programs(writing, writing, turns, changes('rotate', 'cut', 'cut')),
    );
    forAll([program], { numRuns }, (each) => expectEachOnce(perform(each)));
  },
  timeLimit,
);

/**
 * Programs that generated tests have found, each with blocks of 1,000 bytes that arrive as soon as they are requested.
 */
const found: [title: string, Style, FollowerOptions['changesAre'], Action[]][] = tables.found;

test.each(found)('%s', (_, style, changesAre, actions) => {
  expectEachOnce(perform({ style, changesAre, isDelayed: false, blockSize: 1000, actions }));
});

interface Outcome {
  all: readonly WrittenLine[];
  /** The numbers of the lines that are whole and not too long. */
  whole: number[];
  /** The numbers of the lines that were handed over whole, in that order. */
  seen: readonly number[];
  /** The same, without lines that may come later. */
  inOrder: number[];
  /** The numbers of lines that may be missing. */
  excused: Set<number>;
  counts: { lines: number; tooLong: number };
  heard: Heard;
}

/** Each line comes once, except for those that no reader could have read. */
function expectEachOnce({ seen, whole, inOrder, excused }: Outcome): void {
  expect(seen.length).toBe(new Set(seen).size);
  expect(inOrder).toStrictEqual(inOrder.toSorted(byNumber));
  expect(whole.filter((line) => !seen.includes(line) && !excused.has(line))).toStrictEqual([]);
}

function perform({ style, actions, ...following }: Program): Outcome {
  const directory = folder(`run-${++folders}`);
  mkdirSync(directory);
  const time = fakeTime(start);
  const writer = createWriter({ folder: directory, style, now: time.now, shortest: tellable });
  const follower = createFollower({ path: writer.path, time, ...following });
  const { heard } = follower;
  const excused = new Set<number>();
  const unordered = new Set<number>();
  /** A file that was cut off and not yet looked at again: new content may be taken for the earlier content. */
  let cutOff: StoredFile | undefined;
  /**
   * The same for a file that was looked at since, by an agent that has not saved a position. `from`: the first line
   * since.
   */
  let unkept: { file: StoredFile; from: number; keeps: number } | undefined;
  /** Files that are held open. */
  const held = new Set<StoredFile>();
  let runningSince: number | undefined;
  /** The number of losses when another one became due. */
  let owed: { losses: number; at: number } | undefined;

  pass(1);
  begin();
  for (const action of actions) act(action);
  write({ do: 'lines', count: 1, size: 100 });
  time.advance(5 * second);
  notice();
  follower.stop(0);
  rmSync(directory, { recursive: true });

  const all = writer.lines;
  const { seen } = follower;
  return {
    all,
    whole: [...all.keys()].filter((number) => all[number]?.ended && !isTooLong(all[number])),
    seen,
    inOrder: seen.filter((number) => !all[number]?.isLate && !all[number]?.isCut && !unordered.has(number)),
    excused,
    counts: follower.counts,
    heard,
  };

  function act(action: Action): void {
    switch (action.do) {
      case 'turns':
        for (let i = 0; i < action.count; i++) time.step();
        return notice();
      case 'save':
        return follower.save(action.after);
      case 'restart':
        if (action.how === 'kill') {
          follower.kill();
          forgetCut();
        } else follower.stop(action.after);
        runningSince = owed = undefined;
        held.clear();
        notice();
        for (const number of unordered) if (!follower.seen.includes(number)) excused.add(number);
        for (const each of action.down) write(each);
        excuseUnknown();
        return action.rotation === undefined ? begin() : beginDuringRotation(action.rotation);
      default:
        return write(action);
    }
  }

  /** A file that was empty when it was renamed is like any other, so nobody may look for what came into it late. */
  function excuseUnknown(): void {
    const taken = new Set(follower.seen);
    for (const file of writer.found())
      if (file.lines.every((line) => writer.lines[line]?.isLate && !taken.has(line)))
        for (const line of file.lines) excused.add(line);
  }

  function forgetCut(): void {
    if (unkept?.keeps !== follower.keeps) return;
    const { file, from } = unkept;
    cutOff = file;
    for (const line of file.lines) if (line >= from) excused.add(line);
  }

  function begin(): void {
    follower.start();
    cutOff = undefined;
    runningSince = time.now();
    for (const file of writer.found()) held.add(file);
    notice();
  }

  function beginDuringRotation(gaps: readonly number[]): void {
    const rotation = writer.change('rotate');
    const left = [...gaps];
    let untilStep = left.shift();
    noticeUnread();
    onLook = () => {
      if (untilStep === undefined || untilStep-- > 0) return;
      untilStep = undefined;
      if (rotation.next().done !== true) untilStep = left.shift();
      notice();
    };
    begin();
    pass(1500);
    onLook = () => {};
    for (const what of rotation) step(what === 'moved');
  }

  /** If a file is cut off before its beginning was read, this is not noticed; its copy is found later. */
  function noticeUnread(): void {
    const { live } = writer;
    if (live === undefined || style !== 'copytruncate' || live.lines.some((line) => follower.seen.includes(line)))
      return;
    for (const line of live.lines) unordered.add(line);
  }

  function write(action: Write): void {
    const { length } = writer.lines;
    writeOne(action);
    for (const number of writer.lines.keys())
      if (writer.lines[number]?.isJoined || (number >= length && cutOff !== undefined && cutOff === writer.live))
        excused.add(number);
  }

  function writeOne(action: Write): void {
    switch (action.do) {
      case 'lines':
        writer.writeLines(action.count, action.size);
        return step(false);
      case 'part':
        writer.writePart(action.size);
        return step(false);
      case 'late':
        writer.writeLate(action.count, action.size);
        return step(false);
      case 'wait':
        return pass(action.time);
      case 'change': {
        const left = [...action.pauses];
        const { live } = writer;
        const losses = heard.losses.length;
        const from = writer.lines.length;
        noticeUnread();
        const isKnown = live !== undefined && held.has(live) && live.lines.some((line) => follower.seen.includes(line));
        for (const what of writer.change(action.change)) {
          step(what === 'moved');
          pass(left.shift() ?? 0);
        }
        if (action.change === 'cut') {
          cutOff = live;
          if (runningSince === undefined) return;
          pass(1500);
          cutOff = undefined;
          const { keeps } = follower;
          if (live !== undefined && (unkept?.file !== live || unkept.keeps !== keeps))
            unkept = { file: live, from, keeps };
        }
        if (isKnown && (action.change === 'truncate' || action.change === 'rewrite') && runningSince !== undefined)
          owed ??= { losses, at: time.now() };
        return;
      }
      default:
        action satisfies never;
    }
  }

  function step(isMoved: boolean): void {
    if (runningSince !== undefined) follower.notify(isMoved);
    notice();
    // No two changes happen at the same time.
    pass(1);
  }

  function pass(delay: number): void {
    time.advance(delay);
    notice();
  }

  /** Notes what has been looked at by now, and what is gone. */
  function notice(): void {
    const there = writer.found();
    if (runningSince !== undefined) {
      const lastLook = time.now() - second;
      for (const file of there) if (Math.max(file.since, runningSince) <= lastLook && isNoCopy(file)) held.add(file);
      if (owed !== undefined && owed.at <= lastLook) {
        expect(heard.losses.length).toBeGreaterThan(owed.losses);
        owed = undefined;
      }
    }
    const readable = new Set([...there, ...held].flatMap((file) => file.lines));
    const taken = new Set(follower.seen);
    for (const number of writer.lines.keys()) if (!readable.has(number) && !taken.has(number)) excused.add(number);
  }
}

/** Whether the original no longer exists. */
function isNoCopy({ copyOf }: StoredFile): boolean {
  return copyOf === undefined || copyOf.file.truncations !== copyOf.truncations;
}

function isTooLong({ bytes }: WrittenLine): boolean {
  return bytes > maxLineLength;
}

function byNumber(a: number, b: number): number {
  return a - b;
}
