export interface Parties {
  sizeOf: (party: string) => number;
  add(key: string, party: string): void;
  remove(key: string): void;
  /** Returns the oldest key of the party that has the most, if it has more than `size`. */
  oldestOfLargest(size: number): string | undefined;
}

/** Knows which party has the most of what waits, without looking at all of them: a flood asks for each of its packets. */
export function createParties(): Parties {
  const keysOf = new Map<string, Set<string>>();
  const partyOf = new Map<string, string>();
  /** The parties by the number of their keys. */
  const bySize: Set<string>[] = [];

  return {
    sizeOf: (party: string): number => keysOf.get(party)?.size ?? 0,
    add(key: string, party: string): void {
      const keys = keysOf.get(party) ?? new Set();
      keysOf.set(party, keys.add(key));
      partyOf.set(key, party);
      move(party, keys.size - 1, keys.size);
    },
    remove(key: string): void {
      const party = partyOf.get(key);
      const keys = party === undefined ? undefined : keysOf.get(party);
      if (party === undefined || keys?.delete(key) !== true) return;
      partyOf.delete(key);
      if (keys.size === 0) keysOf.delete(party);
      move(party, keys.size + 1, keys.size);
    },
    oldestOfLargest(size: number): string | undefined {
      while (bySize.length > 0 && (bySize.at(-1)?.size ?? 0) === 0) bySize.pop();
      if (bySize.length - 1 <= size) return undefined;
      const [party = ''] = bySize.at(-1) ?? [];
      const [oldest] = keysOf.get(party) ?? [];
      return oldest;
    },
  };

  function move(party: string, from: number, to: number): void {
    bySize[from]?.delete(party);
    if (to > 0) (bySize[to] ??= new Set()).add(party);
  }
}
