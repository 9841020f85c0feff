/** A queue in which keys, such as Namespaces, have turns, however many items each of them has. */
export interface FairQueue<T> {
  readonly add: (key: string, item: T) => void;
  /** Removes and returns the first item of the next key for which `may` is true; undefined if there is none. */
  readonly take: (may?: (key: string) => boolean) => T | undefined;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The key whose turn is next comes first. */
  const queues = new Map<string, T[]>();

  return {
    add(key, item) {
      const queue = queues.get(key);
      if (queue === undefined) queues.set(key, [item]);
      else queue.push(item);
    },
    take(may = () => true) {
      for (const [key, queue] of queues) {
        if (!may(key)) continue;
        const item = queue.shift();
        queues.delete(key);
        if (queue.length > 0) queues.set(key, queue);
        return item;
      }
      return undefined;
    },
  };
}
