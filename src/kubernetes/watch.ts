import type { Millis } from '../model/log-line.ts';
import type { Connection, Query } from './connection.ts';
import { at, type Json, parsed, text } from '../platform/json.ts';
import type { ObjectList } from './paged-list.ts';

/** A watch brought nothing for too long: its connection may be dead without knowing it. */
export class SilentWatchError extends Error {
  override message = 'no answer in time';
}

/** An event of a watch, unchecked. */
export interface WatchEvent {
  type?: Json;
  object?: Json;
}

const newline = 10;

/** Characters of one event: etcd takes no object of more than 1.5 MiB, and JSON has six for one where it is `<`. */
const longestEvent = 10 * 1024 * 1024;

/**
 * Undefined when the answer begins, then events. Throws what broke it; after `silence` without a byte a `SilentWatchError`. The head of the
 * answer has as long: a proxy may hold it back until the first event, which is a bookmark after a minute where nothing happens.
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

/** Keeps the objects of one kind, as the API server has them. */
export interface Store<T> {
  set: (object: T) => void;
  delete: (namespace: string, name: string) => void;
}

/**
 * Brings the objects of one kind, by lists and watches, into a store. `slim`: an object of the API → what is kept of it, or undefined if it
 * cannot be used.
 */
export function createKnownObjects<T extends Named>(slim: (object: Json) => T | undefined, store: Store<T>) {
  /** `namespace/name` */
  const keys = new Set<string>();
  let resourceVersion = '';

  return {
    /** The next watch begins here; '' where a list has to come first. */
    get resourceVersion(): string {
      return resourceVersion;
    },
    slim,
    /** A complete list: what is not in it is gone. */
    replaceAll(list: ObjectList<T>): void {
      for (const key of keys.difference(new Set(list.items.map(keyOf)))) remove(key);
      for (const item of list.items) set(item);
      resourceVersion = list.resourceVersion;
    },
    /** False for an error, which brings nothing: the server ends the watch, too, and but for 410 the next one goes on from here. */
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
    /** The server has forgotten where the last watch ended. */
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
