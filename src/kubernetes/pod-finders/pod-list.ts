import type { Clock } from '../../platform/clock.ts';
import type { Pod } from '../../resolving/objects.ts';
import type { Connection } from '../connection.ts';
import { listAll } from '../paged-list.ts';
import { onSteadyClock } from '../../resolving/pod-record.ts';
import { ifUsable, slimPod } from '../slim.ts';

/** The API server as finders of Pods ask it, and the clock that what is found is stamped by. */
export interface PodListOptions {
  connection: Pick<Connection, 'request'>;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  /** Names of the labels that Pods are kept with; by default none. */
  podLabels?: readonly string[] | undefined;
}

/** Pods that a field selector selects, from the API server's cache. Rejects with a `RefusedError`. */
export async function listPods(
  { connection, clock, podLabels }: PodListOptions,
  fieldSelector: string,
): Promise<Pod[]> {
  const options = { fieldSelector, pageSize: undefined };
  const slim = ifUsable((object) => slimPod(object, podLabels));
  const { items } = await listAll(connection, '/api/v1/pods', options, slim);
  return items.map((pod) => onSteadyClock(pod, clock.fromWall));
}
