import { oldestKeyOf } from './oldest-key.ts';

/** Keeps the values that were used last. Unlike an `LRUCache`, which allocates its tables in advance, it takes no memory until it is used. */
export class RecentValues<V extends {}> {
  readonly #values = new Map<string, V>();
  readonly #most: number;
  /** Made on first use, because most of these never get full. */
  #oldestKey: (() => string | undefined) | undefined;
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
    if (this.#values.size >= this.#most) this.#dropOldest();
    this.#values.set(key, value);
  }

  #dropOldest(): void {
    this.#oldestKey ??= oldestKeyOf(this.#values);
    this.#drop(this.#oldestKey() as string);
  }

  #drop(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#onDropped?.(key, value);
  }
}
