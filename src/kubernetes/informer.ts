import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Json } from '../platform/json.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { Connection } from './connection.ts';
import {
  createKnownObjects,
  listAll,
  type ListOptions,
  type Named,
  SilentWatchError,
  type Store,
  watchEvents,
} from './list-watch.ts';
import { refusalOfError } from './http.ts';
import type { Refusal } from '../events/events.ts';

export const paths = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
  namespaces: '/api/v1/namespaces',
} as const;

export type WatchedResource = keyof typeof paths;

export interface InformerReport {
  watchFailed: (resource: WatchedResource, problem: InformerProblem) => void;
  /** Called when the first list is in the store, and when a watch continues after a problem. */
  synced: (resource: WatchedResource) => void;
  unusable: (resource: WatchedResource, error: unknown) => void;
}

export interface InformerOptions<T> extends ListOptions {
  connection: Connection;
  resource: WatchedResource;
  /** Makes a small copy of an API object. May throw. */
  slim: (object: Json) => T;
  store: Store<T>;
  report: InformerReport;
  now: () => Millis;
  random: () => number;
  silence?: Millis | undefined;
  /** By default a timer that does not keep the process alive. */
  pause?: ((duration: Millis) => Promise<void>) | undefined;
}

/** Keeps one kind of object up to date: it lists, then watches. */
export interface Informer {
  start: () => void;
  stop: () => void;
  readonly synced: boolean;
  /** When the server last sent something, even a bookmark; undefined before the first list. */
  readonly lastHeard: Millis | undefined;
}

/** The time between two attempts after a failure of the server, with full jitter. */
export const retryIntervals = { first: 1000, longest: 60_000 };

/** How long a connection may be silent before it counts as dead. The API server sends a bookmark about every minute. */
const defaultSilence: Millis = 100_000;

/** How long a watch lasts, or up to twice as long, so that not all nodes ask at the same time. The server has the same limit. */
const lifetime: Millis = 1_800_000;

/** Lists again only if the server no longer knows where the watch ended (410). Without bookmarks that is always the case. */
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
    // For later lists, only the watch that follows shows that the server works.
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
      // This is no failure yet: the next watch shows whether the server answers.
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

/** Waits with a timer that does not keep the process alive. */
export async function sleep(duration: Millis): Promise<void> {
  await setTimeout(duration, undefined, { ref: false });
}

/** Why the informer has to list or watch again. */
export interface InformerProblem {
  verb: 'list' | 'watch';
  /** Undefined if a watch went silent or broke off, which is not a failure yet. */
  refusal: Refusal | undefined;
  silent?: boolean;
}

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

/** When an API server stops, all nodes lose their connections. They must not all reconnect in the same second. */
const reconnectSpread: Millis = 2000;

/** The longest pause after watches that brought no objects. */
const longestEmptyPause: Millis = 30_000;

function createWatchPauses(random: () => number) {
  let watches = 0;
  let empty = 0;

  return {
    /** Returns the pause before the next watch; undefined before the first one. */
    next(): Millis | undefined {
      if (watches++ === 0) return undefined;
      return Math.min(1000 * (2 ** Math.max(0, empty - 1) - 1), longestEmptyPause) + random() * reconnectSpread;
    },
    /** Notes that a watch begins. */
    begin: (): void => void empty++,
    /** Notes that a watch brought something, or failed. */
    reset: (): void => void (empty = 0),
  };
}
