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
  /** Time series of all namespaces, and of one: one tenant does not take the room of others. */
  total: number;
  perNamespace: number;
}

export type DropsByOwner = ReturnType<typeof createDropsByOwner>;

const other = 'other';

/** Lost packets by the workloads of their Pods: one for each end that is one. Without chatter of the link. */
export function createDropsByOwner({ total, perNamespace }: DropsByOwnerLimits = { total: 200, perNamespace: 40 }) {
  const cells = new Map<string, Cell>();
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
    return (
      at({ namespace, workload: workload?.name ?? object?.name ?? other, ...rest }, perNamespace) ??
      // As many as there are directions, verdicts and reasons, beside what one namespace may have.
      at({ namespace, workload: other, ...rest }, Infinity) ??
      (at({ namespace: other, workload: other, ...rest }, Infinity, Infinity) as Cell)
    );
  }

  function at(labels: DropLabels, most: number, mostOfAll = total): Cell | undefined {
    const key = JSON.stringify(Object.values(labels));
    let cell = cells.get(key);
    if (cell !== undefined) return cell;
    const ofThis = ofNamespace.get(labels.namespace) ?? 0;
    if (ofThis >= most || cells.size >= mostOfAll) return undefined;
    ofNamespace.set(labels.namespace, ofThis + 1);
    cells.set(key, (cell = { labels, packets: 0 }));
    return cell;
  }
}

function causeOf(observation: PacketObservation | Martian): Pick<DropLabels, 'verdict' | 'reason'> {
  if (observation.kind === 'martian') return { verdict: 'dropped', reason: 'martian' };
  return { verdict: observation.verdict === 'rejected' ? 'rejected' : 'dropped', reason: observation.enforcer };
}
