import type { Endpoint } from '../model/endpoint.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { FlowMeaning } from '../pipeline/flow-cache.ts';

/** Labels of one time series: names as the API server has them, and `other` past a limit. */
export interface DropLabels {
  namespace: string;
  workload: string;
  direction: 'ingress' | 'egress';
  verdict: 'dropped' | 'rejected';
  reason: 'network-policy' | 'host-firewall' | 'martian' | 'unknown';
}

interface Cell {
  labels: DropLabels;
  packets: number;
}

export interface DropsByOwnerLimits {
  /** Time series of workloads: of all namespaces, and of one. */
  total: number;
  perNamespace: number;
  /** Time series beside them that stand for a namespace's other workloads: a namespace has one even where others took all room. */
  namespaces: number;
}

/** With the 16 that stand for all others they are as many as a metric shows. */
const defaultLimits: DropsByOwnerLimits = { total: 140, perNamespace: 30, namespaces: 100 };

export type DropsByOwner = ReturnType<typeof createDropsByOwner>;

const other = 'other';

/** Lost packets by the workloads of their Pods: one for each end that is one. Without chatter of the link. */
export function createDropsByOwner(limits: DropsByOwnerLimits = defaultLimits) {
  const cells = new Map<string, Cell>();
  let workloads = 0;
  const ofNamespace = new Map<string, number>();
  /** A meaning is one object for all packets of a flow: what it counts in is looked up once. */
  const known = new WeakMap<FlowMeaning, readonly Cell[]>();

  return {
    cells: () => cells.values(),
    count(meaning: FlowMeaning, observation: PacketObservation | Martian, packets: number): void {
      let found = known.get(meaning);
      if (found === undefined) known.set(meaning, (found = cellsOf(meaning, observation)));
      for (const cell of found) cell.packets += packets;
    },
  };

  function cellsOf({ ends: { source, destination }, noise }: FlowMeaning, observation: PacketObservation | Martian) {
    if (noise !== undefined) return [];
    return [
      ...(destination.kind === 'pod' ? [cellOf(destination, 'ingress', observation)] : []),
      ...(source.kind === 'pod' ? [cellOf(source, 'egress', observation)] : []),
    ];
  }

  function cellOf(
    { object, workload }: Endpoint,
    direction: DropLabels['direction'],
    observation: PacketObservation | Martian,
  ): Cell {
    const namespace = object?.namespace ?? other;
    const rest = { direction, ...causeOf(observation) };
    const own = { namespace, workload: workload?.name ?? object?.name ?? other, ...rest };
    const ofThis = ofNamespace.get(namespace) ?? 0;
    if (has(own)) return at(own);
    if (ofThis < limits.perNamespace && workloads < limits.total) {
      workloads++;
      ofNamespace.set(namespace, ofThis + 1);
      return at(own);
    }
    const others = { namespace, workload: other, ...rest };
    const hasRoom = has(others) || cells.size - workloads < limits.namespaces;
    // The last has as many as there are directions, verdicts and reasons.
    return at(hasRoom ? others : { namespace: other, workload: other, ...rest });
  }

  function has(labels: DropLabels): boolean {
    return cells.has(keyOf(labels));
  }

  /** Made if there is none. */
  function at(labels: DropLabels): Cell {
    const found = cells.get(keyOf(labels));
    if (found !== undefined) return found;
    const cell = { labels, packets: 0 };
    cells.set(keyOf(labels), cell);
    return cell;
  }
}

function keyOf(labels: DropLabels): string {
  return JSON.stringify(Object.values(labels));
}

function causeOf(observation: PacketObservation | Martian): Pick<DropLabels, 'verdict' | 'reason'> {
  if (observation.kind === 'martian') return { verdict: 'dropped', reason: 'martian' };
  return { verdict: observation.verdict === 'rejected' ? 'rejected' : 'dropped', reason: observation.enforcer };
}
