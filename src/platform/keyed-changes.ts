import type { StateChange } from '../model/state-change.ts';

export type KeyedChanges = ReturnType<typeof createKeyedChanges>;

/** Notes which entries of a map have changed since that was last written to disk. `kind` goes before each key, so that several maps can be kept together. */
export function createKeyedChanges(kind: string, values: ReadonlyMap<string, object | string>) {
  let changed: Set<string> | undefined;
  let revision = 0;

  return {
    /** Another number after every change. */
    get revision(): number {
      return revision;
    },
    changed(this: void, key: string): void {
      revision++;
      changed?.add(key);
    },
    /** Since the last call, at first all there is. Of each value the fields are copied, not what is in them. */
    take(this: void): StateChange[] {
      changed ??= new Set(values.keys());
      const changes = [...changed].map((key): StateChange => {
        const value = values.get(key);
        return value === undefined ? ['remove', `${kind} ${key}`] : ['set', `${kind} ${key}`, copy(value)];
      });
      changed.clear();
      return changes;
    },
    /** Everything, as it is when it is taken out; copied in the same way. */
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
