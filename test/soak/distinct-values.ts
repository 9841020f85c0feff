/** Numbers from the first on, the second excluded. */
export type Run = [from: number, to: number];

export interface Counted {
  /** Runs of numbers that were counted at least once; in order, with gaps between. */
  runs: Run[];
  /** Counted again, each time. */
  doubled: number;
  firstDoubled: number[];
  /** Came after a higher number. */
  late: number;
}

/** Counts numbered lines. They come nearly in order, so runs of them take less room than a count for each. */
export interface DistinctValues {
  readonly counted: Counted;
  /** Different lines so far. */
  readonly lines: number;
  add: (number: number) => void;
}

const shown = 10;

export function nothingCounted(): Counted {
  return { runs: [], doubled: 0, firstDoubled: [], late: 0 };
}

/** Goes on from what was `counted`, and changes it. */
export function createDistinctValues(counted: Counted = nothingCounted()): DistinctValues {
  const { runs } = counted;
  let lines = runs.reduce((sum, [from, to]) => sum + to - from, 0);
  let highest = (runs.at(-1)?.[1] ?? 0) - 1;

  return {
    counted,
    get lines() {
      return lines;
    },
    add(number) {
      if (number < highest) counted.late++;
      else highest = number;
      const index = placeOf(number);
      const before = runs[index - 1];
      if (before !== undefined && number < before[1]) {
        counted.doubled++;
        if (counted.firstDoubled.length < shown) counted.firstDoubled.push(number);
        return;
      }
      lines++;
      insert(number, index);
    },
  };

  /** Returns the place of the first run that begins after it. */
  function placeOf(number: number): number {
    let low = 0;
    let high = runs.length;
    // Nearly always it belongs to the last run.
    if (number >= (runs.at(-1)?.[0] ?? 0)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((runs[middle] as Run)[0] <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function insert(number: number, index: number): void {
    const before = runs[index - 1];
    const after = runs[index];
    const joinsBefore = before?.[1] === number;
    const joinsAfter = after?.[0] === number + 1;
    if (joinsBefore && joinsAfter) {
      before[1] = after[1];
      runs.splice(index, 1);
    } else if (joinsBefore) before[1]++;
    else if (joinsAfter) after[0]--;
    else runs.splice(index, 0, [number, number + 1]);
  }
}

/** Returns the numbers below `end` that were never counted. */
export function missingOf({ runs }: Counted, end: number): Run[] {
  const missing: Run[] = [];
  let next = 0;
  for (const [from, to] of runs) {
    if (from > next) missing.push([next, from]);
    next = to;
  }
  if (next < end) missing.push([next, end]);
  return missing;
}

export function lengthOf(runs: readonly Run[]): number {
  return runs.reduce((sum, [from, to]) => sum + to - from, 0);
}
