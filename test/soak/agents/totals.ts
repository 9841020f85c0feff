import type { Connection } from '../../e2e/control-plane/connection.ts';
import type { StoredEvent } from '../../e2e/agent-rig.ts';
import { component, type CoreEvent } from '../../../src/publish/events/event.ts';

/** The counts that were logged, by the object of their Event: `Pod soak-file/web-1`, `Node KN102`. */
export type Expected = Map<string, number>;

export interface Difference {
  agent: string;
  subject: string;
  expected: number;
  counted: number;
}

/**
 * The counts that the agents have published so far. Events are remembered here, because the API server keeps them only
 * for an hour.
 */
export interface Totals {
  readonly look: () => Promise<void>;
  /** Like `counted`, but includes counts that an agent has not published yet. */
  readonly keptBy: (agent: string, subject: string, kept: readonly CoreEvent[]) => number;
  /** Sums for one agent and subject over all hours. */
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
    counted: (agent, subject) => countsOf(agent, subject, [...seen.values()]),
    // The saved Event has the name of the published one, and the larger count.
    keptBy: (agent, subject, kept) => {
      const events = new Map([...seen.values(), ...kept].map((event) => [event.metadata.name, event]));
      return countsOf(agent, subject, [...events.values()]);
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

function countsOf(agent: string, subject: string, events: readonly CoreEvent[]): number {
  const ofSubject = events.filter((event) => event.source.host === agent && subjectsOf(event).includes(subject));
  return ofSubject.reduce((sum, event) => sum + event.count, 0);
}

/**
 * Incidents are counted on the Node, by the causes that a Warning names. The notices and ends that Pods get count
 * nothing.
 */
function subjectsOf({ involvedObject: { kind, namespace, name }, message, type }: CoreEvent): string[] {
  const codes = /\[(KN[^\]]*)\]$/.exec(message)?.[1]?.split(', ') ?? [];
  if (kind === 'Pod') return codes.length === 0 ? [`Pod ${namespace}/${name}`] : [];
  return type === 'Warning' ? codes.map((code) => `${kind} ${code}`) : [];
}
