import type { Connection } from '../../e2e/control-plane/connection.ts';
import type { StoredEvent } from '../../e2e/agent-rig.ts';
import { component } from '../../../src/publish/events/event.ts';

/** The counts that were logged, by the object of their Event: `Pod soak-file/web-1`, `Node KN102`. */
export type Expected = Map<string, number>;

export interface Difference {
  agent: string;
  subject: string;
  expected: number;
  counted: number;
}

/** The counts that the agents have published so far. Events are remembered: the API server keeps them for an hour only. */
export interface Totals {
  readonly look: () => Promise<void>;
  /** Sums over all hours, of one agent and subject. */
  readonly counted: (agent: string, subject: string) => number;
  readonly differences: (agents: readonly string[], expected: Expected) => Difference[];
}

export function createTotals(connection: Connection): Totals {
  const seen = new Map<string, StoredEvent>();

  const totals: Totals = {
    async look() {
      const { status, body } = await connection.request('GET', '/api/v1/events');
      if (status !== 200) throw new Error(`listing Events: ${status}`);
      for (const event of (body as { items: StoredEvent[] }).items)
        if (event.reportingComponent === component) seen.set(event.metadata.uid, event);
    },
    counted(agent, subject) {
      let sum = 0;
      for (const event of seen.values())
        if (event.source.host === agent && subjectsOf(event).includes(subject)) sum += event.count;
      return sum;
    },
    differences: (agents, expected) =>
      agents.flatMap((agent) =>
        [...expected]
          .map(([subject, count]) => ({ agent, subject, expected: count, counted: totals.counted(agent, subject) }))
          .filter(({ expected: wanted, counted }) => wanted !== counted),
      ),
  };
  return totals;
}

/** Incidents are counted on the Node, by the causes that a Warning names; the notices and ends that Pods get of them count nothing. */
function subjectsOf({ involvedObject: { kind, namespace, name }, message, type }: StoredEvent): string[] {
  const codes = /\[(KN[^\]]*)\]$/.exec(message)?.[1]?.split(', ') ?? [];
  if (kind === 'Pod') return codes.length === 0 ? [`Pod ${namespace}/${name}`] : [];
  return type === 'Warning' ? codes.map((code) => `${kind} ${code}`) : [];
}
