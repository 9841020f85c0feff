import { type CoreEvent, type EventStore, passing, type Refusal, type Stored } from '../events/events.ts';
import type { Answer, Connection } from './connection.ts';
import { instant } from '../platform/json.ts';

/** Events kept by the API server. */
export function createEventStore({ request }: Pick<Connection, 'request'>): EventStore {
  return {
    create: async (event) => storedIn(await request('POST', pathOf(event.metadata.namespace), { body: event })),
    read: async (namespace, name) => storedIn(await request('GET', pathOf(namespace, name))),
    update: async (event, resourceVersion) => {
      const { namespace, name, annotations } = event.metadata;
      const { count, firstTimestamp, lastTimestamp, message } = event;
      const metadata = { resourceVersion, annotations: { ...withoutPassing, ...annotations } };
      const body = { metadata, count, firstTimestamp, lastTimestamp, message };
      return storedIn(await request('PATCH', pathOf(namespace, name), { body }));
    },
  };
}

/** In a merge patch, null takes a key away. */
const withoutPassing = Object.fromEntries(passing.map((key) => [key, null]));

function pathOf(namespace: string, name?: string): string {
  return `/api/v1/namespaces/${namespace}/events${name === undefined ? '' : `/${name}`}`;
}

function storedIn(answer: Answer): Stored | Refusal {
  if (answer.kind === 'refused') return answer;
  const { metadata, source, count, firstTimestamp, lastTimestamp } = answer.body as Partial<CoreEvent> & {
    metadata?: { resourceVersion?: string };
  };
  return {
    kind: 'stored',
    event: {
      resourceVersion: metadata?.resourceVersion ?? '',
      component: source?.component ?? '',
      count: count ?? 0,
      firstTimestamp: instant(firstTimestamp),
      lastTimestamp: instant(lastTimestamp),
      annotations: metadata?.annotations ?? {},
    },
  };
}
