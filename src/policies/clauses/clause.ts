import type { Match } from '../model.ts';
import type { Probe } from '../probe.ts';
import type { RequirementCollector } from '../requirements.ts';

/** One alternative of a rule: a peer, or a port. */
export interface Clause {
  readonly matches: (probe: Probe) => Match;
  /** What it wants, for a person: `app=frontend`. */
  readonly wants: () => string;
  /** What the other end, or for ports the connection, has or is instead: `has app=worker`. */
  readonly has: (probe: Probe) => string;
  /** What a reader must know of a match: that not all network plug-ins see one. '' for nothing. */
  readonly note?: (probe: Probe) => string;
  /** What it needs to know of the cluster beside the two ends. */
  readonly requires?: (into: RequirementCollector) => void;
}

/** Of what is no clause, or of a kind that is not known here. */
export function unusable(reason: string): Clause {
  return { matches: () => reason, wants: () => `(${reason})`, has: () => 'cannot be compared' };
}

/** Matches no connection. */
export const nothing: Clause = { matches: () => false, wants: () => 'nothing', has: () => 'cannot match it' };
