import { setTimeout } from 'node:timers/promises';
import type { Refusal } from '../events/event-store.ts';
import type { Millis } from '../model/log-line.ts';
import { type Connection, refusalOfError } from './connection.ts';
import { at, type Json, text } from '../platform/json.ts';
import { listAll, type ListOptions, type ObjectList } from './paged-list.ts';
import { SilentWatchError, watchEvents, type WatchEvent } from './watch.ts';

/** Why a list or a watch had to begin again. */
export interface InformerProblem {
  verb: 'list' | 'watch';
  /** Undefined: a watch that went on was silent, or broke. That alone is no failure: connections do. */
  refusal: Refusal | undefined;
  silent?: boolean;
}

export interface InformerOptions<T> extends ListOptions {
  connection: Connection;
  /** `/api/v1/pods` */
  path: string;
  /** An object of the API → what is kept of it. May throw. */
  slim: (object: Json) => T;
  onSet: (object: T) => void;
  onDelete: (namespace: string, name: string) => void;
  onUnusable: (error: unknown) => void;
  onProblem: (problem: InformerProblem) => void;
  /** A list is complete and has been handed over, or a watch goes on after a problem. */
  onSynced: () => void;
  now: () => Millis;
  random: () => number;
  silence?: Millis | undefined;
  /** How the time before another watch or list is waited for; the default is a timer that keeps no process alive. */
  pause?: ((duration: Millis) => Promise<void>) | undefined;
}

/** One kind of object, kept up to date: list, then watch, for as long as it takes. */
export interface Informer {
  start: () => void;
  stop: () => void;
  /** The first list is complete. */
  readonly synced: boolean;
  /** When the server was last heard, if only by a bookmark; undefined before the first list. */
  readonly lastHeard: Millis | undefined;
}

/** Between two attempts at a server that fails, with full jitter: the first, and the longest. */
export const retryIntervals = { startingDelay: 1000, maxDelay: 60_000 };

/** The API server sends a bookmark about every minute: after that long without one, the connection is taken for dead. */
const defaultSilence: Millis = 100_000;

/** A watch is asked for again after that long, or up to twice that: not all nodes at once. The server's own limit is as long. */
const lifetime: Millis = 1_800_000;

/** Connections of all nodes break at once when an API server stops; they do not all come back in the same second. */
const reconnectSpread: Millis = 2000;

/** Longest pause where several watches in a row have brought nothing. */
const longestEmptyPause: Millis = 30_000;

interface Named {
  namespace?: string;
  name: string;
}

type Handlers<T> = Pick<InformerOptions<T>, 'slim' | 'onSet' | 'onDelete' | 'onUnusable'>;

/** The objects that the server has. */
interface Known {
  /** `namespace/name` */
  keys: Set<string>;
  /** Where the next watch begins; '' where a list has to come first. */
  resourceVersion: string;
}

