import type { Millis } from './log-line.ts';

/** What is left of a node's hourly budget of writes, kept so that an agent that is killed again and again writes no more than one that is not. */
export interface WriteBudgetState {
  /** Writes, also in part. */
  left: number;
  /** When that was so: since the machine was started, because the wall clock may be set meanwhile. */
  at: Millis;
}
