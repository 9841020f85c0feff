import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Json } from '../platform/json.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { Connection } from './connection.ts';
import { createKnownObjects, type Named, SilentWatchError, type Store, watchEvents } from './watch.ts';
import { listAll, type ListOptions } from './paged-list.ts';
import { refusalOfError } from './refusal.ts';
import type { Refusal } from '../events/events.ts';

export const paths = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
  namespaces: '/api/v1/namespaces',
} as const;

export type WatchedResource = keyof typeof paths;

/** Is told how the informers do. */
export interface InformerReport {
  watchFailed: (resource: WatchedResource, problem: InformerProblem) => void;
  /** A list is complete and in the store, or a watch goes on after a problem. */
  synced: (resource: WatchedResource) => void;
  /** An object cannot be used, and is left out. */
  unusable: (resource: WatchedResource, error: unknown) => void;
}

export interface InformerOptions<T> extends ListOptions {
  connection: Connection;
  resource: WatchedResource;
  /** An object of the API → what is kept of it. May throw. */
  slim: (object: Json) => T;
  store: Store<T>;
  report: InformerReport;
  now: () => Millis;
  random: () => number;
  silence?: Millis | undefined;
  /** Waits before another watch or list; the default is a timer that keeps no process alive. */
  pause?: ((duration: Millis) => Promise<void>) | undefined;
}

/** One kind of object, kept up to date: list, then watch, for as long as it takes. */
export interface Informer {
  start: () => void;
  stop: () => void;
  /** The first list is complete. */
  readonly synced: boolean;
  /** The time at which the server was last heard, if only by a bookmark; undefined before the first list. */
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
  const { connection, resource, fieldSelector, labelSelector, random, pause = sleep } = options;
  const [path, silence] = [paths[resource], options.silence ?? defaultSilence];
  const known = createKnownObjects(reportingSlim(options), options.store);
  const watchPauses = createWatchPauses(random);
  const retries = createBackOff(retryIntervals, random);
  const stopping = new AbortController();
  const { signal } = stopping;
  const health = createHealth(options);
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
    health.failed({ verb, refusal });
    await pause(retries.next(refusal.retryAfter));
  }
}

/** Reports an object that cannot be used, and leaves it out. */
function reportingSlim<T>({ slim, report, resource }: InformerOptions<T>): (object: Json) => T | undefined {
  return (object) => {
    try {
      return slim(object);
    } catch (error) {
      report.unusable(resource, error);
      return undefined;
    }
  };
}

/** Does not keep the process alive. */
export async function sleep(duration: Millis): Promise<void> {
  await setTimeout(duration, undefined, { ref: false });
}

/** Why a list or a watch had to begin again. */
export interface InformerProblem {
  verb: 'list' | 'watch';
  /** Undefined: a watch that went on was silent, or broke. That alone is no failure: connections do. */
  refusal: Refusal | undefined;
  silent?: boolean;
}

/** Whether the server answers what an informer asks. */
function createHealth({ resource, report, now }: Pick<InformerOptions<never>, 'resource' | 'report' | 'now'>) {
  let isWell = false;
  let lastHeard: Millis | undefined;

  return {
    get lastHeard(): Millis | undefined {
      return lastHeard;
    },
    answered(): void {
      lastHeard = now();
      if (!isWell) report.synced(resource);
      isWell = true;
    },
    failed(problem: InformerProblem): void {
      isWell = false;
      report.watchFailed(resource, problem);
    },
  };
}

/** Connections of all nodes break at once when an API server stops; they do not all come back in the same second. */
const reconnectSpread: Millis = 2000;

/** Longest pause where several watches in a row have brought nothing. */
const longestEmptyPause: Millis = 30_000;

/** Pauses between watches that end without a failure. */
function createWatchPauses(random: () => number) {
  let watches = 0;
  /** The number of them in a row. */
  let empty = 0;

  return {
    /** The pause before the next watch; undefined before the first. */
    next(): Millis | undefined {
      if (watches++ === 0) return undefined;
      return Math.min(1000 * (2 ** Math.max(0, empty - 1) - 1), longestEmptyPause) + random() * reconnectSpread;
    },
    /** A watch begins, and has brought nothing yet. */
    begin: (): void => void empty++,
    /** It brought something, or failed. */
    reset: (): void => void (empty = 0),
  };
}
