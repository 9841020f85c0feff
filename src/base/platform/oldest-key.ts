/**
 * Returns a function that returns the oldest key of a Map or Set, or undefined if it is empty. Delete each key before the next call, because
 * the function passes over a key that it has returned.
 */
export function oldestKeyOf<K>(keyed: { keys: () => IterableIterator<K, undefined> }): () => K | undefined {
  // The iterator is kept, because a new one would pass over all keys deleted since the table was last rebuilt.
  let keys = keyed.keys();
  return () => {
    const { done, value } = keys.next();
    if (done !== true) return value;
    keys = keyed.keys();
    return keys.next().value;
  };
}
