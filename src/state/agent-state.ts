import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import type { Millis } from '../model/log-line.ts';
import type { SeriesState } from '../model/series.ts';
import type { NodeIncidentsState } from '../incidents/node-incidents.ts';
import { longestWait } from '../series/schedule.ts';
import { windowLength } from '../series/window.ts';
import type { Json, Position } from '../sources/source.ts';
import type { QueuedFlow } from '../pipeline/lookup-queue.ts';
import { readState, setAside } from './state-file.ts';

/** All that an agent must not forget: where it was in each log, and what it had counted up to there. */
export interface AgentState {
  /** Names this memory: a run that has lost it has another one. */
  id: string;
  node: string;
  /** By the name of the source. */
  positions: Record<string, Position>;
  /** What one source has shown and others have not yet. */
  once: Json;
  series: SeriesState;
  waiting: readonly QueuedFlow[];
  incidents?: NodeIncidentsState | undefined;
}

export interface Restored {
  /** Where the state was, and will be. */
  file: string;
  state: AgentState | undefined;
  /** The id to go on with. */
  id: string;
  /** What a person should know; undefined when all is as it should be. */
  problem: string | undefined;
  /** Whether it is the first run here. */
  first: boolean;
}

/** Enough to know a state: its checksum says that the rest is as it was written. */
const shape = z.looseObject({
  id: z.string(),
  node: z.string(),
  positions: z.record(z.string(), z.unknown()),
  once: z.unknown(),
  series: z.looseObject({
    series: z.array(z.unknown()),
    past: z.array(z.unknown()),
    objects: z.array(z.unknown()),
    reports: z.array(z.unknown()),
    counts: z.looseObject({}),
  }),
  waiting: z.array(z.unknown()),
  incidents: z.optional(z.looseObject({})),
});

/** Reads what an earlier run has kept for this node; what cannot be used is set aside as `FILE.unusable-TIME`. Never throws. */
export function restoreState(file: string, node: string, now: Date): Restored {
  const fresh = { file, state: undefined, id: randomUUID(), problem: undefined, first: false };
  const found = readState(file);
  if (found.kind === 'none') return { ...fresh, first: true };
  if (found.kind === 'unreadable')
    return { ...fresh, problem: `${file} cannot be read (${found.reason}): starting with nothing counted` };
  const state = found.kind === 'state' && shape.safeParse(found.state).success && (found.state as AgentState);
  if (state !== false && state.node === node) {
    clampTimes([state.series, state.incidents, state.waiting], now.getTime());
    return { ...fresh, state, id: state.id };
  }
  const notOurs = state === false ? 'it is no state of an agent' : `it is of node ${state.node}, this is ${node}`;
  const reason = found.kind === 'unusable' ? found.reason : notOurs;
  const aside = setAside(file, now);
  const where = aside === undefined ? 'It could not be moved away' : `It was set aside as ${aside}`;
  return { ...fresh, problem: `${file} cannot be used: ${reason}. ${where}; starting with nothing counted` };
}

/** How far ahead of the clock a time may be that is kept under one of these names; under all others are past times. */
const longestAhead: Readonly<Record<string, Millis>> = {
  windowEnd: windowLength,
  nextSweep: windowLength,
  due: longestWait,
};

/**
 * The one rule about a clock that was ahead when the state was saved: each time later than now becomes now, and each that is to
 * come is no further ahead than it can be. No other number is as large as a time.
 */
export function clampTimes(state: unknown, now: Millis): void {
  if (typeof state !== 'object' || state === null) return;
  const fields = state as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    const most = now + (longestAhead[name] ?? 0);
    if (typeof value !== 'number') clampTimes(value, now);
    else if (value > most) fields[name] = most;
  }
}

/** When the last drop was logged and the last Event was written, of the problems that are still counted. */
export function lastTimes({ series, past }: Pick<SeriesState, 'series' | 'past'>): {
  lastDrop: Millis | undefined;
  lastEvent: Millis | undefined;
} {
  const all = [...series, ...past];
  const drops = all.filter(({ finding }) => finding.details.kind !== 'incident');
  return {
    lastDrop: latest(drops.map(({ last }) => last)),
    lastEvent: latest(all.flatMap(({ published }) => (published.writes > 0 ? (published.at ?? []) : []))),
  };
}

function latest(times: readonly Millis[]): Millis | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b));
}
