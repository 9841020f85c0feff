import type { AgentRig, StoredEvent } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';

/** The Events that agents have published, as the API server and kubectl show them. */
export interface Published {
  /** Waits like `AgentRig.untilEvents`, without Events of others: kube-proxy writes an Event of its own when it starts. */
  readonly until: (
    namespace: string,
    matches: (events: StoredEvent[]) => boolean,
    object?: string,
    within?: number,
  ) => Promise<StoredEvent[]>;
  /** The part with the Events; throws unless kubectl knows the object. */
  readonly describe: (...what: string[]) => Promise<string>;
  readonly eventsFor: (namespace: string, object: string) => Promise<string>;
}

export function createPublished(connection: Connection, rig: AgentRig): Published {
  return {
    until: async (namespace, matches, object, within) =>
      own(await rig.untilEvents(namespace, (all) => matches(own(all)), object, within)),
    async describe(...what) {
      const text = await connection.succeed(['describe', ...what]);
      return text.slice(text.indexOf('Events:'));
    },
    eventsFor: (namespace, object) => connection.succeed(['events', '--for', object, '-n', namespace]),
  };
}

function own(events: readonly StoredEvent[]): StoredEvent[] {
  return events.filter(({ reportingComponent }) => reportingComponent === 'kube-netfilter-tailer');
}

/**
 * `Warning KN101, KN102 CalicoDeletesServiceChains`, each once, sorted: at some minute of every hour what lasts is published by a
 * new Event.
 */
export function gist(events: readonly StoredEvent[]): string[] {
  const gists = events.map(
    ({ type, reason, message }) => `${type} ${/\[(KN\d+[^\]]*)\]$/.exec(message)?.[1]} ${reason}`,
  );
  return [...new Set(gists)].toSorted();
}

/** Adds up the counts of the Warnings. */
export function failuresIn(events: readonly StoredEvent[]): number {
  return events.filter(({ type }) => type === 'Warning').reduce((sum, { count }) => sum + count, 0);
}

/** Whether they report a beginning and an end. */
export function haveBothEnds(events: readonly StoredEvent[]): boolean {
  return gist(events).length === 2;
}

/** Types of the Events by the object that they are on. */
export function typesOf(events: readonly StoredEvent[]): Record<string, string> {
  return Object.fromEntries(
    events.map(({ involvedObject, type }) => [`${involvedObject.kind}/${involvedObject.name}`, type]),
  );
}
