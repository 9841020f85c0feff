import type { Millis } from './log-line.ts';

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

/** The rest of a node's hourly budget of writes, kept so that an agent that is killed again and again writes no more than others. */
export interface WriteBudgetState {
  /** Writes, also in part. */
  left: number;
  /** The time of it, counted from the start of the machine, because the wall clock may be set meanwhile. */
  at: Millis;
}
