/** Keeps the values that were used last. Unlike an `LRUCache`, which allocates its tables in advance, it takes no memory until it is used. */
export class RecentValues<V extends {}> {
  readonly #values = new Map<string, V>();
  readonly #most: number;
  /** Stands behind the key that was dropped last: a new iterator passes over all keys that were ever deleted, until the map is made anew. */
  #oldest = this.#values.keys();
  readonly #onDropped: ((key: string, value: V) => void) | undefined;

  /** `onDropped`: also called for a value that another one replaces. */
  constructor(most: number, onDropped?: (key: string, value: V) => void) {
    this.#most = most;
    this.#onDropped = onDropped;
  }

  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#drop(key);
    if (this.#values.size >= this.#most) this.#drop(this.#nextOldest());
    this.#values.set(key, value);
  }

  #nextOldest(): string {
    const { done, value } = this.#oldest.next();
    if (done !== true) return value;
    this.#oldest = this.#values.keys();
    return this.#oldest.next().value as string;
  }

  #drop(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#onDropped?.(key, value);
  }
}
