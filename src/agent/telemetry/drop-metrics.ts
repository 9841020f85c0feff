import type { Endpoint } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Martian } from '../../base/model/observation.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import type { FlowMeaning } from '../../count/pipeline/pipeline.ts';

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

export interface DropsByOwner {
  readonly cells: () => SetIterator<Cell>;
  count(meaning: FlowMeaning, observation: PacketObservation | Martian, packets: number): void;
}

const other = 'other';

/** A workload without drops for this long makes room for others, because ended Jobs would hold their places for ever. */
const idleAfter: Millis = 3_600_000;
const lookEvery: Millis = 60_000;

/** Counts lost packets, without noise, by the workload of each end that is a Pod. */
export function createDropsByOwner(now: () => Millis, limits: DropsByOwnerLimits = defaultLimits): DropsByOwner {
  const cells = createCells();
  let ownCells = 0;
  const ownCellsOf = new Map<string, number>();
  let nextLook: Millis = -Infinity;

  return {
    cells: cells.all,
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
    const known = cells.find(namespace, name, direction, verdict, reason);
    if (known !== undefined) return known;
    const rest = { direction, verdict, reason } as const;
    if (!hasRoomFor(namespace) && now() >= nextLook) removeIdle();
    if (hasRoomFor(namespace)) {
      changeOwn(namespace, 1);
      return cells.at({ namespace, workload: name, ...rest });
    }
    const isThere = cells.find(namespace, other, direction, verdict, reason) !== undefined;
    // Namespace `other` needs no limit: it has one cell for each direction, verdict and reason.
    const shown = isThere || cells.size - ownCells < limits.namespaces ? namespace : other;
    return cells.at({ namespace: shown, workload: other, ...rest });
  }

  function hasRoomFor(namespace: string): boolean {
    return (ownCellsOf.get(namespace) ?? 0) < limits.perNamespace && ownCells < limits.total;
  }

  function removeIdle(): void {
    nextLook = now() + lookEvery;
    const oldest = now() - idleAfter;
    for (const cell of cells.all()) {
      const { namespace, workload } = cell.labels;
      if (workload === other || cell.last > oldest) continue;
      cells.remove(cell);
      changeOwn(namespace, -1);
    }
  }

  function changeOwn(namespace: string, by: 1 | -1): void {
    ownCells += by;
    const left = (ownCellsOf.get(namespace) ?? 0) + by;
    if (left === 0) ownCellsOf.delete(namespace);
    else ownCellsOf.set(namespace, left);
  }
}

function createCells() {
  /** By namespace, then by workload, because making one joined key would cost more than all the rest. */
  const places = new Map<string, Map<string, Cell[]>>();
  const all = new Set<Cell>();

  return {
    all: () => all.values(),
    get size(): number {
      return all.size;
    },
    find,
    at(labels: DropLabels): Cell {
      const { namespace, workload, direction, verdict, reason } = labels;
      const known = find(namespace, workload, direction, verdict, reason);
      if (known !== undefined) return known;
      const cell = { labels, packets: 0, last: 0 };
      all.add(cell);
      const ofNamespace = places.get(namespace) ?? new Map<string, Cell[]>();
      places.set(namespace, ofNamespace.set(workload, [...(ofNamespace.get(workload) ?? none), cell]));
      return cell;
    },
    remove(cell: Cell): void {
      const { namespace, workload } = cell.labels;
      all.delete(cell);
      const ofNamespace = places.get(namespace);
      const left = ofNamespace?.get(workload)?.filter((each) => each !== cell) ?? [];
      if (left.length > 0) ofNamespace?.set(workload, left);
      else ofNamespace?.delete(workload);
      if (ofNamespace?.size === 0) places.delete(namespace);
    },
  };

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
