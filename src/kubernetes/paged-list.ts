import type { Connection } from './connection.ts';
import type { Json } from '../platform/json.ts';
import { isTooLarge, RefusedError } from './refusal.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pod } from '../resolving/objects.ts';
import { onSteadyClock } from '../resolving/pod-record.ts';
import { ifUsable, slimPod } from './slim.ts';

export interface ListOptions {
  fieldSelector?: string | undefined;
  labelSelector?: string | undefined;
  /** Objects a page, where one answer would be too large; undefined: all at once, from the API server's cache, as the kubelet. */
  pageSize: number | undefined;
}

export interface ObjectList<T> {
  items: T[];
  resourceVersion: string;
}

interface Page {
  items?: Json[];
  metadata?: { continue?: string; resourceVersion?: string; remainingItemCount?: number };
}

/** Objects of a page at most where one answer was too large. */
const mostOfLarge = 100;

/**
 * Made slim page by page, so that memory holds one page of full objects at a time. Whoever may make Pods or Services may make them of
 * a megabyte each: where an answer is too large, pages become smaller, down to one object. Rejects with a `RefusedError`.
 */
export async function listAll<T>(
  { request }: Pick<Connection, 'request'>,
  path: string,
  { fieldSelector, labelSelector, pageSize }: ListOptions,
  slim: (object: Json) => T | undefined,
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let position: string | undefined;
  let limit = pageSize;
  for (;;) {
    const answer = await request('GET', path, {
      query: {
        fieldSelector,
        labelSelector,
        ...(limit === undefined ? { resourceVersion: '0' } : { limit, continue: position }),
      },
    });
    if (answer.kind === 'refused' && isTooLarge(answer) && limit !== 1) {
      limit = Math.max(1, Math.floor((limit ?? mostOfLarge) / 10));
      continue;
    }
    if (answer.kind === 'refused') throw new RefusedError(answer);
    if (limit !== undefined) limit = Math.min(2 * limit, pageSize ?? mostOfLarge);
    const page = answer.body as Page;
    for (const object of page.items ?? []) {
      const kept = slim(object);
      if (kept !== undefined) items.push(kept);
    }
    position = page.metadata?.continue || undefined;
    if (position === undefined) return { items, resourceVersion: page.metadata?.resourceVersion ?? '' };
  }
}

/** Counts objects without getting them. Rejects with a `RefusedError`. */
export async function countAll({ request }: Pick<Connection, 'request'>, path: string): Promise<number> {
  const answer = await request('GET', path, { query: { limit: 1 } });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const { items = [], metadata } = answer.body as Page;
  return items.length + (metadata?.remainingItemCount ?? 0);
}

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
