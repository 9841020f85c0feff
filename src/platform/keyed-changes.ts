import type { StateChange } from '../model/state-change.ts';

/** Notes which entries of a map have changed since that was last written to disk. */
export interface KeyedChanges {
  changed: (key: string) => void;
  /** Another number after every change. */
  readonly revision: number;
  /** Since the last call, at first all there is. Of each value the fields are copied, not what is in them. */
  take: () => StateChange[];
  /** Everything, as it is when it is taken out; copied in the same way. */
  entries: () => Generator<StateChange>;
}

/** `kind` goes before each key, so that several maps can be kept together. */
export function createKeyedChanges(kind: string, values: ReadonlyMap<string, object | string>): KeyedChanges {
  let changed: Set<string> | undefined;
  let revision = 0;

  return {
    get revision() {
      return revision;
    },
    changed(key) {
      revision++;
      changed?.add(key);
    },
    take() {
      changed ??= new Set(values.keys());
      const changes = [...changed].map((key): StateChange => {
        const value = values.get(key);
        return value === undefined ? ['remove', `${kind} ${key}`] : ['set', `${kind} ${key}`, copy(value)];
      });
      changed.clear();
      return changes;
    },
    *entries() {
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
