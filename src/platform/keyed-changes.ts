import type { StateChange } from '../model/state-change.ts';

/** Notes which entries of a map have changed since that was last written to disk. */
export interface KeyedChanges {
  changed: (key: string) => void;
  /** Since the last call. Values are those of the map, not copies. */
  take: () => StateChange[];
  /** Everything, as it is when it is taken out. */
  entries: () => Generator<StateChange>;
}

/** `kind` goes before each key, so that several maps can be kept together. */
export function createKeyedChanges(kind: string, values: ReadonlyMap<string, unknown>): KeyedChanges {
  const changed = new Set<string>();

  return {
    changed: (key) => void changed.add(key),
    take() {
      const changes = [...changed].map((key): StateChange => {
        const value = values.get(key);
        return value === undefined ? ['remove', `${kind} ${key}`] : ['set', `${kind} ${key}`, value];
      });
      changed.clear();
      return changes;
    },
    *entries() {
      for (const [key, value] of values) yield ['set', `${kind} ${key}`, value];
    },
  };
}

export function* entriesOfKind<V>(
  kind: string,
  values: ReadonlyMap<string, unknown>,
): Generator<[key: string, value: V]> {
  const prefix = `${kind} `;
  for (const [key, value] of values) if (key.startsWith(prefix)) yield [key.slice(prefix.length), value as V];
}
