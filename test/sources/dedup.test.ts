import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Millis } from '../../src/model/log-line.ts';
import { createDedup, type Dedup, type DedupOptions } from '../../src/sources/dedup.ts';
import type { Json } from '../../src/sources/source.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const names = ['/dev/kmsg', '/var/log/kern.log', 'journal'];
const two = names.slice(0, 2);

interface Shown {
  source: string;
  text: string;
  time: Millis;
}

function once(options: Partial<DedupOptions> = {}): Dedup {
  return createDedup({ sources: two, saved: undefined, ...options });
}

/** Restarts from a snapshot. */
function restarted(old: Dedup, options: Partial<DedupOptions> = {}): Dedup {
  return once({ ...options, saved: JSON.parse(JSON.stringify(old.state())) as Json });
}

function show(filter: Dedup, source: string, text: string, time = noon): boolean {
  return filter.isFirst(source, text, time);
}

const [kmsg = '', file = ''] = names;

test('the second source shows nothing new, and what it has beyond the first is', () => {
  const filter = once();
  expect([show(filter, kmsg, 'IN=1'), show(filter, kmsg, 'IN=2'), show(filter, kmsg, 'IN=2')]).toStrictEqual([
    true,
    true,
    true,
  ]);
  expect([show(filter, file, 'IN=1'), show(filter, file, 'IN=2')]).toStrictEqual([false, false]);
  expect([show(filter, file, 'IN=2'), show(filter, file, 'IN=2')]).toStrictEqual([false, true]);
  expect([show(filter, kmsg, 'IN=2'), show(filter, kmsg, 'IN=2')]).toStrictEqual([false, true]);
  expect(filter.counts).toStrictEqual({ repeats: 4, forgotten: 0 });
});

test.each<[string, readonly string[], string]>([
  ['alone', [kmsg], kmsg],
  ['that was not named', two, '/var/log/other.log'],
])('a source %s: every line is the first, and none is remembered', (_, sources, source) => {
  const filter = once({ sources });
  const before = JSON.stringify(filter.state());
  expect([show(filter, source, 'IN=1'), show(filter, source, 'IN=1')]).toStrictEqual([true, true]);
  expect(JSON.stringify(filter.state())).toBe(before);
});

test.each<[number, boolean]>([
  [0, false],
  [999, false],
  [60_000, false],
  [-60_000, false],
  [90_000, true],
  [-90_000, true],
])('a stamp that is off by %i ms: the line is the first: %s', (off, isFirst) => {
  for (let start = noon; start < noon + 60_000; start += 7000) {
    const filter = once();
    show(filter, kmsg, 'IN=', start);
    expect(show(filter, file, 'IN=', start + off)).toBe(isFirst);
  }
});

test.each<[string, string, string]>([
  ['an uptime', 'calico-drop: IN=eth0 URGP=0 ', '[12345.678901] calico-drop: IN=eth0 URGP=0 '],
  ['a padded uptime', 'IN=eth0', '[    5.678901] IN=eth0'],
  ['blanks at the end', 'IN=eth0 URGP=0 ', 'IN=eth0 URGP=0'],
  ['rsyslog escapes', 'a\tb\x1b[1m\x7f IN=', 'a#011b#033[1m#177 IN='],
  ['rsyslog escapes of 8 bits', 'dr\xc3\xb6p IN=', 'dr#303#266p IN='],
  ['busybox', 'a\x01\nb IN=', 'a^A b IN='],
  ['JSON', 'dr\xc3\xb6p IN=', 'dr\xf6p IN='],
  ['a text that looks escaped', 'issue #123^A IN=', 'issue #123^A IN='],
])('the same but for %s', (_, one, other) => {
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const) {
    const filter = once();
    expect([show(filter, kmsg, first), show(filter, file, second)]).toStrictEqual([true, false]);
  }
});

test.each<[string, string]>([
  ['IN=eth0 ID=1', 'IN=eth0 ID=2'],
  ['IN=eth0', 'IN=eth01'],
  ['fw#8 IN=', 'fw#9 IN='],
  ['[fw] IN=', 'IN='],
  ['[1] IN=', 'IN='],
  ['', 'IN='],
])('"%s" is not "%s"', (one, other) => {
  const filter = once();
  expect([show(filter, kmsg, one), show(filter, file, other)]).toStrictEqual([true, true]);
});

