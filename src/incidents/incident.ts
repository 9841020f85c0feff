import type { ObjectRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Failing } from '../model/program-record.ts';

/** One cause on this node, from its first failure until some time after it is over. Plain JSON; only the tracker changes it. */
export type Incident = Readonly<TrackedIncident>;

/** An incident as the tracker has it. */
export interface TrackedIncident {
  /** `KN102` */
  code: string;
  failing: Failing;
  /** The Pod that says so, where it is known. */
  failingPod?: ObjectRef | undefined;
  phase: 'suspected' | 'open' | 'over';
  first: Millis;
  last: Millis;
  /** When it was clear that it is more than a flap. */
  opened?: Millis | undefined;
  ended?: Millis | undefined;
  endedBy?: 'success' | 'silence' | undefined;
  failures: number;
  /** Failures that no Event counts yet. */
  unpublished: number;
  /** It is over, and no Event says so yet. */
  endUnpublished: boolean;
  families: string[];
  /** The first few that differ, in order of appearance. */
  subjects: string[];
  moreSubjects: number;
  quote: string;
  /** How often the program was restarted meanwhile. */
  restarts: number;
}

/** `opened`: it is clear now. `continued`: it failed again. `closed`: it is over. */
export interface IncidentChange {
  kind: 'opened' | 'continued' | 'closed';
  incident: Incident;
}

/** There is one incident of a cause and a program at a time. */
export function keyOf({ code, failing }: Pick<Incident, 'code' | 'failing'>): string {
  return `${code} ${failing}`;
}

export function isUnpublished({ unpublished, endUnpublished }: Incident): boolean {
  return unpublished > 0 || endUnpublished;
}
