export type Heap<T> = ReturnType<typeof createHeap<T>>;

/** A binary heap: gives the least of its values first. `compare`: negative where `a` comes before `b`. Equal values come in any order. */
export function createHeap<T>(compare: (a: T, b: T) => number) {
  const values: T[] = [];

  return {
    get size(): number {
      return values.length;
    },
    push(value: T): void {
      let at = values.length;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = values[parent] as T;
        if (compare(value, above) >= 0) break;
        values[at] = above;
        at = parent;
      }
      values[at] = value;
    },
    peek: (): T | undefined => values[0],
    pop(): T | undefined {
      const least = values[0];
      const last = values.pop();
      if (values.length > 0) sink(last as T);
      return least;
    },
  };

  function sink(value: T): void {
    let at = 0;
    for (let child = 1; child < values.length; child = 2 * at + 1) {
      if (child + 1 < values.length && compare(values[child + 1] as T, values[child] as T) < 0) child++;
      const below = values[child] as T;
      if (compare(value, below) <= 0) break;
      values[at] = below;
      at = child;
    }
    values[at] = value;
  }
}