describe('what it costs', () => {
  const forgetful = ['a', 'a', 'b', 'c', 'd'];

  test('of too many texts the oldest is forgotten and counted; a source that repeats another one shows it in vain', () => {
    const filter = once({ max: 3, maxHashes: 0 });
    for (const text of forgetful) show(filter, kmsg, text);
    expect(filter.counts.forgotten).toBe(2);
    expect(['d', 'c', 'b', 'a', 'a', 'a'].map((text) => show(filter, file, text))).toStrictEqual([
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
  });

  test('nothing of a source that has all lines is the first again, though it has repeated none yet', () => {
    const filter = once({ max: 3, maxHashes: 0, whole: two });
    for (let number = 0; number < 100; number++) expect(show(filter, kmsg, `IN=${number}`)).toBe(true);
    for (let number = 0; number < 100; number++) expect(show(filter, file, `IN=${number}`)).toBe(false);
    expect(filter.counts).toEqual({ repeats: 100, forgotten: 97 });
  });

  test('what is forgotten is the first again where that was asked for', () => {
    const filter = once({ max: 3, countsForgotten: true });
    for (const text of forgetful) show(filter, kmsg, text);
    expect(['d', 'c', 'b', 'a'].map((text) => show(filter, file, text))).toStrictEqual([false, false, false, true]);
  });

  test('lines that one source has for itself take nothing from another one, whatever is forgotten of them', () => {
    const filter = once({ max: 3 });
    for (let number = 0; number < 100; number++) {
      expect(show(filter, file, `IN=file${number}`)).toBe(true);
      expect(show(filter, kmsg, `IN=kernel${number}`)).toBe(true);
    }
    expect(filter.counts.repeats).toBe(0);
  });

  test('forgotten lines of two minutes ago take nothing from a source', () => {
    const filter = once({ max: 1, maxHashes: 0 });
    for (const text of ['a', 'b', 'c']) show(filter, kmsg, text);
    expect(show(filter, file, 'c')).toBe(false);
    expect(show(filter, file, 'd', noon + 120_000)).toBe(true);
    expect(show(filter, file, 'e', noon)).toBe(false);
  });

  test('what all have shown is not missed', () => {
    const filter = once({ max: 3 });
    for (let number = 0; number < 100; number++)
      for (const source of two) show(filter, source, `IN=${number}`, noon + number);
    expect(filter.counts).toStrictEqual({ repeats: 100, forgotten: 0 });
  });

  test('a source may be that many texts behind', () => {
    const filter = once({ max: 10 });
    for (let number = 0; number < 100; number++) {
      show(filter, kmsg, `IN=${number}`);
      if (number >= 9) expect(show(filter, file, `IN=${number - 9}`)).toBe(false);
    }
    expect(filter.counts.forgotten).toBe(0);
  });

  test('a snapshot holds only what is waited for, and only the latest of very much', () => {
    const filter = once();
    for (let number = 0; number < 5000; number++) for (const source of two) show(filter, source, `IN=${number}`);
    expect(filter.state()).toMatchObject({ sources: two, awaited: [], left: 0 });
    for (let number = 0; number < 5000; number++) show(filter, kmsg, `OUT=${number}`);
    expect(JSON.stringify(filter.state()).length).toBeLessThan(72 * 1024);
    const next = restarted(filter);
    expect(next.counts).toStrictEqual({ repeats: 0, forgotten: 5000 - 2048 });
    expect([show(next, file, 'OUT=4999'), show(next, file, 'OUT=2952')]).toStrictEqual([false, false]);
    expect(show(next, file, 'OUT=2951')).toBe(false);
    expect(show(next, kmsg, 'OUT=5000')).toBe(true);
  });

  test('after a restart, too, the oldest goes first', () => {
    const filter = once({ max: 3, maxHashes: 0 });
    for (const text of ['a', 'b', 'c']) show(filter, kmsg, text);
    const next = restarted(filter, { max: 3, maxHashes: 0 });
    show(next, kmsg, 'd');
    expect(['d', 'c', 'b', 'a'].map((text) => show(next, file, text))).toStrictEqual([false, false, false, false]);
    expect(next.counts).toStrictEqual({ repeats: 4, forgotten: 1 });
  });
});

describe('a restart', () => {
  test('a restart with other sources goes on with what remains of the old ones, and a new one waits for nothing', () => {
    const [, , journal = ''] = names;
    const filter = once();
    show(filter, kmsg, 'IN=');
    const next = restarted(filter, { sources: [journal, file] });
    expect(show(next, file, 'IN=')).toBe(false);
    expect(show(next, journal, 'IN=')).toBe(true);
  });

  test.each<[string, Json | undefined]>([
    ['nothing', undefined],
    ['null', null],
    ['of one source', {}],
    ['a list', [1]],
    ['no list', { sources: two, awaited: 'x', left: 1 }],
    ['entries that are none', { sources: two, awaited: [1, ['x'], [1, [1, 1]], ['x', 'y']], left: 'x' }],
    ['counts that are none', { sources: two, awaited: [['x', [-1, 'y']]], left: -1 }],
    ['forgotten lines that are none', { sources: two, awaited: [], left: 0, forgotten: 'x' }],
    [
      'hashes that are none',
      {
        sources: two,
        awaited: [],
        left: 0,
        forgotten: { hashes: [1, ['x'], [1, 9, 5, 1], [1, -1, 5, 1], [1, 1, 'x', 1], [1, 1, 5, -7]] },
      },
    ],
    [
      'periods that are none',
      { sources: two, awaited: [], left: 0, forgotten: { periods: [1, ['x', [1]]], repeats: 1 } },
    ],
  ])('a restart with %s saved begins with nothing', (_, saved) => {
    const filter = once({ saved });
    expect(filter.state()).toMatchObject({ sources: two, awaited: [], left: 0 });
    expect(filter.counts.forgotten).toBe(0);
    expect(show(filter, kmsg, 'IN=')).toBe(true);
  });
});

const texts = ['IN=1', 'IN=2', 'table full'];
const text = fc.constantFrom(...texts);
const sources = fc.constantFrom(two, names);

/** How many of the lines of each text are news, restarted before some of them. */
function newsOf(lines: readonly Shown[], options: Partial<DedupOptions>, restarts: readonly number[]): number[] {
  let filter = once(options);
  const news = new Map(texts.map((each) => [each, 0]));
  for (const [at, line] of lines.entries()) {
    if (restarts.includes(at)) filter = restarted(filter, options);
    if (show(filter, line.source, line.text, line.time)) news.set(line.text, (news.get(line.text) as number) + 1);
  }
  return [...news.values()];
}

/** Any order in which each source keeps its own. `turns` say whose turn it is. */
function interleave(logs: readonly (readonly Shown[])[], turns: readonly number[]): Shown[] {
  const rest = logs.map((log) => [...log]);
  const lines: Shown[] = [];
  for (let turn = 0; rest.some((log) => log.length > 0); turn++) {
    const left = rest.filter((log) => log.length > 0);
    const whose = left[(turns[turn % turns.length] as number) % left.length] as Shown[];
    lines.push(whose.shift() as Shown);
  }
  return lines;
}

/** The second never before the first. */
function inOrder(ahead: readonly Shown[], behind: readonly Shown[], order: readonly number[]): Shown[] {
  const lines: Shown[] = [];
  let shown = 0;
  for (const [index, line] of ahead.entries()) {
    lines.push(line);
    for (let more = order[index % order.length] as number; more > 0 && shown <= index; more--)
      lines.push(behind[shown++] as Shown);
  }
  return [...lines, ...behind.slice(shown)];
}

const half = (time: Millis): number => Math.floor(time / 30_000);

const turns = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 50 });
const restarts = fc.array(fc.nat({ max: 60 }), { maxLength: 3 });

