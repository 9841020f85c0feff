import type { Match } from '../model.ts';
import type { Probe } from '../probe.ts';
import type { RequirementCollector } from '../requirements.ts';

/** One alternative of a rule: a peer, or a port. */
export interface Clause {
  readonly matches: (probe: Probe) => Match;
  /** Says to a person what it wants: `app=frontend`. */
  readonly wants: () => string;
  /** Says what the other end, or for ports the connection, has or is instead: `has app=worker`. */
  readonly has: (probe: Probe) => string;
  /** A warning about a match, such as that not all network plug-ins see one; '': none. */
  readonly note?: (probe: Probe) => string;
  /** Other objects of the cluster that it needs, beside the two ends. */
  readonly requires?: (into: RequirementCollector) => void;
}

/** Stands for an invalid clause, or one of an unknown kind. */
export function unusable(reason: string): Clause {
  return { matches: () => reason, wants: () => `(${reason})`, has: () => 'cannot be compared' };
}

/** Matches no connection. */
export const nothing: Clause = { matches: () => false, wants: () => 'nothing', has: () => 'cannot match it' };
