/**
 * Things by the first 32 bits of a hash, 12 bytes a slot: a Map with whole hashes as keys takes ten times that. Several things may
 * have the same bits, one thing may be there under many, and who finds one has to verify it.
 */
export interface PrefixTable<T extends object> {
  add: (prefix: number, item: T) => void;
  /** Once, if it was added more often. */
  remove: (prefix: number, item: T) => void;
  /** What `verify` makes of the first item with these bits that it does not answer with undefined. */
  find: <R>(prefix: number, verify: (item: T) => R | undefined) => R | undefined;
  readonly size: number;
}

const smallest = 16;

/** Open addressing with linear probing; removal closes the gap (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). */
export function createPrefixTable<T extends object>(): PrefixTable<T> {
  let prefixes = new Uint32Array(smallest);
  let items = emptySlots<T>(smallest);
  let size = 0;

  return {
    get size() {
      return size;
    },
    add(prefix, item) {
      size++;
      if (size > items.length * 0.75) resize(items.length * 2);
      put(prefix, item);
    },
    remove(prefix, item) {
      const mask = items.length - 1;
      let gap = prefix & mask;
      while (items[gap] !== undefined && (items[gap] !== item || prefixes[gap] !== prefix)) gap = (gap + 1) & mask;
      if (items[gap] === undefined) return;
      for (let at = (gap + 1) & mask; items[at] !== undefined; at = (at + 1) & mask) {
        const home = prefixes[at] as number;
        // Whoever sits between its own place and here cannot go back past its own place.
        if (((at - home) & mask) < ((at - gap) & mask)) continue;
        prefixes[gap] = home;
        items[gap] = items[at];
        gap = at;
      }
      items[gap] = undefined;
      size--;
      if (items.length > smallest && size < items.length / 8) resize(items.length / 2);
    },
    find(prefix, verify) {
      const mask = items.length - 1;
      for (let at = prefix & mask; ; at = (at + 1) & mask) {
        const item = items[at];
        if (item === undefined) return undefined;
        const found = prefixes[at] === prefix ? verify(item) : undefined;
        if (found !== undefined) return found;
      }
    },
  };

  function put(prefix: number, item: T): void {
    const mask = items.length - 1;
    let at = prefix & mask;
    while (items[at] !== undefined) at = (at + 1) & mask;
    prefixes[at] = prefix;
    items[at] = item;
  }

  function resize(length: number): void {
    const before = { prefixes, items };
    prefixes = new Uint32Array(length);
    items = emptySlots(length);
    for (const [at, item] of before.items.entries()) if (item !== undefined) put(before.prefixes[at] as number, item);
  }
}

function emptySlots<T>(length: number): (T | undefined)[] {
  return Array.from<T | undefined>({ length }).fill(undefined);
}