describe('the number of lines', () => {
  test('the number of lines within a window is the most that any source has, whatever each has lost, in any order', () => {
    const line = fc.record({ source: fc.nat({ max: 2 }), text, off: fc.integer({ min: 0, max: 60_000 }) });
    fc.assert(
      fc.property(
        sources,
        fc.integer({ min: noon, max: noon + 60_000 }),
        fc.array(line, { maxLength: 60 }),
        restarts,
        (among, start, shown, at) => {
          const lines = shown.map(({ source, text: each, off }) => ({
            source: among[source % among.length] as string,
            text: each,
            time: start + off,
          }));
          const most = texts.map((each) => {
            const ofText = lines.filter((one) => one.text === each);
            return Math.max(...among.map((name) => ofText.filter(({ source }) => source === name).length));
          });
          expect(newsOf(lines, { sources: among }, at)).toStrictEqual(most);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('the number of lines over hours is that of those logged, each source with stamps and a pace of its own', () => {
    const stamp = fc.constantFrom<(time: Millis) => Millis>(
      (time) => time,
      (time) => Math.floor(time / 1000) * 1000,
      (time) => Math.ceil(time / 1000) * 1000,
      (time) => time + 45_000,
      (time) => time - 15_000,
    );
    // Many at once, one a second, and now and then.
    const gap = fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 2000 }), fc.nat({ max: 1_000_000 }));
    fc.assert(
      fc.property(
        fc.array(fc.record({ text, gap }), { maxLength: 60 }),
        fc.array(stamp, { minLength: 2, maxLength: 3 }),
        turns,
        restarts,
        (logged, stamps, order, at) => {
          const among = names.slice(0, stamps.length);
          let now = noon;
          const log = logged.map((line) => ({ text: line.text, time: (now += line.gap) }));
          const logs = stamps.map((stampOf, place) =>
            log.map((line) => ({ source: among[place] as string, text: line.text, time: stampOf(line.time) })),
          );
          const expected = texts.map((each) => log.filter((line) => line.text === each).length);
          expect(newsOf(interleave(logs, order), { sources: among }, at)).toStrictEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('the number of lines with room for a few only, and one source ahead of the other by any number, is that of those logged', () => {
    const logged = fc.array(fc.nat({ max: 20_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(logged, fc.integer({ min: 1, max: 5 }), turns, restarts, (gaps, max, order, at) => {
        let now = noon;
        const log = gaps.map((gap, number) => ({ text: `IN=${number}`, time: (now += gap) }));
        const [ahead, behind] = two.map((source) => log.map((line) => ({ source, ...line }))) as [Shown[], Shown[]];
        // The first line is shown by both at once: from there on it is known that one repeats the other.
        const lines = [...ahead.slice(0, 1), ...behind.slice(0, 1), ...inOrder(ahead.slice(1), behind.slice(1), order)];
        let filter = once({ max });
        let news = 0;
        for (const [index, line] of lines.entries()) {
          if (at.includes(index)) filter = restarted(filter, { max });
          if (show(filter, line.source, line.text, line.time)) news++;
        }
        expect(news).toBe(log.length);
      }),
      { numRuns: 500 },
    );
  });

  test('whatever comes: as if every line were remembered', () => {
    const line = fc.record({ place: fc.nat({ max: 2 }), text, time: fc.nat({ max: 300_000 }) });
    fc.assert(
      fc.property(sources, fc.array(line, { maxLength: 100 }), restarts, (among, shown, at) => {
        const lines = shown.map(({ place, text: each, time }) => ({
          source: among[place % among.length] as string,
          text: each,
          time: noon + time,
        }));
        const remembered: (Shown & { shownBy: Set<string> })[] = [];
        for (const one of lines) {
          const [same] = remembered
            .filter(({ text: each, shownBy }) => each === one.text && !shownBy.has(one.source))
            .filter(({ time }) => Math.abs(half(time) - half(one.time)) <= 2)
            .toSorted((a, b) => half(a.time) - half(b.time));
          if (same) same.shownBy.add(one.source);
          else remembered.push({ ...one, shownBy: new Set([one.source]) });
        }
        const expected = texts.map((each) => remembered.filter((one) => one.text === each).length);
        expect(newsOf(lines, { sources: among }, at)).toStrictEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
