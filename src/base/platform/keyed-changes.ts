/**
 * One change to a value that the agent keeps on disk under a key: plain JSON that does not change any more. `set` replaces the value,
 * `merge` fields of an object, `extend` a list in it from an index on. `merge` and `extend` do nothing without a value.
 */
export type StateChange =
  | readonly ['set', key: string, value: unknown]
  | readonly ['merge', key: string, fields: Readonly<Record<string, unknown>>]
  | readonly ['extend', key: string, field: string, from: number, added: readonly unknown[]]
  | readonly ['remove', key: string];

export interface KeyedChanges {
  readonly revision: number;
  changed: (key: string) => void;
  /** Returns the changes since the last call, or everything at first. The copies are shallow. */
  take: () => StateChange[];
  /** Returns everything. Each value is copied when the caller reads it. */
  entries: () => Generator<StateChange>;
}

/** Tracks which entries of a map have changed since the last write to disk. `kind` is the prefix of their keys there. */
export function createKeyedChanges(kind: string, values: ReadonlyMap<string, object | string>): KeyedChanges {
  let changed: Set<string> | undefined;
  let revision = 0;

  return {
    get revision(): number {
      return revision;
    },
    changed(this: void, key: string): void {
      revision++;
      changed?.add(key);
    },
    take(this: void): StateChange[] {
      changed ??= new Set(values.keys());
      const changes = [...changed].map((key): StateChange => {
        const value = values.get(key);
        return value === undefined ? ['remove', `${kind} ${key}`] : ['set', `${kind} ${key}`, copy(value)];
      });
      changed.clear();
      return changes;
    },
    *entries(this: void): Generator<StateChange> {
      for (const [key, value] of values) yield ['set', `${kind} ${key}`, copy(value)];
    },
  };
}

function copy(value: object | string): object | string {
  return typeof value === 'string' ? value : { ...value };
}

export function* entriesOfKind<V>(
  kind: string,
  values: ReadonlyMap<string, unknown>,
): Generator<[key: string, value: V]> {
  const prefix = `${kind} `;
  for (const [key, value] of values) if (key.startsWith(prefix)) yield [key.slice(prefix.length), value as V];
}
