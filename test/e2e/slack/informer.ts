import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import type { CoreEvent } from '../../../src/events/event.ts';
import type { Connection } from '../control-plane/connection.ts';

export interface Informer {
  /** Resolves when all that was seen has been handled; rejects if handling failed. */
  readonly stop: () => Promise<void>;
}

/** An Event as the API server has it, also one that others wrote; whole seconds. */
export type Stored = Omit<CoreEvent, 'lastTimestamp' | 'count'> & {
  lastTimestamp: string | null;
  eventTime: string | null;
  count?: number;
  metadata: { resourceVersion: string; creationTimestamp: string };
};
type Change = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Stored };
type List = { metadata: { resourceVersion: string }; items: readonly Stored[] };

/**
 * Hands over each Event of the cluster once, when it is first seen: those that are there first, then new ones. As client-go's
 * informer does with a handler that ignores updates and deletions; what an update brings to light first is an addition, too.
 * Resolves when it watches.
 */
export async function startInformer(
  connection: Connection,
  onAdd: (event: Stored) => Promise<void>,
): Promise<Informer> {
  const known = new Set<string>();
  const { body } = await connection.request('GET', '/api/v1/events');
  const { metadata, items } = body as List;
  let handled = Promise.resolve();
  const take = ({ type, object }: Change): void => {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === 'DELETED') return void known.delete(key);
    if (known.has(key)) return;
    known.add(key);
    handled = handled.then(() => onAdd(object));
    // Set by `stop`.
    handled.catch(() => {});
  };
  for (const object of items) take({ type: 'ADDED', object });

  // The API server ends a watch after half an hour at the earliest: longer than any test.
  const path = `/api/v1/events?watch=true&resourceVersion=${metadata.resourceVersion}`;
  const { server, certificateAuthority: ca, adminToken } = connection;
  const request = get(`${server}${path}`, { ca, headers: { authorization: `Bearer ${adminToken}` }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const lines = createInterface(response);
  lines.on('line', (line) => take(JSON.parse(line) as Change));
  // It is cut off when we stop.
  for (const each of [request, response, lines]) each.on('error', () => {});
  return {
    async stop() {
      request.destroy();
      await handled;
    },
  };
}
