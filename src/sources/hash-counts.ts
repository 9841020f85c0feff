/** How many lines there are of each of many hashes, the latest last. */
export type HashCounts = ReturnType<typeof createHashCounts>;

export function createHashCounts() {
  const counts = new Map<number, number>();
  let lines = 0;

  return {
    get size(): number {
      return counts.size;
    },
    get lines(): number {
      return lines;
    },
    add(hash: number, count: number): void {
      counts.set(hash, (counts.get(hash) ?? 0) + count);
      lines += count;
    },
    /** Whether there is a line of that hash, which is then one less. */
    take(hash: number): boolean {
      const count = counts.get(hash);
      if (count === undefined) return false;
      if (count > 1) counts.set(hash, count - 1);
      else counts.delete(hash);
      lines--;
      return true;
    },
    /** Removes so many hashes, the oldest first. Returns how many lines these were. */
    removeOldest(hashes: number): number {
      const before = lines;
      for (const [hash, count] of counts) {
        if (hashes-- <= 0) break;
        counts.delete(hash);
        lines -= count;
      }
      return before - lines;
    },
    latest(hashes: number): [hash: number, count: number][] {
      const latest: [number, number][] = [];
      if (hashes <= 0) return latest;
      let passed = counts.size - hashes;
      for (const entry of counts) if (--passed < 0) latest.push(entry);
      return latest;
    },
  };
}
