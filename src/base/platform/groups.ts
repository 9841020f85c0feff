export interface Groups<T> {
  all: ReadonlyMap<string, ReadonlySet<T>>;
  /** Returns a copy, so values may be removed meanwhile. */
  get: (key: string) => T[];
  add(key: string, value: T): void;
  remove(key: string, value: T): void;
}

/** Keeps values in groups by key. An empty group is removed. */
export function createGroups<T>(): Groups<T> {
  const groups = new Map<string, Set<T>>();

  return {
    all: groups,
    get: (key: string): T[] => [...(groups.get(key) ?? [])],
    add(key: string, value: T): void {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, new Set([value]));
      else group.add(value);
    },
    remove(key: string, value: T): void {
      const group = groups.get(key);
      if (group?.delete(value) === true && group.size === 0) groups.delete(key);
    },
  };
}
