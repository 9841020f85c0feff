import { backOff } from 'exponential-backoff';
import type { Millis } from '../model/log-line.ts';
import { type ClusterInformerOptions, informerOf, isFinal, paths, type WatchedResource } from './cluster-informers.ts';
import { type Informer, retryIntervals, sleep } from './informer.ts';
import { countAll } from './paged-list.ts';
import { refusalOfError } from './refusal.ts';

export type { WatchedResource } from './cluster-informers.ts';

/** What Findings are made of: the agent is not ready without. */
const required = ['pods', 'nodes', 'services'] as const;

export interface ClusterWatchOptions extends ClusterInformerOptions {
  /** Watched only where there are no more; of Nodes then only our own. EndpointSlices are not even counted where it is 0. */
  limits: { nodes: number; services: number; endpointSlices: number };
  onTooMany: (resource: WatchedResource, count: number, limit: number) => void;
}

export interface ClusterWatch {
  start: () => void;
  stop: () => void;
  /** Everything that has to be known is known for the first time. EndpointSlices need not be. */
  readonly synced: boolean;
  readonly missing: readonly WatchedResource[];
  /** It is, and what there is of it is known: nothing of it has to be looked up. */
  watches: (resource: WatchedResource) => boolean;
  readonly informers: ReadonlyMap<WatchedResource, Informer>;
  /** Nodes of the cluster: those that are watched, else as last counted; 1 where that is not known. */
  readonly nodeCount: number;
}

/** Nodes that are not watched are counted again after that long, or up to twice that. */
const countInterval: Millis = 3_600_000;

/** Keeps the lists of a node's agent as they are at the API server. */
export function createClusterWatch(options: ClusterWatchOptions): ClusterWatch {
  const { limits, connection, lists, random, pause = sleep } = options;
  let countedNodes = 1;
  const informers = new Map<WatchedResource, Informer>();
  const stopping = new AbortController();
  const { signal } = stopping;

  return {
    informers,
    get nodeCount() {
      return Math.max(countedNodes, lists.directory.nodes.length);
    },
    get synced() {
      return required.every(isSynced);
    },
    get missing() {
      return required.filter((resource) => !isSynced(resource));
    },
    watches: (resource) => isSynced(resource) && informers.get(resource) !== nothingToWatch,
    start() {
      begin('pods', false);
      void isFew('nodes', limits.nodes, options, signal).then((few) => beginNodes(few === true));
      void isFew('services', limits.services, options, signal).then((few) =>
        few ? begin('services', true) : doWithout('services'),
      );
      if (limits.endpointSlices > 0) void beginSlices();
      if (options.optedOut !== undefined) begin('namespaces', true);
    },
    stop() {
      stopping.abort();
      for (const informer of informers.values()) informer.stop();
    },
  };

  async function beginNodes(few: boolean): Promise<void> {
    begin('nodes', few);
    if (few) return;
    while (!signal.aborted) {
      countedNodes = await countAll(connection, paths.nodes).catch(() => countedNodes);
      await pause(countInterval * (1 + random()));
    }
  }

  function isSynced(resource: WatchedResource): boolean {
    return informers.get(resource)?.synced ?? false;
  }

  function begin(resource: WatchedResource, all: boolean): void {
    if (signal.aborted) return;
    const informer = informerOf(resource, all, options, () => giveUp(resource));
    informers.set(resource, informer);
    informer.start();
  }

  function doWithout(resource: WatchedResource): void {
    if (signal.aborted) return;
    informers.set(resource, nothingToWatch);
    options.onSynced(resource);
  }

  async function beginSlices(): Promise<void> {
    if (signal.aborted) return;
    const few = await isFew('endpointslices', limits.endpointSlices, options, signal);
    if (few === undefined) giveUp('endpointslices');
    else if (few) begin('endpointslices', true);
  }

  /** For a while: a server that has just started refuses what it will grant a moment later. */
  function giveUp(resource: WatchedResource): void {
    informers.get(resource)?.stop();
    informers.delete(resource);
    void pause(optionalInterval * (1 + random())).then(beginSlices);
  }
}

/** Undefined where it may not be known. Waits for a server that is away: guessing wrong would make every node of a large cluster list them all. */
async function isFew(
  resource: WatchedResource,
  limit: number,
  { connection, onProblem, onTooMany }: ClusterWatchOptions,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const count = await backOff(() => countAll(connection, paths[resource]), {
    startingDelay: retryIntervals.first,
    maxDelay: retryIntervals.longest,
    jitter: 'full',
    numOfAttempts: Number.MAX_SAFE_INTEGER,
    retry: (error) => {
      if (signal.aborted) return false;
      const refusal = refusalOfError(error);
      onProblem(resource, { verb: 'list', refusal });
      if (refusal.status === 401) connection.reload();
      return refusal.status !== 403 && !isFinal(resource, refusal.status);
    },
  }).catch((error: unknown) => (isFinal(resource, refusalOfError(error).status) ? undefined : 0));
  if (count === undefined) return undefined;
  if (count > limit) onTooMany(resource, count, limit);
  return count <= limit;
}

/** After that long, or up to twice that, what is of use only now and then is asked for again. */
const optionalInterval = 600_000;

const nothingToWatch: Informer = { start: () => {}, stop: () => {}, synced: true, lastHeard: undefined };
