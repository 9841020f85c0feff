import * as z from 'zod/mini';
import type { Failing } from '../../model/program-record.ts';
import type { CourseOf } from './rules.ts';
import type { Sync } from './syncs.ts';
import { type TrackedFailure, watch } from './tracked.ts';

/** Numbers since the first run, by code. */
export interface IncidentCounts {
  /** Whether or not they made an incident. */
  failures: Record<string, number>;
  opened: Record<string, number>;
  closed: Record<string, number>;
  /** Attempts that failed and were forgotten, because nothing like them came again, or that succeeded after all: nobody was told. */
  flaps: Record<string, number>;
  /** Containers started anew, by program. */
  restarts: Record<string, number>;
}

/** All that a table of incidents is, as plain JSON. */
export interface IncidentsState {
  incidents: TrackedFailure[];
  /** By program. */
  syncs: Record<string, Sync>;
  counts: IncidentCounts;
}

const texts = z.array(z.string());
const numbers = z.record(z.string(), z.number());

/** All that is calculated with or gone through; a checksum says that the rest is as it was written. */
const shape = z.looseObject({
  incidents: z.array(
    z.looseObject({
      incident: z.looseObject({
        code: z.string(),
        failing: z.string(),
        phase: z.enum(['suspected', 'open', 'over']),
        first: z.number(),
        last: z.number(),
        opened: z.optional(z.number()),
        ended: z.optional(z.number()),
        failures: z.number(),
        unpublished: z.number(),
        endUnpublished: z.boolean(),
        families: texts,
        subjects: texts,
        moreSubjects: z.number(),
        quote: z.string(),
        restarts: z.number(),
      }),
      attempts: z.array(z.looseObject({ time: z.number(), failures: z.number() })),
      heard: z.number(),
      longestGap: z.number(),
      fight: z.boolean(),
      healthy: z.optional(z.number()),
      broken: texts,
      unfinished: z.boolean(),
      doubtful: z.boolean(),
      inThisLife: z.boolean(),
      closed: z.optional(z.number()),
      pastSubjects: z.array(z.number()),
    }),
  ),
  syncs: z.record(
    z.string(),
    z.looseObject({ retry: z.optional(z.number()), tells: z.boolean(), failed: texts, told: numbers }),
  ),
  counts: z.looseObject({ failures: numbers, opened: numbers, closed: numbers, flaps: numbers, restarts: numbers }),
});

/**
 * What an earlier table was, as a copy; nothing where it is damaged or something else. Never throws, also where `courseOf`
 * does: then a newer release knew a cause that this one does not.
 */
export function readIncidentsState(kept: unknown, courseOf: CourseOf): IncidentsState {
  const { success, data } = shape.safeParse(kept);
  if (!success) return { incidents: [], syncs: {}, counts: noCounts() };
  const state = data as unknown as IncidentsState;
  const known = state.incidents.filter(({ incident }) => isKnown(incident.code, courseOf));
  return { ...state, incidents: known.map(whole) };
}

function isKnown(code: string, courseOf: CourseOf): boolean {
  try {
    return courseOf(code).retryInterval > 0;
  } catch {
    return false;
  }
}

/** JSON leaves out what is undefined. */
function whole(kept: TrackedFailure): TrackedFailure {
  const { code, failing, first } = kept.incident;
  const fresh = watch(code, failing, first);
  return { ...fresh, ...kept, incident: { ...fresh.incident, ...kept.incident } };
}

export function keyOf({ code, failing }: { code: string; failing: Failing }): string {
  return `${code} ${failing}`;
}

function noCounts(): IncidentCounts {
  return { failures: {}, opened: {}, closed: {}, flaps: {}, restarts: {} };
}
