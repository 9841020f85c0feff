import * as z from 'zod/mini';
import type { ObjectRef } from '../model/endpoint.ts';
import type { Failing } from '../model/program-record.ts';

const texts = z.array(z.string());

/** All times are Millis. A checksum says that a saved state is as it was written: objects within it are not looked through. */
const incidentShape = z.object({
  /** `KN102` */
  code: z.string(),
  failing: z.custom<Failing>((failing) => typeof failing === 'string'),
  /** The Pod that says so, where it is known. */
  failingPod: z.optional(z.custom<ObjectRef>()),
  phase: z.enum(['suspected', 'open', 'over']),
  first: z.number(),
  last: z.number(),
  /** The time at which it was clear that it is more than a flap. */
  opened: z.optional(z.number()),
  ended: z.optional(z.number()),
  endedBy: z.optional(z.enum(['success', 'silence'])),
  failures: z.number(),
  /** Failures that no Event counts yet. */
  unpublished: z.number(),
  /** It is over, and no Event says so yet. */
  endUnpublished: z.boolean(),
  families: texts,
  /** The first few that differ, in order of appearance. */
  subjects: texts,
  moreSubjects: z.number(),
  quote: z.string(),
  /** The number of restarts of the program meanwhile. */
  restarts: z.number(),
});

/** The shape of a `TrackedFailure`: an incident, and what it takes to see whether it begins, goes on or ends. */
export const trackedShape = z.object({
  incident: incidentShape,
  /** The last attempts that failed, earliest first, and the failures of each; the third makes a fight of two flaps. */
  attempts: z.array(z.object({ time: z.number(), failures: z.number() })),
  /** The latest line about a failure. `incident.last` may be later: a program that was restarted has not failed since. */
  heard: z.number(),
  /** Longest time between two attempts that failed one after the other. */
  longestGap: z.number(),
  /** It failed again after it had been well. */
  fight: z.boolean(),
  /** The first success after the last failure. */
  healthy: z.optional(z.number()),
  /** Families that failed and have not succeeded since; '' where the line names none. */
  broken: texts,
  /** No line since the last failure says how the attempt ended. */
  unfinished: z.boolean(),
  /** Repeat failure, pending confirmation that its attempt failed. */
  doubtful: z.boolean(),
  /** It failed since the program was last started. */
  inThisLife: z.boolean(),
  /** The end of it: an incident that ends by silence ended before that was clear. */
  closed: z.optional(z.number()),
  /** Hashes of the subjects past those in `incident.subjects`. */
  pastSubjects: z.array(z.number()),
});

/** An incident as the tracker has it. */
export type TrackedIncident = z.infer<typeof incidentShape>;
export type TrackedFailure = z.infer<typeof trackedShape>;

/** One cause on this node, from its first failure until some time after it is over. Only the tracker changes it. */
export type Incident = Readonly<TrackedIncident>;

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
