import * as z from 'zod/mini';
import { isCause } from '../catalogue/catalogue.ts';
import type { Sync } from './syncs.ts';
import type { TrackedFailure } from './tracked.ts';

/** Numbers since the first run, by code. */
export interface IncidentCounts {
  /** Whether or not they made an incident. */
  failures: Record<string, number>;
  opened: Record<string, number>;
  closed: Record<string, number>;
  /** Attempts that failed and were forgotten, because nothing like them came again, or that succeeded after all: no Event was made. */
  flaps: Record<string, number>;
}

/** All that a tracker is, as plain JSON. */
export interface TrackerState {
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
    z.looseObject({ retry: z.optional(z.number()), reportsFailures: z.boolean(), failed: texts, reported: numbers }),
  ),
  counts: z.object({ failures: numbers, opened: numbers, closed: numbers, flaps: numbers }),
});

/** A copy of an earlier tracker's state; empty where it is damaged. Causes of newer releases are left out. Never throws. */
export function readTrackerState(kept: unknown): TrackerState {
  const { success, data } = shape.safeParse(kept);
  if (!success) return { incidents: [], syncs: {}, counts: { failures: {}, opened: {}, closed: {}, flaps: {} } };
  const state = data as unknown as TrackerState;
  return { ...state, incidents: state.incidents.filter(({ incident }) => isCause(incident.code)) };
}
