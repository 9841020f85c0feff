import { createHashCounts, type HashCounts } from './hash-counts.ts';
import type { Json } from './source.ts';

export interface ForgottenPeriodsOptions {
  /** Of sources: who has shown a line, and who has yet to. What is counted is counted by the pair. */
  pairs: number;
  /** Hashes that are kept, some 80 bytes each. */
  maxHashes: number;
  /** So many lines can no longer be recognized. */
  onForgotten: (lines: number) => void;
}

interface Period {
  /** Lines without a hash. */
  counts: number[];
  hashes: HashCounts[];
}

/** Half an hour. */
const maxPeriods = 64;

/** Lines by period and pair: the latest by their hashes, those before them by their number. */
export function createForgottenPeriods({ pairs, maxHashes, onForgotten }: ForgottenPeriodsOptions) {
  const periods = new Map<number, Period>();
  let hashes = 0;

  return {
    addCount,
    addHash(period: number, pair: number, hash: number, count: number): void {
      if (count === 0) return;
      change(keptOf(period).hashes[pair] as HashCounts, (of) => of.add(hash, count));
      if (hashes > maxHashes) forgetOldest();
    },
    takeHash(period: number, pair: number, hash: number): boolean {
      const of = periods.get(period)?.hashes[pair];
      return of !== undefined && change(of, () => of.take(hash));
    },
    takeCount(period: number, pair: number): boolean {
      const counts = periods.get(period)?.counts;
      if (counts === undefined || counts[pair] === 0) return false;
      (counts[pair] as number)--;
      return true;
    },
    /** Plain JSON, with the latest `room` hashes, and how many lines have no hash in it that they have here. */
    state(room: number): { counts: Map<number, number[]>; hashes: Json[]; unsaved: number } {
      const counts = new Map([...periods].map(([period, kept]) => [period, [...kept.counts]]));
      const saved: Json[] = [];
      let unsaved = 0;
      for (const [period, kept] of [...periods].toReversed())
        for (const [pair, of] of kept.hashes.entries()) {
          const latest = of.latest(room - saved.length);
          const rest = of.lines - latest.reduce((sum, [, count]) => sum + count, 0);
          saved.push(...latest.toReversed().map(([hash, count]) => [period, pair, hash, count]));
          ((counts.get(period) as number[])[pair] as number) += rest;
          unsaved += rest;
        }
      return { counts, hashes: saved, unsaved };
    },
  };

  function addCount(period: number, pair: number, count: number): void {
    if (count > 0) (keptOf(period).counts[pair] as number) += count;
  }

  function keptOf(period: number): Period {
    let kept = periods.get(period);
    if (kept === undefined) {
      const counts = Array.from({ length: pairs }, () => 0);
      periods.set(period, (kept = { counts, hashes: Array.from({ length: pairs }, createHashCounts) }));
      if (periods.size > maxPeriods) remove(Math.min(...periods.keys()));
    }
    return kept;
  }

  function remove(period: number): void {
    for (const { size, lines } of periods.get(period)?.hashes ?? []) {
      hashes -= size;
      onForgotten(lines);
    }
    periods.delete(period);
  }

  /** A tenth at a time: the oldest of a map are found slowly. */
  function forgetOldest(): void {
    const aim = Math.floor(maxHashes * 0.9);
    for (const [period, kept] of [...periods].toSorted(([a], [b]) => a - b))
      for (const [pair, of] of kept.hashes.entries()) {
        const lines = change(of, () => of.removeOldest(hashes - aim));
        addCount(period, pair, lines);
        onForgotten(lines);
        if (hashes <= aim) return;
      }
  }

  function change<Result>(of: HashCounts, by: (of: HashCounts) => Result): Result {
    const before = of.size;
    const result = by(of);
    hashes += of.size - before;
    return result;
  }
}
