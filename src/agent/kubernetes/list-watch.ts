import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import type { Connection, Query } from './connection.ts';
import { at, type Json, parsed, text } from '../../base/platform/json.ts';
import type { MemoryAccount } from '../../base/platform/memory-budget.ts';
import type { Bytes } from '../../base/platform/weight.ts';
import { inTurns } from '../../base/platform/turns.ts';
import { RefusedError } from './http.ts';
import { statusCodeOf, strangeAnswer } from './refusals.ts';

export class SilentWatchError extends Error {
  override message = 'no answer in time';
}

export interface WatchEvent {
  type?: Json;
  object?: Json;
}

const newline = 10;

/** After this many bytes of events, other work gets its turn. */
const bytesOfTurn = 256 * 1024;

/** The longest event in bytes: etcd takes objects of 1.5 MiB, and JSON may need six bytes for one. */
const longestEvent = 10 * 1024 * 1024;

/**
 * Yields undefined when the answer begins, then events. Throws a `SilentWatchError` after `silence` without a byte. The time before
 * the head of the answer also counts, because a proxy may hold it back until the first event, which is a bookmark after a minute.
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
    let remaining: Uint8Array[] = [];
    let size = 0;
    let sinceTurn = 0;
    for await (const chunk of body) {
      timer.refresh();
      let from = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
        remaining.push(chunk.subarray(from, end));
        const line = Buffer.concat(remaining).toString();
        const event = parsed(line);
        sinceTurn += size + end - from;
        [remaining, size, from] = [[], 0, end + 1];
        if (text(at(event, 'type')) === undefined) throw new RefusedError(strangeAnswer(200, line));
        yield event as WatchEvent;
        if (sinceTurn < bytesOfTurn) continue;
        sinceTurn = 0;
        await nextTurn();
        timer.refresh();
      }
      remaining.push(chunk.subarray(from));
      size += chunk.length - from;
      if (size > longestEvent) throw new Error('the watch sends an object that is too large');
    }
  } catch (error) {
    throw silent.signal.aborted ? silent.signal.reason : error;
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

export interface ObjectName {
  namespace?: string;
  name: string;
}

export interface Store<T> {
  set: (object: T) => void;
  delete: (namespace: string, name: string) => void;
  /** Takes out an existing object for which there is no room. `latest`: its present version, if known. */
  leaveOut: (namespace: string, name: string, latest?: T) => void;
}

export interface KnownObjectsOptions<T> {
  readonly slim: (object: Json) => T | undefined;
  readonly store: Store<T>;
  /** Opens the account with the budget of memory. `leaveOut` takes an object out of the store. */
  readonly account: (leaveOut: (key: string) => void) => MemoryAccount;
  readonly weigh: (object: T) => Bytes;
}

/** The objects of one kind that the store has, and where the next watch begins. */
export interface WatchedObjects {
  /** '' if a list must come first. */
  readonly resourceVersion: string;
  readonly account: MemoryAccount;
  /** `list` calls `take` for each object, and resolves to the list's resourceVersion. */
  replaceAll: (list: (take: (object: Json) => void) => Promise<string>) => Promise<void>;
  /** Returns false for an error, after which the server ends the watch; the next one continues from here, except after a 410. */
  apply: (event: WatchEvent) => boolean;
  expire: () => void;
  /** Takes all objects out of the store. */
  close: () => void;
}

