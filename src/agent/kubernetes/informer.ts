import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import type { Json } from '../../base/platform/json.ts';
import type { MemoryAccount, MemoryAccountOptions, MemoryBudget } from '../../base/platform/memory-budget.ts';
import { createBackOff } from '../../base/platform/rates.ts';
import type { Connection } from './connection.ts';
import {
  createKnownObjects,
  type KnownObjectsOptions,
  type ListOptions,
  type ObjectName,
  SilentWatchError,
  takeAll,
  type WatchedObjects,
  watchEvents,
} from './list-watch.ts';
import { refusalOfError } from './http.ts';
import { isStrange } from './refusals.ts';
import type { Refusal } from '../../publish/events/events.ts';

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

export interface InformerOptions<T> extends ListOptions, Pick<KnownObjectsOptions<T>, 'store' | 'weigh'> {
  connection: Connection;
  resource: WatchedResource;
  /** May throw. */
  slim: (object: Json) => T;
  /** Weighs the kept objects. */
  memory: MemoryBudget;
  /** Within a Namespace, objects of a higher rank are left out first. */
  rank: MemoryAccountOptions['rank'];
  report: InformerReport;
  now: () => Millis;
  random: () => number;
  silence?: Millis | undefined;
  pause?: ((duration: Millis) => Promise<void>) | undefined;
}

export interface InformerProblem {
  verb: 'list' | 'watch';
  /** Undefined if a watch went silent or broke off, which is not a failure yet. */
  refusal: Refusal | undefined;
  silent?: boolean;
}

export const retryIntervals = { first: 1000, longest: 60_000 };

/** How long a connection may be silent before it counts as dead. The API server sends a bookmark about every minute. */
const defaultSilence: Millis = 100_000;

/** The least duration of a watch, half of the longest, so that not all nodes ask at the same time. The server has the same limits. */
const lifetime: Millis = 1_800_000;

/**
 * The time between two watches, with full jitter, because nodes whose connections ended together must not ask together. It grows while
 * watches bring nothing.
 */
const reconnectIntervals = { first: 2000, longest: 30_000 };

/** Objects that were left out are listed again once a tenth of the budget is free, but not more often. */
const listAgain = { room: 0.9, least: 60_000, intervals: { first: 60_000, longest: 1_800_000 } };

export interface Informer {
  start: () => void;
  /** `forget`: takes all objects out of the store. */
  stop: (forget?: 'forget') => void;
  readonly synced: boolean;
  /** When the server last sent something, even a bookmark; undefined before the first list. */
  readonly lastHeard: Millis | undefined;
}

/** Lists, then watches. Lists again only if the server no longer knows where the watch ended (410), which bookmarks make rare. */
export function createInformer<T extends ObjectName>(options: InformerOptions<T>): Informer {
  const { connection, resource, fieldSelector, labelSelector, report, now, random, pause = sleep } = options;
  const [path, silence] = [paths[resource], options.silence ?? defaultSilence];
  const known = knownObjectsOf(options);
  const isTimeToListAgain = createListAgain(options, known.account);
  const reconnects = createBackOff(reconnectIntervals, random);
  const retries = createBackOff(retryIntervals, random);
  const stopping = new AbortController();
  const { signal } = stopping;
  let isWell = false;
  let lastHeard: Millis | undefined;

  return {
    start: () => void run(),
    stop(forget) {
      stopping.abort();
      if (forget !== undefined) known.close();
    },
    get synced(): boolean {
      return lastHeard !== undefined;
    },
    get lastHeard(): Millis | undefined {
      return lastHeard;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let verb: InformerProblem['verb'] = 'list';
      try {
        if (known.resourceVersion === '') {
          await known.replaceAll((take) => takeAll(connection, path, { ...options, signal }, take));
          answered();
        }
        verb = 'watch';
        if (!signal.aborted) await watch();
        if (!signal.aborted) await pause(reconnects.next());
      } catch (error) {
        if (signal.aborted) return;
        const refusal = refusalOfError(error);
        failed({ verb, refusal });
        await pause(retries.next(refusal.retryAfter));
      }
    }
  }

  async function watch(): Promise<void> {
    const { resourceVersion } = known;
    const timeoutSeconds = Math.round((lifetime * (1 + random())) / 1000);
    const query = { fieldSelector, labelSelector, resourceVersion, timeoutSeconds, allowWatchBookmarks: true };
    let begun = false;
    try {
      for await (const event of watchEvents(connection, path, query, silence, signal)) {
        begun = true;
        answered();
        if (event !== undefined && known.apply(event)) reconnects.reset();
        if (isTimeToListAgain()) return known.expire();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (refusalOfError(error).status === 410) known.expire();
      else if (!begun) throw error;
      else failed(brokenOff(error));
    }
  }

  function answered(): void {
    retries.reset();
    lastHeard = now();
    if (!isWell) report.synced(resource);
    isWell = true;
  }

  function failed(problem: InformerProblem): void {
    isWell = false;
    report.watchFailed(resource, problem);
  }
}

function knownObjectsOf<T extends ObjectName>(options: InformerOptions<T>): WatchedObjects {
  const { memory, resource, rank } = options;
  return createKnownObjects({
    ...options,
    slim: reportingSlim(options),
    account: (leaveOut) => memory.open({ resource, rank, leaveOut }),
  });
}

function createListAgain<T>({ memory, now, random }: InformerOptions<T>, account: MemoryAccount): () => boolean {
  const backOff = createBackOff(listAgain.intervals, random);
  let next: Millis = -Infinity;
  let isMissing = false;
  return () => {
    if (account.leftOut === 0) {
      if (isMissing) backOff.reset();
      isMissing = false;
      return false;
    }
    if (!isMissing) next = now() + backOff.next(listAgain.least);
    isMissing = true;
    if (now() < next || memory.bytes > memory.total * listAgain.room) return false;
    next = now() + backOff.next(listAgain.least);
    return true;
  };
}

/** A watch that breaks off is not a failure yet: the next one shows whether the server answers. */
function brokenOff(error: unknown): InformerProblem {
  const refusal = refusalOfError(error);
  return {
    verb: 'watch',
    refusal: isStrange(refusal) ? refusal : undefined,
    silent: error instanceof SilentWatchError,
  };
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

export async function sleep(duration: Millis): Promise<void> {
  await setTimeout(duration, undefined, { ref: false });
}
