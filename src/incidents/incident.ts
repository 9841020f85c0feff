import type { ObjectRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Failing } from '../model/program-record.ts';

/** One cause on this node, from its first failure until some time after it is over. Plain JSON. */
export interface Incident {
  /** `KN102` */
  code: string;
  failing: Failing;
  /** The Pod that says so, where it is known. */
  failingPod: ObjectRef | undefined;
  phase: 'suspected' | 'open' | 'over';
  first: Millis;
  last: Millis;
  /** When it was clear that it is more than a flap. */
  opened: Millis | undefined;
  ended: Millis | undefined;
  endedBy: 'success' | 'silence' | undefined;
  failures: number;
  /** Failures that nobody has been told of. Whoever tells sets it to 0. */
  unpublished: number;
  /** It is over, and nobody has been told. Whoever tells sets it to false. */
  endUnpublished: boolean;
  families: string[];
  /** The first few that differ, in order of appearance. */
  subjects: string[];
  moreSubjects: number;
  quote: string;
  /** How often the program was started anew meanwhile. */
  restarts: number;
}

/**
 * `opened`: it is clear now. `continued`: it failed again. `closed`: it is over. `incident.untold` is how many failures are new
 * since the last call.
 */
export interface IncidentChange {
  kind: 'opened' | 'continued' | 'closed';
  incident: Incident;
}
