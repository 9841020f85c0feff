import type { Endpoint } from '../model/endpoint.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { FlowMeaning } from '../pipeline/pipeline.ts';

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

/** Together with 16 that stand for all others, these are as many as a metric shows. */
const defaultLimits: DropsByOwnerLimits = { total: 140, perNamespace: 30, namespaces: 100 };

export type DropsByOwner = ReturnType<typeof createDropsByOwner>;

const other = 'other';

/** Lost packets by the workloads of their Pods: one for each end that is one. Without chatter of the link. */
export function createDropsByOwner(limits: DropsByOwnerLimits = defaultLimits) {
  const cells: Cell[] = [];
  /** Cells by namespace, then by workload. A joined string as the key would cost more than all the rest here. */
  const places = new Map<string, Map<string, Cell[]>>();
  let workloads = 0;
  const ofNamespace = new Map<string, number>();

  return {
    cells: () => cells.values(),
    count({ ends, noise }: FlowMeaning, observation: PacketObservation | Martian, packets: number): void {
      if (noise !== undefined) return;
      const { source, destination } = ends;
      if (destination.kind === 'pod') cellOf(destination, 'ingress', observation).packets += packets;
      if (source.kind === 'pod') cellOf(source, 'egress', observation).packets += packets;
    },
  };

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
    const ofThis = ofNamespace.get(namespace) ?? 0;
    if (ofThis < limits.perNamespace && workloads < limits.total) {
      workloads++;
      ofNamespace.set(namespace, ofThis + 1);
      return at(own);
    }
    const others = { namespace, workload: other, ...rest };
    const hasRoom = findOf(others) !== undefined || cells.length - workloads < limits.namespaces;
    // The last has as many as there are directions, verdicts and reasons.
    return at(hasRoom ? others : { namespace: other, workload: other, ...rest });
  }

  /** Made if there is none. */
  function at(labels: DropLabels): Cell {
    const found = findOf(labels);
    if (found !== undefined) return found;
    const { namespace, workload } = labels;
    const cell = { labels, packets: 0 };
    cells.push(cell);
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
    // A loop, because a closure would be made for each packet.
    for (const cell of places.get(namespace)?.get(workload) ?? none) {
      const { labels } = cell;
      if (labels.direction === direction && labels.verdict === verdict && labels.reason === reason) return cell;
    }
    return undefined;
  }
}

const none: readonly Cell[] = [];
