import * as z from 'zod/mini';
import type { ObjectRef } from '../model/endpoint.ts';
import type { Failing } from '../model/program-record.ts';

const texts = z.array(z.string());

/** All times are Millis. Objects are not checked, because a saved state has a checksum. */
const incidentShape = z.object({
  code: z.string(),
  failing: z.custom<Failing>((failing) => typeof failing === 'string'),
  /** The Pod whose log says so, if known. */
  failingPod: z.optional(z.custom<ObjectRef>()),
  phase: z.enum(['suspected', 'open', 'over']),
  first: z.number(),
  last: z.number(),
  /** When it was clear that it lasts. */
  opened: z.optional(z.number()),
  ended: z.optional(z.number()),
  endedBy: z.optional(z.enum(['success', 'silence'])),
  failures: z.number(),
  /** Failures that no Event counts yet. */
  unpublished: z.number(),
  /** No Event says yet that it is over. */
  endUnpublished: z.boolean(),
  families: texts,
  /** The first few that differ, in order of appearance. */
  subjects: texts,
  moreSubjects: z.number(),
  quote: z.string(),
  restarts: z.number(),
});

/** An incident, and what is needed to see whether it begins, goes on or ends. */
export const trackedShape = z.object({
  incident: incidentShape,
  /** The last failed attempts, earliest first. A third one makes an incident of two flaps. */
  attempts: z.array(z.object({ time: z.number(), failures: z.number() })),
  /** The latest line about a failure; after a restart, `incident.last` may be later. */
  heard: z.number(),
  longestGap: z.number(),
  /** It failed, was well, and failed again. */
  fight: z.boolean(),
  /** The first success after the last failure. */
  healthy: z.optional(z.number()),
  /** Families that failed and have not succeeded since; '' if the line names none. */
  broken: texts,
  /** No line says yet how the last failed attempt ended. */
  unfinished: z.boolean(),
  /** It has failed again, but no line confirms yet that the attempt failed. */
  doubtful: z.boolean(),
  /** It failed since the program was last started. */
  inThisLife: z.boolean(),
  /** When the end was clear: one that ends by silence ended before. */
  closed: z.optional(z.number()),
  /** Hashes of further subjects. */
  pastSubjects: z.array(z.number()),
});

export type TrackedIncident = z.infer<typeof incidentShape>;
export type TrackedFailure = z.infer<typeof trackedShape>;

/** One cause on this node, from its first failure until some time after its end. Only the tracker changes it. */
export type Incident = Readonly<TrackedIncident>;

/** `opened`: it is clear now. `continued`: it failed again. `closed`: it is over. */
export interface IncidentChange {
  kind: 'opened' | 'continued' | 'closed';
  incident: Incident;
}

/** A cause and a program have one incident at a time. */
export function keyOf({ code, failing }: Pick<Incident, 'code' | 'failing'>): string {
  return `${code} ${failing}`;
}

export function isUnpublished({ unpublished, endUnpublished }: Incident): boolean {
  return unpublished > 0 || endUnpublished;
}
