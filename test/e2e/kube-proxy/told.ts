import type { AgentRig, StoredEvent } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';

/** What agents have told, as the API server and kubectl show it. */
export interface Told {
  /** As `AgentRig.untilEvents`, without what others have told: kube-proxy writes an Event of its own when it starts. */
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

export function createTold(connection: Connection, rig: AgentRig): Told {
  const kubectl = async (args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await connection.kubectl(args);
    if (code !== 0 || stderr !== '') throw new Error(`[kube-proxy] kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  return {
    until: async (namespace, matches, object, within) =>
      own(await rig.untilEvents(namespace, (all) => matches(own(all)), object, within)),
    async describe(...what) {
      const text = await kubectl(['describe', ...what]);
      return text.slice(text.indexOf('Events:'));
    },
    eventsFor: (namespace, object) => kubectl(['events', '--for', object, '-n', namespace]),
  };
}

function own(events: readonly StoredEvent[]): StoredEvent[] {
  return events.filter(({ reportingComponent }) => reportingComponent === 'kube-netfilter-tailer');
}

/**
 * `Warning KN101, KN102 CalicoDeletesServiceChains`, each once, sorted: at some minute of every hour what lasts is told by a
 * new Event.
 */
export function gist(events: readonly StoredEvent[]): string[] {
  const gists = events.map(
    ({ type, reason, message }) => `${type} ${/\[(KN\d+[^\]]*)\]$/.exec(message)?.[1]} ${reason}`,
  );
  return [...new Set(gists)].toSorted();
}

/** How many that the Warnings tell of. */
export function failuresIn(events: readonly StoredEvent[]): number {
  return events.filter(({ type }) => type === 'Warning').reduce((sum, { count }) => sum + count, 0);
}

/** Whether they tell of a beginning and of an end. */
export function tellsBoth(events: readonly StoredEvent[]): boolean {
  return gist(events).length === 2;
}

/** Types of the Events by the object that they are on. */
export function typesOf(events: readonly StoredEvent[]): Record<string, string> {
  return Object.fromEntries(
    events.map(({ involvedObject, type }) => [`${involvedObject.kind}/${involvedObject.name}`, type]),
  );
}
