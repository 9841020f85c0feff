import { type Endpoint, objectKey } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { DistinctValues, ObjectSlots, Series, SeriesState } from '../model/series.ts';
import { copy } from '../platform/address.ts';
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

/** Names the Event of an object for several ports of one peer; undefined of a finding that has no port to be one of several. */
export function portsIdentity({ details, regarding, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || !hasPort(details)) return undefined;
  return `ports|${objectKey(regarding)}|${details.peer.identity}|${node}`;
}

/** Gives what packets to several ports of one peer are counted as; `finding` is that of the first one. */
export function portsFinding(finding: Finding, identity: string): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...finding, identity, details: { kind: 'ports', example: details } };
}

/** Gives the finding of the first packet. */
export function singleFinding(finding: Finding): Finding {
  const { details } = finding;
  return details.kind === 'ports' ? { ...finding, details: details.example } : finding;
}

/** Whether one Event may count the packets of a finding and of a series: what it says holds for both. */
export function isAlike({ finding }: Series, { details }: Finding): boolean {
  const known = finding.details.kind === 'ports' ? finding.details.example : finding.details;
  if (known.kind !== 'flow' || details.kind !== 'flow' || !hasPort(known)) return false;
  return (
    known.peer.identity === details.peer.identity &&
    known.direction === details.direction &&
    known.reply === details.reply &&
    known.verdict === details.verdict &&
    known.enforcer === details.enforcer
  );
}

/** Moves the packets of a series into another one. */
export function moveInto(joint: Series, series: Series): void {
  joint.count += series.count;
  joint.first = Math.min(joint.first, series.first);
  joint.last = Math.max(joint.last, series.last);
  joint.suppressed ||= series.suppressed;
  noteOthers(joint, series.finding, series);
}

/** An ICMP error and a martian packet are problems of their own, whatever port they are about. */
function hasPort({ port, error, martian }: FlowDetails): boolean {
  return port !== undefined && error === undefined && !martian;
}

/**
 * Notes in a series what its packets do not have in common: Pods of the peer's workload; ports; peers of a scan or an overflow. `from`: the
 * series that counted the packets of the finding until now. Gives the peer if it is one more that an object refuses because of a scan.
 */
export function noteOthers(series: Series, { details, related }: Finding, from?: Series): Endpoint | undefined {
  if (details.kind === 'incident' || details.kind === 'overflow') return undefined;
  const { peer, port, protocol } = details.kind === 'flow' ? details : details.example;
  const into = series.finding.details;
  if (into.kind !== 'flow') {
    if (port !== undefined) noteValue(series.ports, `${port}/${protocol}`);
    if (from !== undefined) noteAll(series.ports, from.ports);
  }
  if (into.kind === 'flow' || into.kind === 'ports') {
    if (peer.workload === undefined) return undefined;
    noteValue(series.peers, peer.object?.name ?? peer.address);
    if (from !== undefined) noteAll(series.peers, from.peers);
    return undefined;
  }
  if (into.kind === 'scan' && into.of !== 'target') {
    const tried = into.of === 'stranger' ? related : peer.object;
    noteValue(series.peers, tried === undefined ? peer.address : `${tried.namespace ?? ''}/${tried.name}`);
    return undefined;
  }
  const before = series.peers.seen.length;
  noteValue(series.peers, peer.identity);
  return into.kind === 'scan' && series.peers.seen.length > before ? peer : undefined;
}

function noteAll(into: DistinctValues, { seen, past }: DistinctValues): void {
  for (const value of seen) noteValue(into, value);
  into.past += past;
}

/** Distinct values that are remembered. */
export const distinctLimit = 512;

/** Longer lists are searched by a set, which is no part of the plain data. */
const searchable = 16;
const sets = new WeakMap<DistinctValues, Set<string>>();

export function createDistinctValues(): DistinctValues {
  return { seen: [], past: 0 };
}

/** Counts a value: once if it can be remembered, each time if not. */
export function noteValue(into: DistinctValues, value: string): void {
  const { seen } = into;
  const known = seen.length <= searchable ? undefined : setOf(into);
  if (known?.has(value) ?? seen.includes(value)) return;
  if (seen.length >= distinctLimit) {
    into.past++;
    return;
  }
  // A slice of a line would keep the line.
  const kept = copy(value);
  seen.push(kept);
  known?.add(kept);
}

function setOf(values: DistinctValues): Set<string> {
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new Set(values.seen)));
  return set;
}
