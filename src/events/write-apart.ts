export interface ApartOptions<T> {
  /** How many are under way at most. */
  most: number;
  /** Of two with the same key, one is under way at most. */
  keyOf: (item: T) => string;
  /** Never rejects. */
  write: (item: T) => Promise<void>;
  mayGoOn: () => boolean;
}

/** Writes items in order, but for those that wait for another one with their key. Resolves to those that it was not to go on with. */
export async function writeApart<T>(
  items: readonly T[],
  { most, keyOf, write, mayGoOn }: ApartOptions<T>,
): Promise<T[]> {
  const waiting = [...items];
  const underWay = new Set<string>();
  await Promise.all(Array.from({ length: most }, writeSome));
  return waiting;

  async function writeSome(): Promise<void> {
    while (mayGoOn()) {
      const index = waiting.findIndex((item) => !underWay.has(keyOf(item)));
      const [item] = index < 0 ? [] : waiting.splice(index, 1);
      if (item === undefined) return;
      const key = keyOf(item);
      underWay.add(key);
      await write(item);
      underWay.delete(key);
    }
  }
}
