/** A binary heap with the least value first. It is a class, because thousands of heaps made of closures would take more memory. */
export class Heap<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #values: T[] = [];

  /** `compare` is negative if `a` comes before `b`. Equal values come in any order. */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#values.length;
  }

  push(value: T): void {
    const values = this.#values;
    let at = values.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = values[parent] as T;
      if (this.#compare(value, above) >= 0) break;
      values[at] = above;
      at = parent;
    }
    values[at] = value;
  }

  peek(): T | undefined {
    return this.#values[0];
  }

  pop(): T | undefined {
    const least = this.#values[0];
    const last = this.#values.pop();
    if (this.#values.length > 0) this.#sink(last as T);
    return least;
  }

  #sink(value: T): void {
    const values = this.#values;
    let at = 0;
    for (let child = 1; child < values.length; child = 2 * at + 1) {
      if (child + 1 < values.length && this.#compare(values[child + 1] as T, values[child] as T) < 0) child++;
      const below = values[child] as T;
      if (this.#compare(value, below) <= 0) break;
      values[at] = below;
      at = child;
    }
    values[at] = value;
  }
}
