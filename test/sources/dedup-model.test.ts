import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Millis } from '../../src/model/log-line.ts';
import { createDedup, type Dedup, type DedupOptions } from '../../src/sources/dedup.ts';
import type { Json } from '../../src/sources/source.ts';

/** One log that several sources show, each in its order and at its own pace, and each without pieces that it has lost. */

const noon = Date.UTC(2026, 10, 21, 12);
const names = ['/dev/kmsg', 'journal', '/var/log/kern.log'];

interface Line {
  text: string;
  time: Millis;
}

/** A piece of the log that a source has lost: where it begins, and how long it is. */
type Hole = readonly [from: number, length: number];

interface Showing {
  /** Holes by the number of the source. */
  holes: readonly (readonly Hole[])[];
  /** The turns: which source shows how many lines. */
  turns: readonly (readonly [source: number, lines: number])[];
  /** After which turns the agent is killed: it goes on from the state of that many turns before. */
  kills: readonly (readonly [turn: number, back: number])[];
}

/** How often each line of the log was news, by its text; of what no source has shown, never. */
function newsOf(log: readonly Line[], count: number, showing: Showing, options: Partial<DedupOptions>) {
  const sources = names.slice(0, count);
  const logs = sources.map((_, place) => without(showing.holes[place] ?? [], log));
  let world = start(undefined, { places: sources.map(() => 0), news: new Map() });
  const saved = [world.save()];
  const { turns } = showing;
  const rest = sources.map((_, place): [number, number] => [place, Infinity]);
  for (const [turn, [source, lines]] of [...turns, ...rest].entries()) {
    const place = source % count;
    for (let shown = 0; shown < lines && world.show(place); shown++);
    saved.push(world.save());
    for (const [after, back] of showing.kills)
      if (after === turn) world = saved.at(-1 - (back % saved.length))?.() as typeof world;
  }
  // Lines that a kill has taken back are shown again.
  for (const [place] of rest) while (world.show(place));
  return { news: world.news, shown: new Set(logs.flatMap((each) => each.map(({ text }) => text))) };

  function start(state: Json | undefined, { places, news }: { places: number[]; news: Map<string, number> }) {
    const filter: Dedup = createDedup({ sources, saved: state, ...options });
    return {
      news,
      show(place: number): boolean {
        const line = logs[place]?.[places[place] as number];
        if (line === undefined) return false;
        (places[place] as number)++;
        if (filter.isFirst(sources[place] as string, line.text, line.time))
          news.set(line.text, (news.get(line.text) ?? 0) + 1);
        return true;
      },
      /** State, places and counts of one moment are on disk together. */
      save() {
        const disk = JSON.stringify({ state: filter.state(), places, news: [...news] });
        return () => {
          const read = JSON.parse(disk) as { state: Json; places: number[]; news: [string, number][] };
          return start(read.state, { places: read.places, news: new Map(read.news) });
        };
      },
    };
  }
}

function without(holes: readonly Hole[], lines: readonly Line[]): Line[] {
  const lost = new Set(holes.flatMap(([from, length]) => Array.from({ length }, (_, index) => from + index)));
  return lines.filter((_, index) => !lost.has(index));
}

/** Within minutes, so that many are of one period and some of others. */
const log = fc.array(fc.nat({ max: 4000 }), { maxLength: 80 }).map((gaps) => {
  let time = noon;
  return gaps.map((gap, number): Line => ({ text: `IN=${number}`, time: (time += gap) }));
});
const hole = fc.tuple(fc.nat({ max: 80 }), fc.integer({ min: 1, max: 20 }));
const showing = fc.record({
  holes: fc.array(fc.array(hole, { maxLength: 4 }), { minLength: 3, maxLength: 3 }),
  turns: fc.array(fc.tuple(fc.nat({ max: 2 }), fc.integer({ min: 1, max: 30 })), { maxLength: 30 }),
  kills: fc.array(fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 5 })), { maxLength: 3 }),
});

describe('lines of one log', () => {
  test('each counts once, whatever each source has lost, however far one is behind, and over kills, with room for few texts', () => {
    fc.assert(
      fc.property(
        log,
        fc.integer({ min: 2, max: 3 }),
        showing,
        fc.integer({ min: 1, max: 5 }),
        (lines, count, how, max) => {
          const { news, shown } = newsOf(lines, count, how, { max });
          expect(Object.fromEntries(news)).toEqual(Object.fromEntries([...shown].map((text) => [text, 1])));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('also where few hashes are kept, no more are counted in all than there are', () => {
    fc.assert(
      fc.property(log, showing, fc.nat({ max: 8 }), (lines, how, maxHashes) => {
        const whole = names.slice(0, 2);
        const { news, shown } = newsOf(lines, 2, how, { max: 2, maxHashes, whole });
        const sum = [...news.values()].reduce((total, count) => total + count, 0);
        expect(sum).toBeLessThanOrEqual(shown.size);
      }),
      { numRuns: 1000 },
    );
  });

  test('a flood of which the ring buffer loses every tenth, with the journal 100,000 lines behind: each counts once', () => {
    const flood = Array.from({ length: 100_000 }, (_, number) => ({ text: `IN=${number}`, time: noon + number / 10 }));
    const holes = [Array.from({ length: 10_000 }, (_, index): Hole => [10 * index, 1])];
    const { news } = newsOf(flood, 2, { holes, turns: [[0, Infinity]], kills: [] }, { whole: names.slice(0, 2) });
    expect([news.size, Math.max(...news.values())]).toEqual([100_000, 1]);
  });
});
