/** Keeps the node agent's lists up to date with the API server. */
import { backOff } from 'exponential-backoff';
import { auditOptOut } from '../../base/model/choices.ts';
import type { Millis } from '../../base/model/log-line.ts';
import {
  type Informer,
  type InformerProblem,
  type InformerReport,
  paths,
  retryIntervals,
  sleep,
  type WatchedResource,
} from './informer.ts';
import { refusalOfError } from './http.ts';
import { pagedList, informerOf, type ListInformerOptions } from './list-informers.ts';
import { countAll, type ListOptions } from './list-watch.ts';

/** The agent is ready once it knows these kinds, because findings name their objects. */
const required = ['pods', 'nodes', 'services'] as const;

export interface ClusterWatchReport extends InformerReport {
  tooMany: (resource: WatchedResource, count: number, limit: number) => void;
}

export interface ClusterWatchOptions extends ListInformerOptions {
  ownNode: string;
  podCache: 'node' | 'cluster';
  /** A kind with more objects is not watched; of Nodes, only this one is. With a limit of 0, EndpointSlices are not even counted. */
  limits: { nodes: number; services: number; endpointSlices: number };
  report: ClusterWatchReport;
}

/** Objects that are not watched are counted again after this time, or up to twice as long. */
const countInterval: Millis = 3_600_000;

const slicesRetryInterval: Millis = 600_000;

export interface ClusterWatch {
  informers: ReadonlyMap<'pods' | 'nodes' | 'services' | 'endpointslices' | 'namespaces', Informer>;
  /** The number of Nodes: watched ones, or else the last count; 1 if unknown. */
  readonly nodeCount: number;
  readonly synced: boolean;
  readonly missing: readonly WatchedResource[];
  /** Returns whether the kind was listed: of Pods and Nodes, perhaps only those of this node. */
  watches: (resource: WatchedResource) => boolean;
  start(): void;
  stop(): void;
}

export function createClusterWatch(options: ClusterWatchOptions): ClusterWatch {
  const { limits, lists, report, ownNode, podCache, optedOut } = options;
  const informers = new Map<WatchedResource, Informer>();
  const tooMany = new Set<WatchedResource>();
  let countedNodes = 1;
  const stopping = new AbortController();
  const { signal } = stopping;
  const beginSlices = (): void =>
    void beginUpTo('endpointslices', limits.endpointSlices, () => giveUpSlices(countInterval));
  const beginServices = (): void => void beginUpTo('services', limits.services, leaveOutServices);
  const watches = (resource: WatchedResource): boolean => informers.get(resource)?.synced ?? false;
  const missing = (): readonly WatchedResource[] => required.filter((each) => !watches(each) && !tooMany.has(each));

  return {
    informers,
    get nodeCount(): number {
      return Math.max(countedNodes, lists.endpoints.nodes.length);
    },
    get synced(): boolean {
      return missing().length === 0;
    },
    get missing(): readonly WatchedResource[] {
      return missing();
    },
    watches,
    start(): void {
      begin('pods', podCache === 'node' ? selectedBy(`spec.nodeName=${ownNode}`) : pagedList);
      void beginUpTo('nodes', limits.nodes, (count) => {
        countedNodes = count;
        begin('nodes', selectedBy(`metadata.name=${ownNode}`));
        void countAgain(options, signal, (again) => (countedNodes = again));
      });
      beginServices();
      if (limits.endpointSlices > 0) beginSlices();
      if (optedOut !== undefined) begin('namespaces', withOptOut);
    },
    stop(): void {
      stopping.abort();
      for (const informer of informers.values()) informer.stop();
    },
  };

  function begin(resource: WatchedResource, of: ListOptions): void {
    if (signal.aborted) return;
    const informer = informerOf(resource, of, { ...options, report: { ...report, watchFailed } });
    informers.set(resource, informer);
    informer.start();
  }

  /** Counts first, because all nodes of a large cluster must not list all objects. */
  async function beginUpTo(resource: WatchedResource, limit: number, instead: (count: number) => void): Promise<void> {
    const count = await countOf(resource, options, signal);
    if (signal.aborted) return;
    if (count === undefined) return giveUpSlices();
    if (count <= limit) return begin(resource, pagedList);
    report.tooMany(resource, count, limit);
    instead(count);
  }

  function leaveOutServices(): void {
    tooMany.add('services');
    lists.leftOut.missServices(() => !watches('services'));
    report.synced('services');
    void waitLong(countInterval, options).then(beginServices);
  }

  function watchFailed(resource: WatchedResource, problem: InformerProblem): void {
    report.watchFailed(resource, problem);
    if (isFinal(resource, problem.refusal?.status)) giveUpSlices();
  }

  /** Tries again later, because a server that has just started may refuse at first. */
  function giveUpSlices(retryInterval = slicesRetryInterval): void {
    informers.get('endpointslices')?.stop('forget');
    informers.delete('endpointslices');
    void waitLong(retryInterval, options).then(beginSlices);
  }
}

async function countAgain(
  options: ClusterWatchOptions,
  signal: AbortSignal,
  learn: (count: number) => void,
): Promise<void> {
  while (!signal.aborted) {
    await waitLong(countInterval, options);
    if (!signal.aborted) await countAll(options.connection, paths.nodes).then(learn, () => {});
  }
}

/** Waits up to twice the interval, so that not all nodes ask at the same time. */
async function waitLong(interval: Millis, { random, pause = sleep }: ClusterWatchOptions): Promise<void> {
  await pause(interval * (1 + random()));
}

/** Waits while the server does not answer. Undefined for EndpointSlices that may not be read, or do not exist. */
async function countOf(
  resource: WatchedResource,
  { connection, report }: ClusterWatchOptions,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (signal.aborted) return undefined;
  try {
    return await backOff(() => countAll(connection, paths[resource]), {
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
  } catch (error) {
    // Without the right to list, return 0, so that an informer begins: it will also be refused, and tries again.
    return isFinal(resource, refusalOfError(error).status) ? undefined : 0;
  }
}

function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}

function selectedBy(fieldSelector: string): ListOptions {
  return { fieldSelector, pageSize: undefined };
}

/** The opt-out is a label, so that the API server sends only Namespaces with it. */
const withOptOut: ListOptions = { labelSelector: `${auditOptOut.key}=${auditOptOut.value}`, pageSize: undefined };
