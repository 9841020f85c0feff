export interface Holders {
  /** Those that have a key. */
  readonly all: Iterable<string>;
  sizeOf: (holder: string) => number;
  oldestOf: (holder: string) => string | undefined;
  add(key: string, holder: string): void;
  remove(key: string): void;
  /** Returns the oldest key of the holder that has the most, if it has more than `size`. */
  oldestOfLargest(size: number): string | undefined;
}

/** Knows which holder has the most waiting items, without searching all holders, because a flood asks for each packet. */
export function createHolders(): Holders {
  const keysOf = new Map<string, Set<string>>();
  const holderOf = new Map<string, string>();
  /** The holders by the number of their keys. */
  const bySize: Set<string>[] = [];

  return {
    get all(): Iterable<string> {
      return keysOf.keys();
    },
    sizeOf: (holder: string): number => keysOf.get(holder)?.size ?? 0,
    oldestOf,
    add(key: string, holder: string): void {
      const keys = keysOf.get(holder) ?? new Set();
      keysOf.set(holder, keys.add(key));
      holderOf.set(key, holder);
      move(holder, keys.size - 1, keys.size);
    },
    remove(key: string): void {
      const holder = holderOf.get(key);
      const keys = holder === undefined ? undefined : keysOf.get(holder);
      if (holder === undefined || keys?.delete(key) !== true) return;
      holderOf.delete(key);
      if (keys.size === 0) keysOf.delete(holder);
      move(holder, keys.size + 1, keys.size);
    },
    oldestOfLargest(size: number): string | undefined {
      while (bySize.length > 0 && (bySize.at(-1)?.size ?? 0) === 0) bySize.pop();
      if (bySize.length - 1 <= size) return undefined;
      const [holder = ''] = bySize.at(-1) ?? [];
      return oldestOf(holder);
    },
  };

  function oldestOf(holder: string): string | undefined {
    const [oldest] = keysOf.get(holder) ?? [];
    return oldest;
  }

  function move(holder: string, from: number, to: number): void {
    bySize[from]?.delete(holder);
    if (to > 0) (bySize[to] ??= new Set()).add(holder);
  }
}
