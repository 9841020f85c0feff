import * as z from 'zod/mini';
import type { ObjectRef } from '../../base/model/endpoint.ts';
import type { Failing } from '../../base/model/program-record.ts';

const texts = z.array(z.string());

/** All times are Millis. Objects are not checked, because a checksum protects the saved state. */
const incidentShape = z.object({
  code: z.string(),
  failing: z.custom<Failing>((failing) => typeof failing === 'string'),
  /** The Pod whose log reported the failure, if known. */
  failingPod: z.optional(z.custom<ObjectRef>()),
  phase: z.enum(['suspected', 'open', 'over']),
  first: z.number(),
  last: z.number(),
  /** When it was certain that the failure lasts. */
  opened: z.optional(z.number()),
  ended: z.optional(z.number()),
  endedBy: z.optional(z.enum(['success', 'silence'])),
  failures: z.number(),
  /** Failures that no Event counts yet. */
  unpublished: z.number(),
  /** The incident is over, but no Event says so yet. */
  endUnpublished: z.boolean(),
  families: texts,
  subjects: texts,
  moreSubjects: z.number(),
  quote: z.string(),
  restarts: z.number(),
});

/** An incident, with the data that decides whether it begins, continues or ends. */
export const trackedShape = z.object({
  incident: incidentShape,
  /** Up to three last failed attempts, earliest first. Three within 15 minutes are not flaps, even if others succeeded in between. */
  attempts: z.array(z.object({ time: z.number(), failures: z.number() })),
  /** The time of the latest line about a failure. `incident.last` may be later, by a restart or a failed sync without a reason. */
  heard: z.number(),
  longestGap: z.number(),
  /** The failure came back after a success or after its end. Another program may be working against the failing one. */
  fight: z.boolean(),
  /** The time of the first success after the last failure. */
  healthy: z.optional(z.number()),
  /** Families that failed and have not succeeded since; '' if the line names none. */
  broken: texts,
  /** No line has said yet how the last failed attempt ended. */
  unfinished: z.boolean(),
  /** It failed again, but no line has confirmed yet that this attempt failed. */
  doubtful: z.boolean(),
  /** It has failed since the last start of the program. */
  inThisLife: z.boolean(),
  /** When the end was certain. `incident.ended` may be earlier. */
  closed: z.optional(z.number()),
  /** Hashes of the subjects that are not kept as text. */
  pastSubjects: z.array(z.number()),
});

export type TrackedIncident = z.infer<typeof incidentShape>;
export type TrackedFailure = z.infer<typeof trackedShape>;

/** One cause on this node, from its first failure until some time after its end. Only the tracker changes it. */
export type Incident = Readonly<TrackedIncident>;

/** `opened`: it is certain now. `continued`: it failed again. `closed`: it is over. */
export interface IncidentChange {
  kind: 'opened' | 'continued' | 'closed';
  incident: Incident;
}

/** Each pair of cause and program has at most one incident at a time. */
export function incidentKey({ code, failing }: Pick<Incident, 'code' | 'failing'>): string {
  return `${code} ${failing}`;
}

export function isUnpublished({ unpublished, endUnpublished }: Incident): boolean {
  return unpublished > 0 || endUnpublished;
}
