import { type Endpoint, objectKey } from '../../base/model/endpoint.ts';
import type { Finding, FlowDetails, FlowSide } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { DistinctValues, ObjectSlots, Series, SeriesState } from '../../base/model/series.ts';
import { copy } from '../../base/platform/address.ts';
import { createKeyedChanges, type StateChange } from '../../base/platform/keyed-changes.ts';
import { windowOf } from './times.ts';

export interface SlotLimits {
  /** The most Events of one object in one window. Only incidents and scans get more. An overflow Event counts the rest. */
  perObject: number;
  /** The most Events about one peer among these. An Event for all its ports counts the rest. Default: 3. */
  perPeer?: number;
}

export interface Slots {
  /** `past share`: the peer has used its share of slots. Incidents always have a slot. */
  roomFor(finding: Finding, clock: Millis): 'free' | 'past share' | 'full';
  /** Returns whether in that window no slot is left for a flow whose peer has none. */
  isCrowded(object: string, peer: string, window: number): boolean;
  /** Returns whether no slot is left, apart from the reserved one. */
  isFull(finding: Finding, clock: Millis): boolean;
  flowsOf: (finding: Finding) => readonly Series[];
  fill(series: Series): void;
  /** Frees the slot of a series, because another series counts its packets. */
  free: (series: Series) => void;
  /** Also frees the slot, but keeps the peer's share as used. */
  giveUp: (series: Series) => void;
  sweep(clock: Millis): void;
  takeChanges: () => StateChange[];
  entries: () => Generator<StateChange>;
}

/** Counts the Events of each object in its window, and those about each peer. */
export function createSlots({ perObject, perPeer = 3 }: SlotLimits, restored?: Pick<SeriesState, 'objects'>): Slots {
  const objects = new Map<string, ObjectSlots>(restored?.objects);
  const changes = createKeyedChanges('object', objects);
  /** The flows of this run. Those of an earlier run may have Events already, so they are never moved. */
  const flows = createFlows();
  /** The last slot is reserved for peers without an Event. */
  const forPeers = perPeer < perObject ? perObject - 1 : perObject;

  return {
    roomFor(finding: Finding, clock: Millis): 'free' | 'past share' | 'full' {
      const slots = finding.details.kind === 'incident' ? undefined : slotsAt(finding, clock);
      if (slots === undefined) return 'free';
      const ofPeer = eventsOfPeer(finding, slots);
      if (ofPeer >= perPeer || (ofPeer > 0 && forPeers < perObject && slots.distinct >= forPeers)) return 'past share';
      return slots.distinct < perObject ? 'free' : 'full';
    },
    isCrowded(object: string, peer: string, window: number): boolean {
      const slots = objects.get(object);
      return slots?.window === window && slots.distinct >= perObject && (peersOf(slots).get(peer) ?? 0) === 0;
    },
    isFull(finding: Finding, clock: Millis): boolean {
      return (slotsAt(finding, clock)?.distinct ?? 0) >= forPeers;
    },
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
      // From now on this Event counts all ports of the peer, even if slots become free.
      if (finding.details.kind === 'ports') setPeer(slots, finding.details.example.peer, perPeer);
      flows.add(series);
      changes.changed(object);
    },
    free: (series: Series): void => release(series, true),
    giveUp: (series: Series): void => release(series, false),
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

function eventsOfPeer({ details }: Finding, slots: ObjectSlots): number {
  return details.kind === 'flow' ? (peersOf(slots).get(details.peer.identity) ?? 0) : 0;
}

/** The peers of a value that replaces another after each change. Asking the object itself would keep each new name as a property's. */
const peerMaps = new WeakMap<ObjectSlots['peers'], Map<string, number>>();

function peersOf({ peers }: ObjectSlots): Map<string, number> {
  let map = peerMaps.get(peers);
  if (map === undefined) peerMaps.set(peers, (map = new Map(Object.entries(peers))));
  return map;
}

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
  if (details.kind === 'flow') setPeer(slots, details.peer, (slots.peers[details.peer.identity] ?? 0) + change);
}

