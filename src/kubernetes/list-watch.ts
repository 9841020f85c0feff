import type { Millis } from '../model/log-line.ts';
import type { Connection, Query } from './connection.ts';
import { at, type Json, parsed, text } from '../platform/json.ts';
import { inTurns } from '../platform/turns.ts';
import { isTooLarge, RefusedError } from './http.ts';

export class SilentWatchError extends Error {
  override message = 'no answer in time';
}

export interface WatchEvent {
  type?: Json;
  object?: Json;
}

const newline = 10;

/** The longest event in characters: etcd takes objects of 1.5 MiB, and JSON may need six characters for one byte. */
const longestEvent = 10 * 1024 * 1024;

/**
 * Yields undefined when the answer begins, then events. Throws a `SilentWatchError` after `silence` without a byte. The time before
 * the head of the answer counts, too, because a proxy may hold it back until the first event, which is a bookmark after a minute.
 */
export async function* watchEvents(
  { stream }: Pick<Connection, 'stream'>,
  path: string,
  query: Query,
  silence: Millis,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent | undefined, void> {
  const silent = new AbortController();
  const giveUp = (): void => silent.abort(new SilentWatchError());
  const timer = setTimeout(giveUp, silence).unref();
  try {
    const body = await stream(path, { ...query, watch: true }, AbortSignal.any([signal, silent.signal]));
    timer.refresh();
    yield undefined;
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      timer.refresh();
      rest += decoder.decode(chunk, { stream: true });
      if (rest.length > longestEvent) throw new Error('the watch sends an object that is too large');
      if (!chunk.includes(newline)) continue;
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = parsed(line);
        if (typeof event === 'object' && event !== null) yield event;
      }
    }
  } catch (error) {
    throw silent.signal.aborted ? silent.signal.reason : error;
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

export interface Named {
  namespace?: string;
  name: string;
}

export interface Store<T> {
  set: (object: T) => void;
  delete: (namespace: string, name: string) => void;
}

export function createKnownObjects<T extends Named>(slim: (object: Json) => T | undefined, store: Store<T>) {
  const keys = new Set<string>();
  let resourceVersion = '';

  return {
    /** Where the next watch begins; '' if a list must come first. */
    get resourceVersion(): string {
      return resourceVersion;
    },
    slim,
    async replaceAll(list: ObjectList<T>): Promise<void> {
      await inTurns(list.items, set);
      // Objects that are gone are removed last, so that an address of theirs that another one has now is never nobody's.
      for (const key of keys.difference(new Set(list.items.map(keyOf)))) remove(key);
      resourceVersion = list.resourceVersion;
    },
    /** Returns false for an error, after which the server ends the watch; the next one continues from here, except after a 410. */
    apply({ type, object }: WatchEvent): boolean {
      if (type === 'ERROR') {
        if (at(object, 'code') === 410) resourceVersion = '';
        return false;
      }
      const item = type === 'BOOKMARK' ? undefined : slim(object);
      if (item !== undefined && type === 'DELETED') remove(keyOf(item));
      else if (item !== undefined) set(item);
      resourceVersion = text(at(object, 'metadata', 'resourceVersion')) ?? '';
      return true;
    },
    expire: (): void => void (resourceVersion = ''),
  };

  function set(item: T): void {
    keys.add(keyOf(item));
    store.set(item);
  }

  function remove(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    keys.delete(key);
    store.delete(namespace, name);
  }
}

function keyOf({ namespace = '', name }: Named): string {
  return `${namespace}/${name}`;
}

export interface ListOptions {
  fieldSelector?: string | undefined;
  labelSelector?: string | undefined;
  /** Objects on a page. Undefined: all at once from the API server's cache, as the kubelet reads them. */
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

/** The most objects on a page after an answer that was too large. */
const mostOfLarge = 100;

/**
 * Lists all objects, with one page of full objects in memory at a time. If an answer is too large, pages become smaller, down to one
 * object, because strangers may create Pods of a megabyte each. Rejects with a `RefusedError`.
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

/** Rejects with a `RefusedError`. */
export async function countAll({ request }: Pick<Connection, 'request'>, path: string): Promise<number> {
  const answer = await request('GET', path, { query: { limit: 1 } });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const { items = [], metadata } = answer.body as Page;
  return items.length + (metadata?.remainingItemCount ?? 0);
}
