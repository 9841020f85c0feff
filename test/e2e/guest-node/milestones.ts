import { eventsOf } from '../agent-rig.ts';
import { NAMESPACE } from '../cluster/agents.ts';
import type { Connection } from '../control-plane/connection.ts';
import { until } from '../until.ts';

/** The seconds after which something was first seen, for readers; no test depends on them. */
export interface Milestones {
  note: (what: string) => void;
  /** Returns the lines, in order of time. */
  end: () => Promise<readonly string[]>;
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly state: Readonly<Record<string, { readonly startedAt?: string }>>;
    }[];
  };
}

const LOOK_EVERY_MS = 200;

/** From now on, watches at the API server what happens to the agent and to the Pod `client` of a Namespace. */
export function startMilestones(connection: Connection, namespace: string, within: number): Milestones {
  const { request } = connection;
  const { events } = eventsOf(connection, ({ reason }) => reason === 'PacketDrop');
  const started = performance.now();
  const lines: string[] = [];
  let isOver = false;
  const note = (what: string): void =>
    void lines.push(`${((performance.now() - started) / 1000).toFixed(1)} s: ${what}`);
  const looks: Record<string, () => Promise<boolean>> = {
    "the agent's Pod is made": async () => (await podsIn(NAMESPACE)).length > 0,
    "the agent's container runs": async () => (await podsIn(NAMESPACE)).some(hasStarted),
    'the agent reads': async () => (await logOfAgent()).includes('"msg":"Started"'),
    "the agent's Pod is ready": async () =>
      (await podsIn(NAMESPACE)).some(({ status }) => status.containerStatuses?.some(({ ready }) => ready)),
    "the client's container runs": async () =>
      (await podsIn(namespace)).some((pod) => pod.metadata.name === 'client' && hasStarted(pod)),
    'the first Event of a drop is there': async () => (await events(namespace)).length > 0,
  };
  const watching = Object.entries(looks).map(async ([what, look]) => {
    await until(
      async () => isOver || (await look()),
      () => `${what}: not within ${within} ms`,
      within,
      LOOK_EVERY_MS,
    );
    note(what);
  });
  return {
    note,
    async end() {
      isOver = true;
      await Promise.all(watching);
      return lines;
    },
  };

  async function podsIn(place: string): Promise<readonly Pod[]> {
    const { status, body } = await request('GET', `/api/v1/namespaces/${place}/pods`);
    return status === 200 ? (body as { items: Pod[] }).items : [];
  }

  async function logOfAgent(): Promise<string> {
    const [pod] = await podsIn(NAMESPACE);
    if (pod === undefined || !hasStarted(pod)) return '';
    const { body } = await request('GET', `/api/v1/namespaces/${NAMESPACE}/pods/${pod.metadata.name}/log`);
    return JSON.stringify(body).replaceAll('\\"', '"');
  }
}

function hasStarted({ status }: Pod): boolean {
  return status.containerStatuses?.some(({ state }) => startOf(state) !== undefined) ?? false;
}

function startOf({
  running,
  terminated,
}: Readonly<Record<string, { readonly startedAt?: string }>>): string | undefined {
  return (running ?? terminated)?.startedAt;
}

/** Seconds from the start of a Pod's container to its Event, rounded as the API server stores them. */
export async function secondsToEvent(connection: Connection, namespace: string, pod: string): Promise<number> {
  const { body } = await connection.request('GET', `/api/v1/namespaces/${namespace}/pods/${pod}`);
  const [container] = (body as Pod).status.containerStatuses ?? [];
  const [event] = await eventsOf(connection, ({ reason }) => reason === 'PacketDrop').events(namespace, pod);
  const made = (event?.metadata as { creationTimestamp?: string } | undefined)?.creationTimestamp ?? '';
  return (Date.parse(made) - Date.parse(startOf(container?.state ?? {}) ?? '')) / 1000;
}
