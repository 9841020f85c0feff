/**
 * One change of what the agent keeps on disk under a key, as plain JSON that does not change any more: `set` puts a value in place of what was there, `merge`
 * replaces the named fields of the object there, `extend` replaces all elements of one of its lists from an index on, `remove`
 * forgets it. `merge` and `extend` do nothing where there is nothing.
 */
export type StateChange =
  | readonly ['set', key: string, value: unknown]
  | readonly ['merge', key: string, fields: Readonly<Record<string, unknown>>]
  | readonly ['extend', key: string, field: string, from: number, added: readonly unknown[]]
  | readonly ['remove', key: string];

/** Notes which entries of a map have changed since it was last written to disk. `kind` is the beginning of each key there. */
export function createKeyedChanges(kind: string, values: ReadonlyMap<string, object | string>) {
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
    /** Since the last call; at first everything. Values are copied, but not what is in them. */
    take(this: void): StateChange[] {
      changed ??= new Set(values.keys());
      const changes = [...changed].map((key): StateChange => {
        const value = values.get(key);
        return value === undefined ? ['remove', `${kind} ${key}`] : ['set', `${kind} ${key}`, copy(value)];
      });
      changed.clear();
      return changes;
    },
    /** Everything, copied when it is taken out. */
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
