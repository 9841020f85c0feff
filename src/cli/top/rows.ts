/** Makes rows of the agents' flows. A rate is computed from the packets of two rounds. */
import type { Millis } from '../../base/model/log-line.ts';
import { type FlowEnd, flowEndText } from '../drops/flow-end.ts';
import type { TopFlow } from './flows.ts';

export interface TopRow {
  readonly from: string;
  readonly to: string;
  readonly port: string;
  readonly verdict: string;
  /** The policy of most packets. */
  policy: string;
  packets: number;
  /** Packets a second; undefined until one of its agents has answered in two rounds in a row. */
  rate: number | undefined;
  last: Millis;
}

export interface Rates {
  /** `now`: milliseconds of a clock that only goes forward. `isAsked`: whether a flow gets a row. */
  take: (flows: ReadonlyMap<string, readonly TopFlow[]>, now: Millis, isAsked?: (flow: TopFlow) => boolean) => TopRow[];
}

export function createRates(): Rates {
  /** The packets of each flow in the last round. */
  let before = new Map<string, number>();
  let looked = new Map<string, Millis>();

  return {
    take: (flows, now, isAsked = () => true): TopRow[] => {
      const rows = new Map<string, RowSum>();
      const next: typeof before = new Map();
      for (const [agent, own] of flows) {
        const lookedAt = looked.get(agent);
        const seconds = lookedAt === undefined ? undefined : Math.max(0.001, (now - lookedAt) / 1000);
        for (const flow of own) {
          if (!isAsked(flow)) continue;
          const row = rowOf(flow);
          const key = JSON.stringify([row.from, row.to, row.port, row.verdict]);
          const id = JSON.stringify([agent, key, row.policy, flow.id]);
          next.set(id, row.packets);
          // A flow that is new in this round began at 0.
          if (seconds !== undefined) row.rate = Math.max(0, row.packets - (before.get(id) ?? 0)) / seconds;
          addTo(rows, key, row);
        }
      }
      before = next;
      looked = new Map([...flows.keys()].map((agent) => [agent, now]));
      return [...rows.values()].map(({ row }) => row);
    },
  };
}

interface RowSum {
  readonly row: TopRow;
  /** Packets by policy. */
  readonly policies: Map<string, number>;
}

function addTo(rows: Map<string, RowSum>, key: string, row: TopRow): void {
  const same = rows.get(key);
  if (same === undefined) return void rows.set(key, { row, policies: new Map([[row.policy, row.packets]]) });
  const { row: sum, policies } = same;
  sum.packets += row.packets;
  sum.last = Math.max(sum.last, row.last);
  if (row.rate !== undefined) sum.rate = (sum.rate ?? 0) + row.rate;
  policies.set(row.policy, (policies.get(row.policy) ?? 0) + row.packets);
  const isMore = (policies.get(row.policy) ?? 0) > (policies.get(sum.policy) ?? 0);
  if (sum.policy === '-' || (isMore && row.policy !== '-')) sum.policy = row.policy;
}

function rowOf({ from, to, port, verdict, policy, packets, last }: TopFlow): TopRow {
  return { from: workloadText(from), to: workloadText(to), port, verdict, policy, packets, rate: undefined, last };
}

/** A row stands for workloads. */
function workloadText(end: FlowEnd): string {
  return flowEndText(end.kind === 'Pod' ? end : { ...end, pod: undefined });
}
