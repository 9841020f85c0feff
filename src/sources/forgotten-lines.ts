import type { Json } from './source.ts';

/** Lines of one text and period that some sources have yet to show. */
export interface Awaited {
  /** Place of the source that was the first to show it; -1 if that source is no longer there. */
  readonly by: number;
  /** How many each source has yet to show, by its place. */
  readonly missing: number[];
}

/** Counts of lines that sources have yet to show, and of which the text is no longer known. */
export interface ForgottenLines {
  add: (line: Awaited, period: number) => void;
  /** Whether a source that shows a line of that period may be showing one of them, which is then one less. */
  take: (place: number, period: number) => boolean;
  /** A source has shown what another one had shown before it. */
  noteRepeat: (by: number, place: number) => void;
  /** Plain JSON; `more`: lines that are taken for forgotten, too. */
  state: (more: readonly [period: number, line: Awaited][]) => Json;
}

/** Periods that are remembered, the latest ones; two before and two after that of a line are looked at. */
const maxPeriods = 16;

/**
 * Which line a source shows is not known any more, so only sources count that do repeat another one: a file that has lines of its own
 * shows nothing of what the kernel's ring buffer has. `repeat`: whether a source repeats another one before it is seen to, by
 * their places. `saved`: what `state` gave for the same sources.
 */
export function createForgottenLines(
  sources: number,
  repeat: (by: number, place: number) => boolean,
  saved: Json | undefined,
): ForgottenLines {
  const { periods, repeats } = (saved ?? {}) as Readonly<Record<string, Json>>;
  const pairs = sources * sources;
  /** Whether one source has ever shown what another one had shown before it, by the pair. */
  const repeated = Array.from(
    { length: pairs },
    (_, pair) =>
      repeat(Math.floor(pair / sources), pair % sources) || (Array.isArray(repeats) && repeats[pair] === true),
  );
  const byPeriod = new Map<number, number[]>();
  if (Array.isArray(periods))
    for (const entry of periods.slice(-maxPeriods)) {
      const [period, counts] = Array.isArray(entry) ? (entry as Json[]) : [];
      if (!Number.isSafeInteger(period) || !Array.isArray(counts)) continue;
      const read = Array.from({ length: pairs }, (_, pair) => (Number.isSafeInteger(counts[pair]) ? counts[pair] : 0));
      byPeriod.set(
        period as number,
        read.map((count) => Math.max(0, count as number)),
      );
    }

  return {
    add: (line, period) => addTo(byPeriod, line, period),
    take(place, period) {
      for (let near = period - 2; byPeriod.size > 0 && near <= period + 2; near++) {
        const counts = byPeriod.get(near);
        if (counts === undefined) continue;
        for (let by = 0; by < sources; by++) {
          const pair = by * sources + place;
          if (repeated[pair] !== true || counts[pair] === 0) continue;
          (counts[pair] as number)--;
          return true;
        }
      }
      return false;
    },
    noteRepeat(by, place) {
      if (by >= 0) repeated[by * sources + place] = true;
    },
    state(more) {
      const all = new Map([...byPeriod].map(([period, counts]) => [period, [...counts]]));
      for (const [period, line] of more) addTo(all, line, period);
      return { periods: [...all], repeats: [...repeated] };
    },
  };

  function addTo(periodCounts: Map<number, number[]>, { by, missing }: Awaited, period: number): void {
    if (by < 0 || !missing.some((count) => count > 0)) return;
    let counts = periodCounts.get(period);
    if (counts === undefined) {
      periodCounts.set(period, (counts = Array.from({ length: pairs }, () => 0)));
      if (periodCounts.size > maxPeriods) periodCounts.delete(Math.min(...periodCounts.keys()));
    }
    for (const [place, count] of missing.entries()) (counts[by * sources + place] as number) += count;
  }
}
