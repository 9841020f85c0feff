import { createForgottenPeriods, type ForgottenPeriodsOptions } from './forgotten-periods.ts';
import type { Json } from './source.ts';

/** Lines of one text and period that some sources have yet to show. */
export interface Awaited {
  /** Place of the source that was the last to show one first; -1 if that source is no longer there. */
  by: number;
  /** How many each source has yet to show, by its place. */
  readonly missing: number[];
}

/** Lines that sources have yet to show and of which the text is no longer known: their hashes, or, of very many, their number. */
export interface ForgottenLines {
  add: (line: Awaited, period: number, hash: number) => void;
  /** Whether a source that shows a line of that hash is showing one of that period, which is then one less. */
  takeHashed: (place: number, period: number, hash: number) => boolean;
  /** Whether a source that shows a line of about that period may be showing one without a hash, which is then one less. */
  take: (place: number, period: number) => boolean;
  /** A source has shown what another one had shown before it. */
  noteRepeat: (by: number, place: number) => void;
  /** Plain JSON with `room` hashes at most, and how many lines have none in it. `more`: lines that are taken for forgotten, too. */
  state: (more: readonly [period: number, line: Awaited][], room: number) => { state: Json; left: number };
}

export interface ForgottenLinesOptions extends Omit<ForgottenPeriodsOptions, 'pairs'> {
  sources: number;
  /** Whether a source repeats another one before it is seen to, by their places. */
  repeat: (by: number, place: number) => boolean;
  /** What `state` gave for the same sources. */
  saved: Json | undefined;
}

/**
 * Which line a source shows is not known where there is no hash, so only sources count then that do repeat another one: a file that has lines
 * of its own shows nothing of what the kernel's ring buffer has.
 */
export function createForgottenLines(options: ForgottenLinesOptions): ForgottenLines {
  const { sources, repeat, saved, onForgotten } = options;
  const pairs = sources * sources;
  const { repeats } = (saved ?? {}) as Readonly<Record<string, Json>>;
  /** Whether one source has ever shown what another one had shown before it. */
  const repeated = Array.from(
    { length: pairs },
    (_, pair) =>
      repeat(Math.floor(pair / sources), pair % sources) || (Array.isArray(repeats) && repeats[pair] === true),
  );
  const periods = restore({ ...options, pairs });

  return {
    add({ by, missing }, period, hash) {
      if (by < 0) return onForgotten(Math.max(...missing));
      for (const [place, count] of missing.entries()) periods.addHash(period, by * sources + place, hash, count);
    },
    takeHashed(place, period, hash) {
      for (let pair = place; pair < pairs; pair += sources)
        if (periods.takeHash(period, pair, hash)) return (repeated[pair] = true);
      return false;
    },
    take(place, period) {
      for (let near = period - 2; near <= period + 2; near++)
        for (let pair = place; pair < pairs; pair += sources)
          if (repeated[pair] === true && periods.takeCount(near, pair)) return true;
      return false;
    },
    noteRepeat(by, place) {
      if (by >= 0) repeated[by * sources + place] = true;
    },
    state(more, room) {
      const { counts, hashes, unsaved } = periods.state(room);
      for (const [period, { by, missing }] of more) {
        const of = counts.get(period) ?? Array.from({ length: pairs }, () => 0);
        if (by >= 0) for (const [place, count] of missing.entries()) (of[by * sources + place] as number) += count;
        counts.set(period, of);
      }
      const left = more.reduce((sum, [, { missing }]) => sum + Math.max(...missing), unsaved);
      return { state: { periods: [...counts], repeats: [...repeated], hashes }, left };
    },
  };
}

function restore(options: ForgottenPeriodsOptions & Pick<ForgottenLinesOptions, 'saved'>) {
  const { pairs, saved } = options;
  const { periods, hashes } = (saved ?? {}) as Readonly<Record<string, Json>>;
  const restored = createForgottenPeriods(options);
  for (const [period, counts] of listsOf(periods))
    if (isWhole(period) && Array.isArray(counts))
      for (const [pair, count] of counts.slice(0, pairs).entries()) restored.addCount(period, pair, countOf(count));
  // The latest was saved first.
  for (const [period, pair, hash, count] of listsOf(hashes).toReversed())
    if (isWhole(period) && isWhole(pair) && pair >= 0 && pair < pairs && isWhole(hash))
      restored.addHash(period, pair, hash, countOf(count));
  return restored;
}

function listsOf(value: Json | undefined): Json[][] {
  return Array.isArray(value) ? (value as Json[]).filter((entry): entry is Json[] => Array.isArray(entry)) : [];
}

function isWhole(value: Json | undefined): value is number {
  return Number.isSafeInteger(value);
}

function countOf(value: Json | undefined): number {
  return isWhole(value) ? Math.max(0, value) : 0;
}
