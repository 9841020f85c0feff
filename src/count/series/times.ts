/** Decides from a series alone when its window ends, when it is due, and how urgent it is. */
import { createHash } from 'node:crypto';
import type { Millis } from '../../base/model/log-line.ts';
import { type Series, writeIntervals, type WriteKind } from '../../base/model/series.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';

/** Each window has its own Event, because the API server deletes Events after an hour, and exporters announce only new ones. */
export const windowLength: Millis = 3_600_000;

/** The first write waits for this long, so that its count includes the packets that follow at once. */
const firstDelay: Millis = 1000;

/** The longest time that anything waits to be published. */
export const longestInterval: Millis = writeIntervals.at(-1) ?? 0;

/** A flow counts as quiet after four times its average pause, but at least one minute and at most three. */
const quiet = { pauses: 4, least: 60_000, most: 180_000 };

/**
 * Nodes spread their work over this time for each Node of the cluster. An incident has more, because it has two to four Events on every
 * node.
 */
const perNode: Readonly<Record<'drop' | 'incident' | 'read', Millis>> = { drop: 6, incident: 15, read: 2 };

/** More objects than a table has series, because a sweep asks for each object, and a hash takes microseconds. */
const phases = new RecentValues<Millis>(8192);

/** Returns the window of a time. Windows of different objects begin at different minutes. `object`: as in `objectKey`. */
export function windowOf(time: Millis, object: string): { number: number; end: Millis } {
  let phase = phases.get(object);
  if (phase === undefined) {
    phase = createHash('sha256').update(object).digest().readUInt32BE(0) % windowLength;
    phases.set(object, phase);
  }
  const number = Math.floor((time + phase) / windowLength);
  return { number, end: (number + 1) * windowLength - phase };
}

/** Returns whether a flow is quiet: it is probably over, so its count will hardly change. */
export function isQuiet(series: Series, now: Millis): boolean {
  return now >= quietFrom(series);
}

export function quietFrom(series: Series): Millis {
  return Math.min(series.windowEnd, quietAt(series));
}

/** Returns when a series is due: soon if it was never written, otherwise after its back-off or once it is quiet. */
export function dueAfter(series: Series, time: Millis): Millis {
  return Math.max(time + firstDelay, updateDue(series));
}

/** The time moves on while packets keep coming. */
export function updateDue(series: Series): Millis {
  const { writes, at } = series.published;
  const [shortest = 0] = writeIntervals;
  if (writes === 0 || at === null) return -Infinity;
  const backOff = writeIntervals[Math.min(writes, writeIntervals.length) - 1] ?? 0;
  return Math.min(at + backOff, Math.max(at + shortest, Math.min(quietAt(series), series.windowEnd)));
}

function quietAt({ count, first, last }: Series): Millis {
  const pauses = (quiet.pauses * (last - first)) / count;
  return last + Math.min(Math.max(pauses, quiet.least), quiet.most);
}

/** Returns over what time all nodes spread work that is due on all of them at once: 30 s for drops on 5,000 nodes, 0.6 s on 100. */
export function spreadOf({ finding: { details } }: Pick<Series, 'finding'>, nodes: number): Millis {
  return nodes * perNode[details.kind === 'incident' ? 'incident' : 'drop'];
}

/** Returns the same for reads when an incident begins on all nodes: 10 s on 5,000 nodes, with two requests each. */
export function readSpreadOf(nodes: number): Millis {
  return nodes * perNode.read;
}

/**
 * The lanes in the order of writing. `late`: the window is over, or the Pod is on another node (`elsewhere`), on which thousands of
 * nodes may report. `final`: the flow is quiet.
 */
const lanes = {
  incident: { first: 0, late: 1, final: 4, update: 5 },
  drop: { first: 2, late: 3, final: 6, update: 7 },
  notice: { first: 8, late: 9, final: 10, update: 10 },
} as const;

export const lastLane: number = lanes.notice.update;

export function laneOf(series: Series, now: Millis): number {
  const { details, elsewhere } = series.finding;
  const lane = lanes[details.kind !== 'incident' ? 'drop' : details.role === 'full' ? 'incident' : 'notice'];
  // A refused series no longer goes before the updates of others.
  if (series.published.retried === true) return lane.update;
  if (series.published.writes > 0) return isQuiet(series, now) ? lane.final : lane.update;
  return series.windowEnd <= now || elsewhere === true ? lane.late : lane.first;
}

/**
 * Returns the number of a half-lane. In each lane, the first series of every object comes before any second one, with one exception: second
 * series about drops take turns with all those of Pods elsewhere. If one of these came first, a tenant could fill it and hold up the others
 * of all that follow.
 */
export function halfLaneOf(lane: number, isMore: boolean): number {
  const isShared = lane === lanes.drop.first || lane === lanes.drop.late;
  return isMore && isShared ? 2 * lanes.drop.late : 2 * lane + Number(isMore);
}

/** `isMore`: the object already had its first write about a drop in this hour. */
export function kindOf(lane: number, isMore: boolean): WriteKind {
  if (lane === lanes.incident.final || lane === lanes.drop.final) return 'final';
  return lane <= lanes.incident.late || (lane === lanes.drop.first && !isMore) ? 'first' : 'more';
}

export function isUpdate({ published: { writes, retried } }: Series): boolean {
  return writes > 0 || retried === true;
}

export function isIncident({ finding: { details } }: Series): boolean {
  return details.kind === 'incident';
}

/** Orders the series of one object: single problems first, then by unpublished packets, then the newest first. */
export function byWeight(a: Series, b: Series): number {
  return (
    Number(isJoined(a)) - Number(isJoined(b)) ||
    b.count - b.published.count - (a.count - a.published.count) ||
    b.last - a.last ||
    byDue(a, b)
  );
}

function isJoined({ finding: { details } }: Series): boolean {
  return (
    details.kind === 'overflow' || details.kind === 'ports' || (details.kind === 'scan' && details.of === 'target')
  );
}

export function byDue(a: Series, b: Series): number {
  return (a.due ?? 0) - (b.due ?? 0) || byName(a, b);
}

export function byName(a: Series, b: Series): number {
  return a.finding.identity < b.finding.identity ? -1 : 1;
}
