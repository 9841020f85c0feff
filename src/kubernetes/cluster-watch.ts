import { backOff } from 'exponential-backoff';
import type { Millis } from '../model/log-line.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection, RefusedError } from './connection.ts';
import { createInformer, type Informer, type InformerTrouble, retryIntervals } from './informer.ts';
import { countAll } from './paged-list.ts';
import { slimEndpointSlice, slimNode, slimPod, slimService } from './slim.ts';

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
  /**
   * Nodes, Services or EndpointSlices are watched only where there are no more of them; of Nodes then only our own. EndpointSlices
   * are not even counted where their limit is 0.
   */
  limits: { nodes: number; services: number; endpointSlices: number };
  onTrouble: (resource: WatchedResource, trouble: InformerTrouble) => void;
  /** A list is complete, or a watch goes on. */
  onSynced: (resource: WatchedResource) => void;
  onUnusable: (resource: WatchedResource, error: unknown) => void;
  /** There are too many of them to be watched from every node. */
  onTooMany: (resource: WatchedResource, count: number, limit: number) => void;
  now: () => Millis;
  random: () => number;
}

export interface ClusterWatch {
  start: () => void;
  stop: () => void;
  /** Everything that has to be known is known for the first time. EndpointSlices need not be. */
  readonly synced: boolean;
  /** What is not. */
  readonly missing: readonly WatchedResource[];
  /** It is, and what there is of it is known: nothing of it has to be looked up. */
  watches: (resource: WatchedResource) => boolean;
  readonly informers: ReadonlyMap<WatchedResource, Informer>;
}

/** Pages of a list that may be long: 100 Pods are about 1.4 MB of JSON. */
const pageSize = 100;

/** Keeps the lists of a node's agent as they are at the API server. */
export function createClusterWatch(options: ClusterWatchOptions): ClusterWatch {
  const { connection, lists, ownNode, podCache, limits, now } = options;
  const informers = new Map<WatchedResource, Informer>();
  let stopped = false;

  return {
    informers,
    get synced() {
      return required.every(isSynced);
    },
    get missing() {
      return required.filter((resource) => !isSynced(resource));
    },
    watches: (resource) => isSynced(resource) && informers.get(resource) !== nothingToWatch,
    start() {
      add('pods', pods());
      void whereFew('nodes', limits.nodes).then((few) => add('nodes', nodes(few)));
      void whereFew('services', limits.services).then((few) => add('services', few ? services() : undefined));
      if (limits.endpointSlices > 0)
        void whereFew('endpointslices', limits.endpointSlices).then(
          (few) => few && add('endpointslices', endpointSlices()),
        );
    },
    stop() {
      stopped = true;
      for (const informer of informers.values()) informer.stop();
    },
  };

  function isSynced(resource: WatchedResource): boolean {
    return informers.get(resource)?.synced ?? false;
  }

  function add(resource: WatchedResource, informer: Informer | undefined): void {
    if (stopped) return;
    if (informer === undefined) {
      informers.set(resource, nothingToWatch);
      return options.onSynced(resource);
    }
    informers.set(resource, informer);
    informer.start();
  }

  function pods(): Informer {
    return createInformer({
      ...common('pods'),
      slim: slimPod,
      ...(podCache === 'node'
        ? { fieldSelector: `spec.nodeName=${ownNode}`, pageSize: undefined }
        : { fieldSelector: undefined, pageSize }),
      onSet: (pod) => lists.setPod(pod, now()),
      onDelete: (namespace, name) => lists.removePod(namespace, name, now()),
    });
  }

  function nodes(all: boolean): Informer {
    return createInformer({
      ...common('nodes'),
      slim: slimNode,
      fieldSelector: all ? undefined : `metadata.name=${ownNode}`,
      pageSize: all ? pageSize : undefined,
      onSet: (node) => lists.setNode(node),
      onDelete: (_, name) => lists.removeNode(name),
    });
  }

  function services(): Informer {
    return createInformer({
      ...common('services'),
      slim: slimService,
      pageSize,
      onSet: (service) => lists.setService(service, now()),
      onDelete: (namespace, name) => lists.removeService(namespace, name, now()),
    });
  }

  function endpointSlices(): Informer {
    return createInformer({
      ...common('endpointslices'),
      slim: slimEndpointSlice,
      pageSize,
      onSet: (slice) => lists.chains.setSlice(slice, now()),
      onDelete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
      onTrouble(trouble) {
        options.onTrouble('endpointslices', trouble);
        if (isFinal('endpointslices', trouble.refusal?.status)) giveUp('endpointslices');
      },
    });
  }

  function giveUp(resource: WatchedResource): void {
    const informer = informers.get(resource);
    informers.delete(resource);
    informer?.stop();
  }

  function common(resource: WatchedResource) {
    return {
      connection,
      path: paths[resource],
      now,
      random: options.random,
      onTrouble: (trouble: InformerTrouble) => options.onTrouble(resource, trouble),
      onSynced: () => options.onSynced(resource),
      onUnusable: (error: unknown) => options.onUnusable(resource, error),
    };
  }

  /** Waits for a server that is away: guessing wrong would make every node of a large cluster list them all. */
  async function whereFew(resource: WatchedResource, limit: number): Promise<boolean> {
    const count = await backOff(() => countAll(connection, paths[resource]), {
      ...retryIntervals,
      jitter: 'full',
      numOfAttempts: Number.MAX_SAFE_INTEGER,
      retry: (error) => {
        if (stopped) return false;
        const { refusal } = error as RefusedError;
        options.onTrouble(resource, { verb: 'list', refusal });
        if (refusal.status === 401) connection.reload();
        return refusal.status !== 403 && !isFinal(resource, refusal.status);
      },
    }).catch((error: unknown) => (isFinal(resource, (error as RefusedError).refusal.status) ? undefined : 0));
    if (count === undefined) return false;
    if (count > limit) options.onTooMany(resource, count, limit);
    return count <= limit;
  }
}

/** Who may not read what is of use only now and then, or runs an API server that has none of it, does not go on asking for it. */
function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}

const nothingToWatch: Informer = {
  start: () => {},
  stop: () => {},
  synced: true,
  lastHeard: undefined,
};
