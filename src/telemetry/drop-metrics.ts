import { LRUCache } from 'lru-cache';
import { Counter, Registry } from 'prom-client';
import type { LegacyMetricSetting } from '../model/choices.ts';
import type { Endpoint, Ends, ObjectRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { FlowMeaning } from '../pipeline/pipeline.ts';
import { printable } from '../platform/printable.ts';

/** The labels of one time series. Past a limit, workload or namespace is `other`. */
interface DropLabels {
  namespace: string;
  workload: string;
  direction: 'ingress' | 'egress';
  verdict: 'dropped' | 'rejected';
  reason: 'network-policy' | 'host-firewall' | 'martian' | 'unknown';
}

interface Cell {
  labels: DropLabels;
  packets: number;
  last: Millis;
}

interface DropsByOwnerLimits {
  total: number;
  perNamespace: number;
  /** Time series `other` of namespaces. They have their own limit, so that a namespace gets one even if `total` is reached. */
  namespaces: number;
}

/** Together with 16 time series of namespace `other`, these make 256, the limit of a metric. */
const defaultLimits: DropsByOwnerLimits = { total: 140, perNamespace: 30, namespaces: 100 };

export type DropsByOwner = ReturnType<typeof createDropsByOwner>;

const other = 'other';

/** A workload without drops for this long makes room for others: Jobs end, and would else hold their places for ever. */
const idleAfter: Millis = 3_600_000;
const lookEvery: Millis = 60_000;

/** Counts lost packets, without noise, by the workload of each end that is a Pod. */
export function createDropsByOwner(now: () => Millis, limits: DropsByOwnerLimits = defaultLimits) {
  const cells = new Set<Cell>();
  /** By namespace, then by workload, because making one joined key would cost more than all the rest. */
  const places = new Map<string, Map<string, Cell[]>>();
  let ownCells = 0;
  let nextLook: Millis = -Infinity;
  const ownCellsOf = new Map<string, number>();

  return {
    cells: () => cells.values(),
    count({ ends, noise }: FlowMeaning, observation: PacketObservation | Martian, packets: number): void {
      if (noise !== undefined) return;
      const { source, destination } = ends;
      if (destination.kind === 'pod') add(cellOf(destination, 'ingress', observation), packets);
      if (source.kind === 'pod') add(cellOf(source, 'egress', observation), packets);
    },
  };

  function add(cell: Cell, packets: number): void {
    cell.packets += packets;
    cell.last = now();
  }

  function cellOf(
    { object, workload }: Endpoint,
    direction: DropLabels['direction'],
    observation: PacketObservation | Martian,
  ): Cell {
    const namespace = object?.namespace ?? other;
    const name = workload?.name ?? object?.name ?? other;
    const isMartian = observation.kind === 'martian';
    const verdict = !isMartian && observation.verdict === 'rejected' ? 'rejected' : 'dropped';
    const reason = isMartian ? 'martian' : observation.enforcer;
    const known = find(namespace, name, direction, verdict, reason);
    if (known !== undefined) return known;
    const rest = { direction, verdict, reason } as const;
    const own = { namespace, workload: name, ...rest };
    if (!hasRoomFor(namespace) && now() >= nextLook) removeIdle();
    if (hasRoomFor(namespace)) {
      ownCells++;
      ownCellsOf.set(namespace, (ownCellsOf.get(namespace) ?? 0) + 1);
      return at(own);
    }
    const others = { namespace, workload: other, ...rest };
    const hasRoom = findOf(others) !== undefined || cells.size - ownCells < limits.namespaces;
    // Namespace `other` needs no limit: it has one cell for each direction, verdict and reason.
    return at(hasRoom ? others : { namespace: other, workload: other, ...rest });
  }

  function hasRoomFor(namespace: string): boolean {
    return (ownCellsOf.get(namespace) ?? 0) < limits.perNamespace && ownCells < limits.total;
  }

  function removeIdle(): void {
    nextLook = now() + lookEvery;
    const oldest = now() - idleAfter;
    for (const cell of cells) {
      const { namespace, workload } = cell.labels;
      if (workload === other || cell.last > oldest) continue;
      cells.delete(cell);
      const left =
        places
          .get(namespace)
          ?.get(workload)
          ?.filter((each) => each !== cell) ?? [];
      if (left.length > 0) places.get(namespace)?.set(workload, left);
      else places.get(namespace)?.delete(workload);
      ownCells--;
      ownCellsOf.set(namespace, (ownCellsOf.get(namespace) ?? 1) - 1);
    }
  }

  function at(labels: DropLabels): Cell {
    const found = findOf(labels);
    if (found !== undefined) return found;
    const { namespace, workload } = labels;
    const cell = { labels, packets: 0, last: now() };
    cells.add(cell);
    let ofThis = places.get(namespace);
    if (ofThis === undefined) places.set(namespace, (ofThis = new Map()));
    const ofWorkload = ofThis.get(workload);
    if (ofWorkload === undefined) ofThis.set(workload, [cell]);
    else ofWorkload.push(cell);
    return cell;
  }

  function findOf({ namespace, workload, direction, verdict, reason }: DropLabels): Cell | undefined {
    return find(namespace, workload, direction, verdict, reason);
  }

  function find(
    namespace: string,
    workload: string,
    direction: DropLabels['direction'],
    verdict: DropLabels['verdict'],
    reason: DropLabels['reason'],
  ): Cell | undefined {
    // A loop instead of `find`, because this runs for each packet, and `find` would need a closure.
    for (const cell of places.get(namespace)?.get(workload) ?? none) {
      const { labels } = cell;
      if (labels.direction === direction && labels.verdict === verdict && labels.reason === reason) return cell;
    }
    return undefined;
  }
}

const none: readonly Cell[] = [];

export type Naming = Exclude<LegacyMetricSetting, 'off'>;

/** kube-iptables-tailer's metric, for dashboards and alerts that already use it. */
export interface LegacyMetric {
  count: (ends: Ends, packets: number) => void;
  text: () => Promise<string>;
}

interface LegacyMetricOptions {
  naming: Naming;
  hostNameOf: (address: string) => string | undefined;
  limit?: number;
}

const others = { src: 'other', dst: 'other' };

const candidatesPerPlace = 4;

/** The most characters of a label, because the owner of an outside address chooses its host name. */
const longest = 128;

const namings: Readonly<Record<Naming, (object: ObjectRef, workload: Endpoint['workload']) => string>> = {
  namespace: ({ namespace = '' }) => namespace,
  name: ({ name }) => name,
  name_with_namespace: ({ namespace = '', name }) => `${namespace}/${name}`,
  workload: ({ name }, workload) => workload?.name ?? name,
};

interface Pair {
  labels: { src: string; dst: string };
  packets: number;
}

/**
 * Shows the busiest pairs; `other` counts the rest. A new pair needs more than twice the packets of the smallest shown one to replace it. The time
 * series of a pair only grows while the pair is shown.
 */
export function createLegacyMetric({ naming, hostNameOf, limit = 200 }: LegacyMetricOptions): LegacyMetric {
  const registry = new Registry();
  const counter = new Counter({
    name: 'packet_drops_count',
    help: 'Lost packets by their two ends, as kube-iptables-tailer names them; other: beyond the busiest pairs.',
    labelNames: ['src', 'dst'],
    registers: [registry],
  });
  const placed = new Map<string, Pair>();
  const candidates = new LRUCache<string, number>({ max: limit * candidatesPerPlace });
  /** No shown pair has fewer packets than this. */
  let least = 0;

  return { count, text: () => registry.metrics() };

  function count(ends: Ends, packets: number): void {
    const labels = { src: nameOf(ends.source), dst: nameOf(ends.destination) };
    const key = JSON.stringify([labels.src, labels.dst]);
    const pair = placed.get(key) ?? place(key, labels);
    if (pair === undefined) {
      candidates.set(key, (candidates.get(key) ?? 0) + packets);
      counter.inc(others, packets);
    } else {
      pair.packets += packets;
      counter.inc(labels, packets);
    }
  }

  function place(key: string, labels: Pair['labels']): Pair | undefined {
    const before = candidates.get(key) ?? 0;
    if (placed.size >= limit && !(before > 2 * least && makeRoom(before))) return undefined;
    candidates.delete(key);
    // `packets` includes those that were counted as `other` before.
    const pair = { labels, packets: before };
    placed.set(key, pair);
    return pair;
  }

  function makeRoom(packets: number): boolean {
    let weakest: [string, Pair] | undefined;
    for (const each of placed) if (weakest === undefined || each[1].packets < weakest[1].packets) weakest = each;
    least = weakest?.[1].packets ?? 0;
    if (weakest === undefined || packets <= 2 * least) return false;
    const [key, pair] = weakest;
    placed.delete(key);
    candidates.set(key, pair.packets);
    counter.remove(pair.labels);
    return true;
  }

  function nameOf({ kind, address, object, workload }: Endpoint): string {
    // As in kube-iptables-tailer, a Pod on the host's network has the name of its Node.
    const nameOfObject = kind === 'node' ? namings.name : namings[naming];
    const name = object === undefined ? (hostNameOf(address) ?? address) : nameOfObject(object, workload);
    return printable(name).slice(0, longest).toWellFormed();
  }
}
