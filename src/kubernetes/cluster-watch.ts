import { backOff } from 'exponential-backoff';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection, RefusedError } from './connection.ts';
import {
  createInformer,
  type Informer,
  type InformerOptions,
  type InformerProblem,
  retryIntervals,
  sleep,
} from './informer.ts';
import { countAll } from './paged-list.ts';
import { onSteadyClock, slimEndpointSlice, slimNode, slimPod, slimService } from './slim.ts';

/** What Findings are made of: the agent is not ready without. */
const required = ['pods', 'nodes', 'services'] as const;

const paths = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const;

export type WatchedResource = keyof typeof paths;

export interface ClusterWatchOptions {
  connection: Connection;
  lists: LiveLists;
  ownNode: string;
  /** `node`: the Pods of this node; `cluster`: all Pods. */
  podCache: 'node' | 'cluster';
  /** Watched only where there are no more; of Nodes then only our own. EndpointSlices are not even counted where it is 0. */
  limits: { nodes: number; services: number; endpointSlices: number };
  onProblem: (resource: WatchedResource, problem: InformerProblem) => void;
  onSynced: (resource: WatchedResource) => void;
  onUnusable: (resource: WatchedResource, error: unknown) => void;
  onTooMany: (resource: WatchedResource, count: number, limit: number) => void;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  /** As of an informer. */
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
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

/** Pages of a list that may be long: 100 Pods are about 1.4 MB of JSON. */
const pageSize = 100;

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

/** Hands one kind of object to the lists. `all`: not only our own Node. */
function informerOf(
  resource: WatchedResource,
  all: boolean,
  {
    connection,
    lists,
    ownNode,
    podCache,
    clock: { now, fromWall },
    random,
    pause,
    silence,
    ...on
  }: ClusterWatchOptions,
  giveUp: () => void,
): Informer {
  const common = {
    connection,
    path: paths[resource],
    now,
    random,
    pause,
    silence,
    onProblem(problem: InformerProblem) {
      on.onProblem(resource, problem);
      if (isFinal(resource, problem.refusal?.status)) giveUp();
    },
    onSynced: () => on.onSynced(resource),
    onUnusable: (error: unknown) => on.onUnusable(resource, error),
  };
  switch (resource) {
    case 'pods':
      return createInformer({
        ...common,
        ...(podCache === 'node' ? selection(`spec.nodeName=${ownNode}`) : everything),
        slim: (object) => onSteadyClock(slimPod(object), fromWall),
        onSet: (pod) => lists.setPod(pod, now()),
        onDelete: (namespace, name) => lists.removePod(namespace, name, now()),
      });
    case 'nodes':
      return createInformer({
        ...common,
        ...(all ? everything : selection(`metadata.name=${ownNode}`)),
        slim: slimNode,
        onSet: (node) => lists.setNode(node),
        onDelete: (_, name) => lists.removeNode(name),
      });
    case 'services':
      return createInformer({
        ...common,
        ...everything,
        slim: slimService,
        onSet: (service) => lists.setService(service, now()),
        onDelete: (namespace, name) => lists.removeService(namespace, name, now()),
      });
    case 'endpointslices':
      return createInformer({
        ...common,
        ...everything,
        slim: slimEndpointSlice,
        onSet: (slice) => lists.chains.setSlice(slice, now()),
        onDelete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
      });
    default:
      return resource satisfies never;
  }
}

const everything = { pageSize };

function selection(fieldSelector: string) {
  return { fieldSelector, pageSize: undefined };
}

/** Undefined where it may not be known. Waits for a server that is away: guessing wrong would make every node of a large cluster list them all. */
async function isFew(
  resource: WatchedResource,
  limit: number,
  { connection, onProblem, onTooMany }: ClusterWatchOptions,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const count = await backOff(() => countAll(connection, paths[resource]), {
    ...retryIntervals,
    jitter: 'full',
    numOfAttempts: Number.MAX_SAFE_INTEGER,
    retry: (error) => {
      if (signal.aborted) return false;
      const { refusal } = error as RefusedError;
      onProblem(resource, { verb: 'list', refusal });
      if (refusal.status === 401) connection.reload();
      return refusal.status !== 403 && !isFinal(resource, refusal.status);
    },
  }).catch((error: unknown) => (isFinal(resource, (error as RefusedError).refusal.status) ? undefined : 0));
  if (count === undefined) return undefined;
  if (count > limit) onTooMany(resource, count, limit);
  return count <= limit;
}

/** Who may not read what is of use only now and then, or runs an API server that has none of it, does not ask for it all the time. */
function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}

/** After that long, or up to twice that, what is of use only now and then is asked for again. */
const optionalInterval = 600_000;

const nothingToWatch: Informer = { start: () => {}, stop: () => {}, synced: true, lastHeard: undefined };