export function createKnownObjects<T extends ObjectName>(options: KnownObjectsOptions<T>): WatchedObjects {
  const { slim, store, weigh } = options;
  let latest: T | undefined;
  const account = options.account((key) =>
    store.leaveOut(...namesIn(key), latest && keyOf(latest) === key ? latest : undefined),
  );
  let resourceVersion = '';

  return {
    get resourceVersion(): string {
      return resourceVersion;
    },
    account,
    async replaceAll(list) {
      const gone = new Set(account.keys());
      account.forgetLeftOut();
      // Each object is stored as it comes, because the old and the new list together would take twice the memory.
      const listed = await list((object) => {
        const item = slim(object);
        if (item === undefined) return;
        gone.delete(keyOf(item));
        set(item);
      });
      // Deleted objects are removed last, so that an address which another object has now always has an owner.
      await inTurns(gone, remove);
      resourceVersion = listed;
    },
    apply({ type, object }) {
      if (type === 'ERROR') {
        if (statusCodeOf(object) === 410) resourceVersion = '';
        return false;
      }
      const item = type === 'BOOKMARK' ? undefined : slim(object);
      if (item !== undefined && type === 'DELETED') remove(keyOf(item));
      else if (item !== undefined) set(item);
      resourceVersion = text(at(object, 'metadata', 'resourceVersion')) ?? '';
      return true;
    },
    expire: () => void (resourceVersion = ''),
    close() {
      for (const key of account.keys()) remove(key);
      account.close();
    },
  };

  function set(item: T): void {
    latest = item;
    if (account.set(keyOf(item), item.namespace ?? '', weigh(item))) store.set(item);
    latest = undefined;
  }

  function remove(key: string): void {
    account.delete(key);
    store.delete(...namesIn(key));
  }
}

function namesIn(key: string): [namespace: string, name: string] {
  return key.split('/', 2) as [string, string];
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`;
}

export interface ListOptions {
  fieldSelector?: string | undefined;
  labelSelector?: string | undefined;
  /** Objects on a page. Undefined: all at once from the API server's cache, as the kubelet reads them. */
  pageSize: number | undefined;
  signal?: AbortSignal | undefined;
}

interface Page {
  /** The objects that were not handed over one by one. */
  items?: Json[] | null;
  metadata?: { continue?: string; resourceVersion?: string; remainingItemCount?: number };
}

/** More than etcd holds of a kind, and pages in a row without an object: a proxy may repeat a page for ever. */
const [mostObjects, mostEmpty] = [2_000_000, 10];

/** Lists all objects, each as `slim` returns it. Rejects with a `RefusedError`. */
export async function listAll<T>(
  connection: Pick<Connection, 'request'>,
  path: string,
  options: ListOptions,
  slim: (object: Json) => T | undefined,
): Promise<{ items: T[]; resourceVersion: string }> {
  const items: T[] = [];
  const resourceVersion = await takeAll(connection, path, options, (object) => {
    const kept = slim(object);
    if (kept !== undefined) items.push(kept);
  });
  return { items, resourceVersion };
}

/** Hands over all objects, one after the other. Resolves to the list's resourceVersion, and rejects with a `RefusedError`. */
export async function takeAll(
  { request }: Pick<Connection, 'request'>,
  path: string,
  { fieldSelector, labelSelector, pageSize, signal }: ListOptions,
  take: (object: Json) => void,
): Promise<string> {
  let [listed, empty] = [0, 0];
  const onItem = (object: Json): void => {
    signal?.throwIfAborted();
    listed++;
    take(object);
  };
  let position: string | undefined;
  for (;;) {
    const before = listed;
    const answer = await request('GET', path, {
      query: {
        fieldSelector,
        labelSelector,
        ...(pageSize === undefined ? { resourceVersion: '0' } : { limit: pageSize, continue: position }),
      },
      onItem,
    });
    if (answer.kind === 'refused') throw new RefusedError(answer);
    const page = answer.body as Page;
    await inTurns(page.items ?? [], onItem);
    empty = listed === before ? empty + 1 : 0;
    if (empty > mostEmpty || listed > mostObjects) throw new RefusedError(strangeAnswer(200, 'a list without an end'));
    position = page.metadata?.continue || undefined;
    if (position === undefined) return page.metadata?.resourceVersion ?? '';
  }
}

/** Rejects with a `RefusedError`. */
export async function countAll({ request }: Pick<Connection, 'request'>, path: string): Promise<number> {
  let count = 0;
  const answer = await request('GET', path, { query: { limit: 1 }, onItem: () => void count++ });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const { items, metadata } = answer.body as Page;
  return count + (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0);
}
