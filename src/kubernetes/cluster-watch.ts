/** Keeps the node agent's lists up to date with the API server. */
import { backOff } from 'exponential-backoff';
import { auditOptOut } from '../model/choices.ts';
import type { Millis } from '../model/log-line.ts';
import {
  createInformer,
  type Informer,
  type InformerOptions,
  type InformerProblem,
  type InformerReport,
  paths,
  retryIntervals,
  sleep,
  type WatchedResource,
} from './informer.ts';
import { countAll, type ListOptions } from './list-watch.ts';
import { refusalOfError } from './http.ts';
import type { Clock } from '../platform/clock.ts';
import { type LiveLists, onSteadyClock } from '../resolving/resolving.ts';
import type { Connection } from './connection.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService } from './slim.ts';

/** The agent is ready once it knows these kinds, because findings name their objects. */
const required = ['pods', 'nodes', 'services'] as const;

export interface ClusterWatchReport extends InformerReport {
  tooMany: (resource: WatchedResource, count: number, limit: number) => void;
}

export interface ClusterWatchOptions extends ListInformerOptions {
  ownNode: string;
  /** `node`: only the Pods of this node; `cluster`: all Pods. */
  podCache: 'node' | 'cluster';
  /**
   * A kind with more objects than this is not watched; of Nodes, only this node is watched then. With 0 EndpointSlices, they are not even
   * counted.
   */
  limits: { nodes: number; services: number; endpointSlices: number };
  report: ClusterWatchReport;
}

/** How long until Nodes that are not watched are counted again, or up to twice as long. */
const countInterval: Millis = 3_600_000;

/** How long until optional objects are asked for again, or up to twice as long. */
const optionalInterval: Millis = 600_000;

export type ClusterWatch = ReturnType<typeof createClusterWatch>;

export function createClusterWatch(options: ClusterWatchOptions) {
  const { limits, connection, lists, report, random, ownNode, podCache, pause = sleep } = options;
  let countedNodes = 1;
  const informers = new Map<WatchedResource, Informer>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const isSynced = (resource: WatchedResource): boolean => informers.get(resource)?.synced ?? false;

  return {
    informers: informers as ReadonlyMap<WatchedResource, Informer>,
    /** The number of Nodes: watched ones, or else the last count; 1 if unknown. */
    get nodeCount(): number {
      return Math.max(countedNodes, lists.directory.nodes.length);
    },
    /** Whether all required objects have been listed. */
    get synced(): boolean {
      return required.every(isSynced);
    },
    get missing(): readonly WatchedResource[] {
      return required.filter((resource) => !isSynced(resource));
    },
    /** Returns whether all objects of the kind are known. */
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

  function begin(resource: WatchedResource, of: ListOptions, given: ListInformerOptions = options): void {
    if (signal.aborted) return;
    informers.set(resource, informerOf(resource, of, given));
    informers.get(resource)?.start();
  }

  async function beginNodes(): Promise<void> {
    const count = (await countUpTo('nodes', limits.nodes, options, signal)) ?? 0;
    if (count <= limits.nodes) return begin('nodes', everything);
    countedNodes = count;
    begin('nodes', selectedBy(`metadata.name=${ownNode}`));
    while (!signal.aborted) {
      await pause(countInterval * (1 + random()));
      if (!signal.aborted) countedNodes = await countAll(connection, paths.nodes).catch(() => countedNodes);
    }
  }

  async function beginServices(): Promise<void> {
    const count = (await countUpTo('services', limits.services, options, signal)) ?? 0;
    if (count <= limits.services || signal.aborted) return begin('services', everything);
    informers.set('services', nothingToWatch);
    report.synced('services');
  }

  async function beginSlices(): Promise<void> {
    if (signal.aborted) return;
    const count = await countUpTo('endpointslices', limits.endpointSlices, options, signal);
    if (count === undefined) giveUpSlices();
    else if (count <= limits.endpointSlices)
      begin('endpointslices', everything, { ...options, report: { ...report, watchFailed: slicesFailed } });
  }

  function slicesFailed(resource: WatchedResource, problem: InformerProblem): void {
    report.watchFailed(resource, problem);
    if (isFinal(resource, problem.refusal?.status)) giveUpSlices();
  }

  /** Waits before the next attempt, because a server that has just started may refuse what it will grant a moment later. */
  function giveUpSlices(): void {
    informers.get('endpointslices')?.stop();
    informers.delete('endpointslices');
    void pause(optionalInterval * (1 + random())).then(beginSlices);
  }
}

/**
 * Counts objects, and reports more than `limit`. Returns undefined if optional objects may not be read or do not exist. Waits while the server
 * does not answer, because after a wrong guess all nodes of a large cluster would list all objects.
 */
async function countUpTo(
  resource: WatchedResource,
  limit: number,
  { connection, report }: ClusterWatchOptions,
  signal: AbortSignal,
): Promise<number | undefined> {
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
    return count;
  } catch (error) {
    // Without the right to list none is counted: the list will be refused, too, and is tried again.
    return isFinal(resource, refusalOfError(error).status) ? undefined : 0;
  }
}

/** Returns whether the refusal is final for now: optional objects that may not be read, or do not exist, are tried less often. */
function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}

function selectedBy(fieldSelector: string): ListOptions {
  return { fieldSelector, pageSize: undefined };
}

/** The opt-out is a label, so that the API server sends only Namespaces with it. */
const withOptOut: ListOptions = { labelSelector: `${auditOptOut.key}=${auditOptOut.value}`, pageSize: undefined };

const nothingToWatch: Informer = { start: () => {}, stop: () => {}, synced: true, lastHeard: undefined };

export interface ListInformerOptions {
  connection: Connection;
  lists: LiveLists;
  /** The labels to keep of each Pod; by default none. */
  podLabels?: readonly string[] | undefined;
  /** Receives the names of Namespaces that opted out of the audit; undefined if they are not watched. */
  optedOut?: Set<string> | undefined;
  report: InformerReport;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
}

/** Lists everything in pages, because 100 Pods are about 1.4 MB of JSON. */
export const everything: ListOptions = { pageSize: 100 };

export function informerOf(resource: WatchedResource, of: ListOptions, options: ListInformerOptions): Informer {
  const { connection, lists, podLabels, optedOut, report, clock, random, pause, silence } = options;
  const { now, fromWall } = clock;
  const common = { ...of, connection, resource, report, now, random, pause, silence };
  switch (resource) {
    case 'pods':
      return createInformer({
        ...common,
        slim: (object) => onSteadyClock(slimPod(object, podLabels), fromWall),
        store: {
          set: (pod) => lists.setPod(pod, now()),
          delete: (namespace, name) => lists.removePod(namespace, name, now()),
        },
      });
    case 'nodes':
      return createInformer({
        ...common,
        slim: slimNode,
        store: { set: (node) => lists.setNode(node), delete: (_, name) => lists.removeNode(name) },
      });
    case 'services':
      return createInformer({
        ...common,
        slim: slimService,
        store: {
          set: (service) => lists.setService(service, now()),
          delete: (namespace, name) => lists.removeService(namespace, name, now()),
        },
      });
    case 'endpointslices':
      return createInformer({
        ...common,
        slim: slimEndpointSlice,
        store: {
          set: (slice) => lists.chains.setSlice(slice, now()),
          delete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
        },
      });
    case 'namespaces':
      return createInformer({
        ...common,
        slim: slimNamespace,
        store: { set: ({ name }) => optedOut?.add(name), delete: (_, name) => optedOut?.delete(name) },
      });
    default:
      return resource satisfies never;
  }
}
