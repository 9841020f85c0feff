/** Saves the agent's state on disk as a log of changes, and reads it after a restart. */
import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import * as z from 'zod/mini';
import type { AuditState } from '../audit/audit.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { SeriesState, WriteBudgetState } from '../../base/model/series.ts';
import type { NodeIncidentsState } from '../../explain/incidents/incidents.ts';
import { longestInterval, windowLength } from '../../count/series/series.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import type { JsonValue, Position } from '../../read/sources/sources.ts';
import type { QueuedFlow } from '../../count/pipeline/pipeline.ts';
import { readKeptValues } from './kept-state.ts';
import { readSegments } from './read-segments.ts';
import { asideOf, segmentFile, type SegmentSizes } from './segments.ts';

export { createKeptState } from './kept-state.ts';
export { createStateLog, type StateLog, type StateReport } from './state-log.ts';

/** The state of an agent: its position in each log, and its counts up to there. */
export interface AgentState {
  /** Identifies the memory of a run. A run that lost its state gets a new one. */
  id: string;
  node: string;
  positions: Record<string, Position>;
  /** Records that one source has shown and others have not. */
  once: JsonValue;
  series: SeriesState;
  waiting: readonly QueuedFlow[];
  incidents?: NodeIncidentsState | undefined;
  budget: WriteBudgetState;
  audit?: AuditState | undefined;
  /** The Pods of the node as read from the state, and when that agent was alive. */
  pods?: { records: readonly unknown[]; alive: unknown } | undefined;
}

export interface RestoredState {
  state: AgentState | undefined;
  id: string;
  /** A sentence for a person; undefined if there is no problem. */
  problem: string | undefined;
  /** Whether there was no state in the folder. */
  first: boolean;
  segments: Readonly<SegmentSizes>;
}

/** Enough to recognize a state. A checksum protects the rest. */
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
  budget: z.looseObject({ left: z.number(), at: z.number() }),
});

/** Restores the state of an earlier run. Unusable files are renamed, and `problem` says so. Never throws. */
export function restoreState(folder: string, node: string, now: Date): RestoredState {
  const fresh = {
    state: undefined,
    id: randomUUID(),
    first: false,
    segments: new Map() as SegmentSizes,
  };
  try {
    const found = findState(folder);
    if (found !== undefined) for (const file of found.noFiles) renameSync(file, asideOf(file, now));
    if (found === undefined) return { ...fresh, problem: undefined, first: true };
    const state = found.state as AgentState;
    const reason =
      unusableReason(found) ?? (state.node === node ? undefined : `it is of node ${state.node}, this is ${node}`);
    if (reason !== undefined) return { ...fresh, problem: setAside(found.files, reason, now) };
    clampTimes([state.series, state.incidents, state.waiting, state.audit?.flows], now.getTime());
    const problem =
      found.damage &&
      `${folder}: ${found.damage}. Going on with what was kept before; drops counted after it and not read again are missing`;
    return { state, id: state.id, problem, first: false, segments: found.segments };
  } catch (error) {
    return {
      ...fresh,
      problem: `${folder}: the state cannot be read (${reasonOf(error)}): starting with nothing counted`,
    };
  }
}

export interface StateFiles {
  state: unknown;
  saved: Millis;
  damage?: string | undefined;
  files: readonly string[];
  /** Files that have the name of a state file but are not one. */
  noFiles: readonly string[];
  segments: Readonly<SegmentSizes>;
}

/** Returns undefined if there is no state. Throws if it cannot be read. */
export function findState(folder: string): StateFiles | undefined {
  const { segments, noFiles, values, damage, saved } = readSegments(folder);
  const files = [...segments.keys()].map((number) => segmentFile(folder, number));
  if (segments.size + noFiles.length === 0) return undefined;
  return { state: readKeptValues(values), damage, files, noFiles, segments, saved };
}

export function unusableReason({ state, damage }: StateFiles): string | undefined {
  return shape.safeParse(state).success ? undefined : (damage ?? 'it is not the state of an agent');
}

/** How far these times may be ahead of the clock. All other times are in the past. */
const longestAhead: Readonly<Record<string, Millis>> = {
  windowEnd: windowLength,
  nextSweep: windowLength,
  due: longestInterval,
};

/** Corrects times from a clock that was ahead. It recognizes times by their size, because no other number is as large. */
export function clampTimes(state: unknown, now: Millis): void {
  if (typeof state !== 'object' || state === null) return;
  const fields = state as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    const most = now + (longestAhead[name] ?? 0);
    if (typeof value !== 'number') clampTimes(value, now);
    else if (value > most) fields[name] = most;
  }
}

/** Returns the times of the last drop and the last Event among problems that are still counted. */
export function lastTimes({ series, past }: Pick<SeriesState, 'series' | 'past'>) {
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

function setAside(files: readonly string[], reason: string, now: Date): string {
  const [first] = files;
  if (first === undefined)
    return `The state cannot be used: ${reason}. It was set aside; starting with nothing counted`;
  const sentence = `${first} cannot be used: ${reason}.`;
  try {
    for (const file of files) renameSync(file, asideOf(file, now));
    return `${sentence} It was set aside as ${asideOf(first, now)}; starting with nothing counted`;
  } catch {
    return `${sentence} It could not be moved away; starting with nothing counted`;
  }
}
