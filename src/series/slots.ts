import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import { type Endpoint, objectKey } from '../model/endpoint.ts';
import type { ObjectSlots, Series, SeriesState } from '../model/series.ts';
import { createKeyedChanges } from '../platform/keyed-changes.ts';
import { windowOf } from './times.ts';

export interface SlotLimits {
  /** Events of one object in one window; more are counted in one for the overflow. */
  perObject: number;
  /** Events about one peer among those; more are counted in one for all its ports. By default 3. */
  perPeer?: number;
}

export type Slots = ReturnType<typeof createSlots>;

/** Counts the Events that each object has in its window, and those of them that are about one peer. */
export function createSlots(
  { perObject, perPeer = 3 }: SlotLimits,
  restored?: Pick<SeriesState, 'objects' | 'series'>,
) {
  const objects = new Map<string, ObjectSlots>(restored?.objects);
  const changes = createKeyedChanges('object', objects);
  const flows = createFlows();
  /** Keeps the last slot for peers that have none. */
  const forPeers = perPeer < perObject ? perObject - 1 : perObject;
  for (const series of restored?.series ?? []) if (currentOf(series)?.window === series.window) flows.add(series);

  return {
    /** Says whether a slot of the object is free at `clock`, the share of the peer is used, or all are filled. Incidents always have a slot. */
    roomFor(finding: Finding, clock: Millis): 'free' | 'past share' | 'full' {
      const slots = finding.details.kind === 'incident' ? undefined : slotsAt(finding, clock);
      if (slots === undefined) return 'free';
      const ofPeer = eventsOfPeer(finding, slots);
      if (ofPeer >= perPeer || (ofPeer > 0 && forPeers < perObject && slots.distinct >= forPeers)) return 'past share';
      return slots.distinct < perObject ? 'free' : 'full';
    },
    /** Whether a peer that has used its share finds no slot for the Event of all its ports. */
    isFull(finding: Finding, clock: Millis): boolean {
      return (slotsAt(finding, clock)?.distinct ?? 0) >= forPeers;
    },
    /** The single flows of its object that have a slot. */
    flowsOf: ({ regarding }: Finding): readonly Series[] => flows.get(objectKey(regarding)),
    fill(series: Series): void {
      const { window, finding } = series;
      const object = objectKey(finding.regarding);
      let slots = objects.get(object);
      if (slots?.window !== window) {
        objects.set(object, (slots = { window, distinct: 0, peers: {} }));
        flows.forget(object);
      }
      slots.distinct++;
      countPeer(slots, series, 1);
      // This series counts all ports of the peer from now on, even when slots become free.
      if (finding.details.kind === 'ports') setPeer(slots, finding.details.example.peer, perPeer);
      flows.add(series);
      changes.changed(object);
    },
    /** Frees the slot of a series that is counted in another one. */
    giveBack: (series: Series): void => release(series, true),
    /** Does the same, but the peer's share stays used. */
    giveUp: (series: Series): void => release(series, false),
    /** Forgets objects whose window is over at `clock`. */
    sweep(clock: Millis): void {
      for (const [object, { window }] of objects) {
        if (window === windowOf(clock, object).number) continue;
        objects.delete(object);
        flows.forget(object);
        changes.changed(object);
      }
    },
    takeChanges: changes.take,
    entries: changes.entries,
  };

  function currentOf({ finding }: Pick<Series, 'finding'>): ObjectSlots | undefined {
    return objects.get(objectKey(finding.regarding));
  }

  function slotsAt(finding: Finding, clock: Millis): ObjectSlots | undefined {
    const object = objectKey(finding.regarding);
    const slots = objects.get(object);
    return slots?.window === windowOf(clock, object).number ? slots : undefined;
  }

  function release(series: Series, forPeer: boolean): void {
    const { window, finding } = series;
    const { kind } = finding.details;
    const slots = currentOf(series);
    if ((kind !== 'flow' && kind !== 'ports') || slots?.window !== window) return;
    slots.distinct--;
    if (forPeer) countPeer(slots, series, -1);
    flows.remove(series);
    changes.changed(objectKey(finding.regarding));
  }
}

/** Slots that a peer with single flows has used. */
function eventsOfPeer({ details }: Finding, { peers }: ObjectSlots): number {
  return details.kind === 'flow' ? (peers?.[details.peer.identity] ?? 0) : 0;
}

/** Series of single flows that have a slot, by object. */
function createFlows() {
  const byObject = new Map<string, Series[]>();

  return {
    get: (object: string): readonly Series[] => byObject.get(object) ?? [],
    add(series: Series): void {
      if (series.finding.details.kind !== 'flow') return;
      const known = byObject.get(keyOf(series));
      if (known === undefined) byObject.set(keyOf(series), [series]);
      else known.push(series);
    },
    remove(series: Series): void {
      const known = byObject.get(keyOf(series)) ?? [];
      const index = known.indexOf(series);
      if (index !== -1) known.splice(index, 1);
    },
    forget: (object: string): void => void byObject.delete(object),
  };
}

function keyOf({ finding }: Pick<Series, 'finding'>): string {
  return objectKey(finding.regarding);
}

function countPeer(slots: ObjectSlots, { finding: { details } }: Series, change: 1 | -1): void {
  if (details.kind === 'flow') setPeer(slots, details.peer, (slots.peers?.[details.peer.identity] ?? 0) + change);
}

function setPeer(slots: ObjectSlots, { identity }: Endpoint, events: number): void {
  slots.peers = { ...slots.peers, [identity]: events };
}
