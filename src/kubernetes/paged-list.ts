import type { Connection } from './connection.ts';
import type { Json } from '../platform/json.ts';
import { RefusedError } from './refusal.ts';

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

/** Made slim page by page, so that memory holds one page of full objects at a time. Rejects with a `RefusedError`. */
export async function listAll<T>(
  { request }: Pick<Connection, 'request'>,
  path: string,
  { fieldSelector, labelSelector, pageSize }: ListOptions,
  slim: (object: Json) => T | undefined,
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let position: string | undefined;
  for (;;) {
    const answer = await request('GET', path, {
      query: {
        fieldSelector,
        labelSelector,
        ...(pageSize === undefined ? { resourceVersion: '0' } : { limit: pageSize, continue: position }),
      },
    });
    if (answer.kind === 'refused') throw new RefusedError(answer);
    const page = answer.body as Page;
    for (const object of page.items ?? []) {
      const kept = slim(object);
      if (kept !== undefined) items.push(kept);
    }
    position = page.metadata?.continue || undefined;
    if (position === undefined) return { items, resourceVersion: page.metadata?.resourceVersion ?? '' };
  }
}

/** How many objects there are, without getting them. Rejects with a `RefusedError`. */
export async function countAll({ request }: Pick<Connection, 'request'>, path: string): Promise<number> {
  const answer = await request('GET', path, { query: { limit: 1 } });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const { items = [], metadata } = answer.body as Page;
  return items.length + (metadata?.remainingItemCount ?? 0);
}
