/** Chooses the series whose turn it is: in a storm, and at the end of a long log, tens of thousands are ready. */
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind } from '../model/series.ts';
import { createLines, lineCount, type ReadySeries } from './lines.ts';
import { byWeight, kindOf, lineOf } from './order.ts';

export function createReady() {
  const lines = createLines();
  const objects = new Map<string, Set<ReadySeries>>();

  return {
    get size(): number {
      return lines.size;
    },
    add(entry: ReadySeries): void {
      lines.add(entry);
      const same = objects.get(entry.key);
      if (same === undefined) objects.set(entry.key, new Set([entry]));
      else same.add(entry);
    },
    remove(entry: ReadySeries): void {
      lines.remove(entry);
      const same = objects.get(entry.key);
      if (same?.delete(entry) === true && same.size === 0) objects.delete(entry.key);
      // The turn of one moves the others of its object into another line.
      for (const other of same ?? []) lines.again(other);
    },
    /** Sorts all again, because after a turn that was given back some belong further to the front. */
    reorder(this: void): void {
      lines.reset();
    },
    /** Returns the next series that the budget allows now; if none may be written now, the time when one may. */
    next(this: void, now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
      lines.update(now);
      for (;;) {
        const before = lines.puts;
        const turn = look(now, availableAt);
        // A look that moved series into other lines is repeated, because an earlier line may have a series now.
        if (lines.puts === before) return turn;
      }
    },
  };

  function look(now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
    let earliest: Millis = Infinity;
    for (let index = 0; index < lineCount; index++) {
      const first = lines.firstOf(index, now);
      if (first === undefined) continue;
      const line = index >> 1;
      const kind = kindOf(line, index % 2 === 1);
      const available = availableAt(kind);
      if (available <= now) return { series: heaviest(first, line, now), kind, line };
      earliest = Math.min(earliest, available);
    }
    return earliest;
  }

  /** Returns the object's series of this line that has most packets which no Event has counted. */
  function heaviest({ key, series }: ReadySeries, line: number, now: Millis): Series {
    let most = series;
    for (const each of objects.get(key) ?? [])
      if (byWeight(each.series, most) < 0 && lineOf(each.series, now) === line) most = each.series;
    return most;
  }
}