/** Removes a peer without Events, because a sender that changes its address for each packet would fill the state. */
function setPeer(slots: ObjectSlots, { identity }: Endpoint, events: number): void {
  const { [identity]: _, ...others } = slots.peers;
  slots.peers = events === 0 ? others : { ...others, [identity]: events };
}

export function portsIdentity({ details, regarding, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || !hasPort(details)) return undefined;
  return `ports|${objectKey(regarding)}|${details.peer.identity}|${node}`;
}

export function portsFinding(finding: Finding, identity: string): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...finding, identity, details: { kind: 'ports', example: details } };
}

/** Returns the finding of the first packet. */
export function singleFinding(finding: Finding): Finding {
  const { details } = finding;
  return details.kind === 'ports' ? { ...finding, details: details.example } : finding;
}

/** Returns whether the text of the series' Event is also true for the finding. */
export function isSameKind({ finding }: Series, { details }: Finding): boolean {
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

export function moveInto(joint: Series, series: Series): void {
  joint.count += series.count;
  joint.first = Math.min(joint.first, series.first);
  joint.last = Math.max(joint.last, series.last);
  joint.suppressed ||= series.suppressed;
  noteOthers(joint, series.finding, series);
}

/** ICMP errors and martians are separate problems, whatever their port. */
function hasPort({ port, error, martian }: FlowDetails): boolean {
  return port !== undefined && error === undefined && !martian;
}

/** `from`: the series that has counted the values until now. Returns the peer if it is new to the target of a scan. */
export function noteOthers(series: Series, { details, related }: Finding, from?: Series): Endpoint | undefined {
  if (details.kind === 'incident' || details.kind === 'overflow') return undefined;
  const { peer, port, protocol } = details.kind === 'flow' ? details : details.example;
  const into = series.finding.details;
  if (into.kind !== 'flow') {
    if (port !== undefined) notePort(series.ports, port, protocol);
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

/** Notes a side among the other flows of its object, as `noteOthers` does. */
export function noteSide({ ports, peers }: Series, { port, protocol, peer }: FlowSide): void {
  if (port !== undefined) notePort(ports, port, protocol);
  noteValue(peers, peer.identity);
}

/** Makes the port's text only if it is new. */
function notePort(into: DistinctValues, port: number, protocol: string): void {
  const { seen } = into;
  if (seen.length <= searchable) return noteValue(into, `${port}/${protocol}`);
  let known = portSets.get(into);
  if (known === undefined) portSets.set(into, (known = new Map()));
  let numbers = known.get(protocol);
  if (numbers === undefined) known.set(protocol, (numbers = portsIn(seen, protocol)));
  if (numbers.has(port)) return;
  if (seen.length >= distinctLimit) {
    into.past++;
    return;
  }
  numbers.add(port);
  noteValue(into, `${port}/${protocol}`);
}

function noteAll(into: DistinctValues, { seen, past }: DistinctValues): void {
  for (const value of seen) noteValue(into, value);
  into.past += past;
  portSets.delete(into);
}

function portsIn(values: readonly string[], protocol: string): Set<number> {
  const end = `/${protocol}`;
  return new Set(values.flatMap((value) => (value.endsWith(end) ? Number.parseInt(value, 10) : [])));
}

export const distinctLimit = 512;

/** Longer lists also have a set, because searching them is slow. */
const searchable = 16;
const sets = new WeakMap<DistinctValues, Set<string>>();
/** The ports among them, by protocol. */
const portSets = new WeakMap<DistinctValues, Map<string, Set<number>>>();

export function createDistinctValues(): DistinctValues {
  return { seen: [], past: 0 };
}

/** Counts a value once if it is remembered, and otherwise every time. */
export function noteValue(into: DistinctValues, value: string): void {
  const { seen } = into;
  const known = seen.length <= searchable ? undefined : setOf(into);
  if (known?.has(value) ?? seen.includes(value)) return;
  if (seen.length >= distinctLimit) {
    into.past++;
    return;
  }
  // A slice would keep the whole line in memory.
  const kept = copy(value);
  seen.push(kept);
  known?.add(kept);
}

function setOf(values: DistinctValues): Set<string> {
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new Set(values.seen)));
  return set;
}
