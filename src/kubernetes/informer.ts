import { type KubernetesListObject, type KubernetesObject, ListWatch } from '@kubernetes/client-node';
import { backOff } from 'exponential-backoff';
import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Refusal } from '../events/event-store.ts';
import { type Connection, messageOf } from './connection.ts';
import { listAll, type ListOptions, RefusedError } from './paged-list.ts';
import type { Json } from './slim.ts';
import { type Kept, SlimWatch } from './slim-watch.ts';

/** Why a list or watch had to begin anew. */
export interface InformerTrouble {
  verb: 'list' | 'watch';
  /** Undefined: silence. */
  refusal: Refusal | undefined;
}

export interface InformerOptions<T> extends ListOptions {
  connection: Connection;
  /** `/api/v1/pods` */
  path: string;
  slim: (object: Json) => T;
  onSet: (object: T) => void;
  onDelete: (object: T) => void;
  onUnusable: (error: unknown) => void;
  onTrouble: (trouble: InformerTrouble) => void;
  /** A list is complete and has been handed over, or a watch goes on. */
  onSynced: () => void;
  now: () => Millis;
  random: () => number;
  /** How long a watch may be silent; see `SlimWatch`. */
  silence?: Millis | undefined;
  /** How the time between two watches is waited for; the default is a timer. */
  pause?: ((duration: Millis) => Promise<void>) | undefined;
}

/** One kind of object, kept up to date: list, then watch, for as long as it takes. */
export interface Informer {
  start: () => void;
  stop: () => Promise<void>;
  /** The first list is complete. */
  readonly synced: boolean;
  /** When the server was last heard, if only by a bookmark; undefined before the first list. */
  readonly lastHeard: Millis | undefined;
}

/** How a server that is away is waited for, here and wherever a list is asked for. */
export const patience = {
  jitter: 'full',
  startingDelay: 1000,
  maxDelay: 60_000,
  numOfAttempts: Number.MAX_SAFE_INTEGER,
} as const;

/**
 * The library's informer stops for good at the first error; this one is started again after a jittered back-off. It goes on
 * where its watch ended, without a new list, unless the server has forgotten that point (410).
 */
export function createInformer<T extends { namespace?: string; name: string; resourceVersion: string | undefined }>(
  options: InformerOptions<T>,
): Informer {
  const { connection, path, fieldSelector, now, pause = setTimeout } = options;
  let lastHeard: Millis | undefined;
  let synced = false;
  let stopped = false;
  let failure: unknown;
  let onFailure: (() => void) | undefined;

  const watch = new SlimWatch<T>({
    config: () => connection.config,
    slim: options.slim,
    onBegin: () => {
      synced = true;
      options.onSynced();
    },
    onHeard: () => (lastHeard = now()),
    onEnd: (error) => {
      if ((error as Error | null)?.name === 'TimeoutError') options.onTrouble({ verb: 'watch', refusal: undefined });
    },
    onUnusable: options.onUnusable,
    random: options.random,
    pause,
    silence: options.silence,
  });
  const informer = new ListWatch<KubernetesObject & Kept<T>>(path, watch, list, false, undefined, fieldSelector, {
    delayFn: pause,
  });
  informer.on('add', ({ metadata }) => options.onSet(metadata));
  informer.on('update', ({ metadata }) => options.onSet(metadata));
  informer.on('delete', ({ metadata }) => options.onDelete(metadata));
  informer.on('error', (error: unknown) => {
    if (stopped) return;
    failure = error ?? new Error('the watch ended');
    report(failure);
    onFailure?.();
  });

  return {
    start: () => void run(),
    async stop() {
      stopped = true;
      onFailure?.();
      watch.stop();
      await informer.stop();
    },
    get synced() {
      return synced;
    },
    get lastHeard() {
      return lastHeard;
    },
  };

  async function run(): Promise<void> {
    for (let delayFirstAttempt = false; ; delayFirstAttempt = true) {
      await backOff(startOnce, { ...patience, delayFirstAttempt, retry: waitAsAsked });
      if (stopped) return;
      if (failure === undefined) await new Promise<void>((resolve) => (onFailure = resolve));
    }
  }

  async function startOnce(): Promise<void> {
    if (stopped) return;
    failure = undefined;
    await informer.start();
    if (failure !== undefined) throw failure;
  }

  async function list(): Promise<KubernetesListObject<KubernetesObject & Kept<T>>> {
    const { items, resourceVersion } = await listAll(connection, path, options, keep);
    lastHeard = now();
    return { items, metadata: { resourceVersion } } as KubernetesListObject<KubernetesObject & Kept<T>>;
  }

  function keep(object: Json): Kept<T> | undefined {
    try {
      return { metadata: options.slim(object) };
    } catch (error) {
      options.onUnusable(error);
      return undefined;
    }
  }

  function report(error: unknown): void {
    const refusal = refusalOf(error);
    if (refusal.status === 401) connection.reload();
    options.onTrouble({ verb: error instanceof RefusedError ? 'list' : 'watch', refusal });
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal;
  const status = (error as { statusCode?: number }).statusCode ?? 0;
  return { kind: 'refused', status, reason: '', message: messageOf(error), retryAfter: undefined };
}

async function waitAsAsked(error: unknown): Promise<boolean> {
  const { retryAfter } = refusalOf(error);
  if (retryAfter !== undefined) await setTimeout(retryAfter, undefined, { ref: false });
  return true;
}