/** Lists again only if the server has forgotten where the watch ended (410). Without bookmarks a quiet watch always ends so. */
export function createInformer<T extends Named>(options: InformerOptions<T>): Informer {
  const {
    connection,
    path,
    fieldSelector,
    labelSelector,
    now,
    random,
    pause = sleep,
    silence = defaultSilence,
  } = options;
  const known: Known = { keys: new Set(), resourceVersion: '' };
  const stopping = new AbortController();
  const { signal } = stopping;
  let lastHeard: Millis | undefined;
  let synced = false;
  let watches = 0;
  /** In a row. */
  let emptyWatches = 0;
  let failures = 0;
  /** Since the last problem. */
  let isWell = false;

  return {
    start: () => void run(),
    stop: () => stopping.abort(),
    get synced() {
      return synced;
    },
    get lastHeard() {
      return lastHeard;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let verb: InformerProblem['verb'] = 'list';
      try {
        if (known.resourceVersion === '') await list();
        verb = 'watch';
        await watch();
      } catch (error) {
        if (!signal.aborted) await recover(verb, error);
      }
    }
  }

  async function list(): Promise<void> {
    const all = await listAll(connection, path, options, (object) => slimOf(object, options));
    if (signal.aborted) return;
    replaceAll(known, all, options);
    // Later it is well when it can be watched again, too.
    if (!synced) {
      synced = true;
      answered();
    }
  }

  function answered(): void {
    failures = 0;
    lastHeard = now();
    if (!isWell) options.onSynced();
    isWell = true;
  }

  async function watch(): Promise<void> {
    if (signal.aborted) return;
    const emptyPause = Math.min(1000 * (2 ** Math.max(0, emptyWatches - 1) - 1), longestEmptyPause);
    if (watches++ > 0) await pause(emptyPause + random() * reconnectSpread);
    if (signal.aborted) return;
    emptyWatches++;
    const { resourceVersion } = known;
    const timeoutSeconds = Math.round((lifetime * (1 + random())) / 1000);
    const query = { fieldSelector, labelSelector, resourceVersion, timeoutSeconds, allowWatchBookmarks: true };
    let begun = false;
    try {
      for await (const event of watchEvents(connection, path, query, silence, signal)) {
        begun = true;
        answered();
        if (event !== undefined && apply(known, event, options)) emptyWatches = 0;
      }
    } catch (error) {
      if (!begun) throw error;
      if (!signal.aborted) broken(error instanceof SilentWatchError);
    }
  }

  /** Whether the server is well the next watch shows. */
  function broken(silent: boolean): void {
    isWell = false;
    options.onProblem({ verb: 'watch', refusal: undefined, silent });
  }

  async function recover(verb: InformerProblem['verb'], error: unknown): Promise<void> {
    const refusal = refusalOfError(error);
    if (verb === 'watch' && refusal.status === 410) return void (known.resourceVersion = '');
    emptyWatches = 0;
    isWell = false;
    if (refusal.status === 401) connection.reload();
    options.onProblem({ verb, refusal });
    const interval = Math.min(retryIntervals.startingDelay * 2 ** failures++, retryIntervals.maxDelay);
    await pause((refusal.retryAfter ?? 0) + random() * interval);
  }
}

/** Without keeping the process alive. */
export async function sleep(duration: Millis): Promise<void> {
  await setTimeout(duration, undefined, { ref: false });
}

/** A complete list: what is not in it is gone. */
function replaceAll<T extends Named>(known: Known, list: ObjectList<T>, handlers: Handlers<T>): void {
  for (const key of known.keys.difference(new Set(list.items.map(keyOf)))) remove(known, key, handlers);
  for (const item of list.items) set(known, item, handlers);
  known.resourceVersion = list.resourceVersion;
}

/** False for an error, which brings nothing: the server ends the watch, too, and but for 410 the next one goes on from here. */
function apply<T extends Named>(known: Known, { type, object }: WatchEvent, handlers: Handlers<T>): boolean {
  if (type === 'ERROR') {
    if (at(object, 'code') === 410) known.resourceVersion = '';
    return false;
  }
  const item = type === 'BOOKMARK' ? undefined : slimOf(object, handlers);
  if (item !== undefined && type === 'DELETED') remove(known, keyOf(item), handlers);
  else if (item !== undefined) set(known, item, handlers);
  known.resourceVersion = text(at(object, 'metadata', 'resourceVersion')) ?? '';
  return true;
}

function slimOf<T>(object: Json, { slim, onUnusable }: Handlers<T>): T | undefined {
  try {
    return slim(object);
  } catch (error) {
    onUnusable(error);
    return undefined;
  }
}

function set<T extends Named>({ keys }: Known, item: T, { onSet }: Handlers<T>): void {
  keys.add(keyOf(item));
  onSet(item);
}

function remove({ keys }: Known, key: string, { onDelete }: Pick<Handlers<unknown>, 'onDelete'>): void {
  const [namespace = '', name = ''] = key.split('/');
  keys.delete(key);
  onDelete(namespace, name);
}

function keyOf({ namespace = '', name }: Named): string {
  return `${namespace}/${name}`;
}
