/** Keeps the lists of a node's agent as they are at the API server. */
import { backOff } from 'exponential-backoff';
import { auditOptOut } from '../model/choices.ts';
import type { Millis } from '../model/log-line.ts';
import { everything, informerOf, type ListInformerOptions } from './cluster-informers.ts';
import {
  type Informer,
  type InformerProblem,
  type InformerReport,
  paths,
  retryIntervals,
  sleep,
  type WatchedResource,
} from './informer.ts';
import { countAll, type ListOptions } from './paged-list.ts';
import { refusalOfError } from './refusal.ts';

/** The agent is not ready without these: Findings are made of them. */
const required = ['pods', 'nodes', 'services'] as const;

/** Is told how the watch of the cluster does. */
export interface ClusterWatchReport extends InformerReport {
  tooMany: (resource: WatchedResource, count: number, limit: number) => void;
}

export interface ClusterWatchOptions extends ListInformerOptions {
  ownNode: string;
  /** `node`: the Pods of this node; `cluster`: all Pods. */
  podCache: 'node' | 'cluster';
  /** Each is watched only where there are no more; of Nodes then only our own. EndpointSlices are not even counted where it is 0. */
  limits: { nodes: number; services: number; endpointSlices: number };
  report: ClusterWatchReport;
}

/** Nodes that are not watched are counted again after that long, or up to twice that. */
const countInterval: Millis = 3_600_000;

/** After that long, or up to twice that, what is of use only now and then is asked for again. */
const optionalInterval: Millis = 600_000;

export type ClusterWatch = ReturnType<typeof createClusterWatch>;

export function createClusterWatch(options: ClusterWatchOptions) {
  const { limits, connection, lists, report, random, ownNode, podCache, pause = sleep } = options;
  let countedNodes = 1;
  const informers = new Map<WatchedResource, Informer>();
  const stopping = new AbortController();
  const { signal } = stopping;

  return {
    informers: informers as ReadonlyMap<WatchedResource, Informer>,
    /** Nodes of the cluster: those that are watched, else as last counted; 1 where that is not known. */
    get nodeCount(): number {
      return Math.max(countedNodes, lists.directory.nodes.length);
    },
    /** Everything that has to be known is known for the first time. EndpointSlices need not be. */
    get synced(): boolean {
      return required.every(isSynced);
    },
    get missing(): readonly WatchedResource[] {
      return required.filter((resource) => !isSynced(resource));
    },
    /** Whether all objects of the kind are known, so that none has to be looked up. */
    watches: (resource: WatchedResource): boolean => isSynced(resource) && informers.get(resource) !== nothingToWatch,
    start(): void {
      begin('pods', podCache === 'node' ? selectedBy(`spec.nodeName=${ownNode}`) : everything);
      void beginNodes();
      void beginServices();
      if (limits.endpointSlices > 0) void beginSlices();
      if (options.optedOut !== undefined) begin('namespaces', withOptOut);
    },
    stop(): void {
      stopping.abort();
      for (const informer of informers.values()) informer.stop();
    },
  };

  function isSynced(resource: WatchedResource): boolean {
    return informers.get(resource)?.synced ?? false;
  }

  function begin(resource: WatchedResource, of: ListOptions, given: ListInformerOptions = options): void {
    if (signal.aborted) return;
    informers.set(resource, informerOf(resource, of, given));
    informers.get(resource)?.start();
  }

  async function beginNodes(): Promise<void> {
    if (await isFew('nodes', limits.nodes, options, signal)) return begin('nodes', everything);
    begin('nodes', selectedBy(`metadata.name=${ownNode}`));
    while (!signal.aborted) {
      countedNodes = await countAll(connection, paths.nodes).catch(() => countedNodes);
      await pause(countInterval * (1 + random()));
    }
  }

  async function beginServices(): Promise<void> {
    if (await isFew('services', limits.services, options, signal)) return begin('services', everything);
    if (signal.aborted) return;
    informers.set('services', nothingToWatch);
    report.synced('services');
  }

  async function beginSlices(): Promise<void> {
    if (signal.aborted) return;
    const few = await isFew('endpointslices', limits.endpointSlices, options, signal);
    if (few === undefined) giveUpSlices();
    else if (few) begin('endpointslices', everything, { ...options, report: { ...report, watchFailed: slicesFailed } });
  }

  function slicesFailed(resource: WatchedResource, problem: InformerProblem): void {
    report.watchFailed(resource, problem);
    if (isFinal(resource, problem.refusal?.status)) giveUpSlices();
  }

  /** Stops them for a while, because a server that has just started refuses what it grants a moment later. */
  function giveUpSlices(): void {
    informers.get('endpointslices')?.stop();
    informers.delete('endpointslices');
    void pause(optionalInterval * (1 + random())).then(beginSlices);
  }
}

/** Undefined if it may not be known. Waits for a server that is away: a wrong guess would make every node of a large cluster list them all. */
async function isFew(
  resource: WatchedResource,
  limit: number,
  { connection, report }: ClusterWatchOptions,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  try {
    const count = await backOff(() => countAll(connection, paths[resource]), {
      startingDelay: retryIntervals.first,
      maxDelay: retryIntervals.longest,
      jitter: 'full',
      numOfAttempts: Number.MAX_SAFE_INTEGER,
      async retry(error) {
        if (signal.aborted) return false;
        const refusal = refusalOfError(error);
        report.watchFailed(resource, { verb: 'list', refusal });
        if (refusal.status === 403 || isFinal(resource, refusal.status)) return false;
        if (refusal.retryAfter !== undefined) await sleep(refusal.retryAfter);
        return true;
      },
    });
    if (count > limit) report.tooMany(resource, count, limit);
    return count <= limit;
  } catch (error) {
    // A list that may not be counted is begun: it is refused, too, and asked for again.
    return isFinal(resource, refusalOfError(error).status) ? undefined : true;
  }
}

/** Optional objects that may not be read, or do not exist here, are not asked for all the time. */
function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}

function selectedBy(fieldSelector: string): ListOptions {
  return { fieldSelector, pageSize: undefined };
}

/** A label, not an annotation: the API server sends only Namespaces that have it. */
const withOptOut: ListOptions = { labelSelector: `${auditOptOut.key}=${auditOptOut.value}`, pageSize: undefined };

const nothingToWatch: Informer = { start: () => {}, stop: () => {}, synced: true, lastHeard: undefined };
