import { at, type Json, text } from '../platform/json.ts';
import type { ObjectList } from './paged-list.ts';
import type { WatchEvent } from './watch.ts';

export interface Named {
  namespace?: string;
  name: string;
}

export interface ObjectHandlers<T> {
  /** An object of the API → what is kept of it. May throw. */
  slim: (object: Json) => T;
  onSet: (object: T) => void;
  onDelete: (namespace: string, name: string) => void;
  onUnusable: (error: unknown) => void;
}

/** The objects of one kind that the server has, by its lists and watches. */
export function createKnownObjects<T extends Named>({ slim, onSet, onDelete, onUnusable }: ObjectHandlers<T>) {
  /** `namespace/name` */
  const keys = new Set<string>();
  let resourceVersion = '';

  return {
    /** Where the next watch begins; '' where a list has to come first. */
    get resourceVersion(): string {
      return resourceVersion;
    },
    slim: slimOf,
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
      const item = type === 'BOOKMARK' ? undefined : slimOf(object);
      if (item !== undefined && type === 'DELETED') remove(keyOf(item));
      else if (item !== undefined) set(item);
      resourceVersion = text(at(object, 'metadata', 'resourceVersion')) ?? '';
      return true;
    },
    /** The server has forgotten where the last watch ended. */
    expire: (): void => void (resourceVersion = ''),
  };

  function slimOf(object: Json): T | undefined {
    try {
      return slim(object);
    } catch (error) {
      onUnusable(error);
      return undefined;
    }
  }

  function set(item: T): void {
    keys.add(keyOf(item));
    onSet(item);
  }

  function remove(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    keys.delete(key);
    onDelete(namespace, name);
  }
}

function keyOf({ namespace = '', name }: Named): string {
  return `${namespace}/${name}`;
}
