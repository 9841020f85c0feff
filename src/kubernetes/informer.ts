import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { Connection } from './connection.ts';
import { createInformerHealth, type InformerHealthOptions, type InformerProblem } from './informer-health.ts';
import { createKnownObjects, type Named, type ObjectHandlers } from './known-objects.ts';
import { listAll, type ListOptions } from './paged-list.ts';
import { refusalOfError } from './refusal.ts';
import { SilentWatchError, watchEvents } from './watch.ts';
import { createWatchPauses } from './watch-pauses.ts';

export interface InformerOptions<T> extends ListOptions, ObjectHandlers<T>, InformerHealthOptions {
  connection: Connection;
  /** `/api/v1/pods` */
  path: string;
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
export const retryIntervals = { first: 1000, longest: 60_000 };

/** The API server sends a bookmark about every minute: after that long without one, the connection is taken for dead. */
const defaultSilence: Millis = 100_000;

/** A watch is asked for again after that long, or up to twice that: not all nodes at once. The server's own limit is as long. */
const lifetime: Millis = 1_800_000;

/** Lists again only if the server has forgotten where the watch ended (410). Without bookmarks a quiet watch always ends so. */
export function createInformer<T extends Named>(options: InformerOptions<T>): Informer {
  const { connection, path, fieldSelector, labelSelector, random, pause = sleep, silence = defaultSilence } = options;
  const known = createKnownObjects(options);
  const watchPauses = createWatchPauses(random);
  const retries = createBackOff(retryIntervals, random);
  const stopping = new AbortController();
  const { signal } = stopping;
  const health = createInformerHealth(options);
  let synced = false;

  return {
    start: () => void run(),
    stop: () => stopping.abort(),
    get synced() {
      return synced;
    },
    get lastHeard() {
      return health.lastHeard;
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
    const all = await listAll(connection, path, options, known.slim);
    if (signal.aborted) return;
    known.replaceAll(all);
    // Later it is well when it can be watched again, too.
    if (!synced) {
      synced = true;
      retries.reset();
      health.answered();
    }
  }

  async function watch(): Promise<void> {
    if (signal.aborted) return;
    const wait = watchPauses.next();
    if (wait !== undefined) await pause(wait);
    if (signal.aborted) return;
    watchPauses.begin();
    const { resourceVersion } = known;
    const timeoutSeconds = Math.round((lifetime * (1 + random())) / 1000);
    const query = { fieldSelector, labelSelector, resourceVersion, timeoutSeconds, allowWatchBookmarks: true };
    let begun = false;
    try {
      for await (const event of watchEvents(connection, path, query, silence, signal)) {
        begun = true;
        retries.reset();
        health.answered();
        if (event !== undefined && known.apply(event)) watchPauses.reset();
      }
    } catch (error) {
      if (!begun) throw error;
      // Whether the server is well the next watch shows.
      const silent = error instanceof SilentWatchError;
      if (!signal.aborted) health.failed({ verb: 'watch', refusal: undefined, silent });
    }
  }

  async function recover(verb: InformerProblem['verb'], error: unknown): Promise<void> {
    const refusal = refusalOfError(error);
    if (verb === 'watch' && refusal.status === 410) return known.expire();
    watchPauses.reset();
    if (refusal.status === 401) connection.reload();
    health.failed({ verb, refusal });
    await pause(retries.next(refusal.retryAfter));
  }
}

/** Without keeping the process alive. */
export async function sleep(duration: Millis): Promise<void> {
  await setTimeout(duration, undefined, { ref: false });
}
