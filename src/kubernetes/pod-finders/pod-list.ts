import type { Clock } from '../../platform/clock.ts';
import type { Pod } from '../../resolving/objects.ts';
import type { Connection } from '../connection.ts';
import { listAll } from '../paged-list.ts';
import { ifUsable, onSteadyClock, slimPod } from '../slim.ts';

/** The API server as finders of Pods ask it, and the clock that what is found is stamped by. */
export interface PodListOptions {
  connection: Pick<Connection, 'request'>;
  clock: Pick<Clock, 'now' | 'fromWall'>;
}

/** Pods that a field selector selects, from the API server's cache. Rejects with a `RefusedError`. */
export async function listPods(
  connection: Pick<Connection, 'request'>,
  fieldSelector: string,
  { fromWall }: Pick<Clock, 'fromWall'>,
): Promise<Pod[]> {
  const options = { fieldSelector, pageSize: undefined };
  const { items } = await listAll(connection, '/api/v1/pods', options, ifUsable(slimPod));
  return items.map((pod) => onSteadyClock(pod, fromWall));
}
