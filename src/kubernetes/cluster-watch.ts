import { backOff } from 'exponential-backoff';
import type { Millis } from '../model.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection } from './connection.ts';
import { createInformer, type Informer, type InformerTrouble, patience } from './informer.ts';
import { countAll, type RefusedError } from './paged-list.ts';
import { slimNode, slimPod, slimService } from './slim.ts';

const resources = ['pods', 'nodes', 'services'] as const;

export type WatchedResource = (typeof resources)[number];

export interface ClusterWatchOptions {
  connection: Connection;
  lists: LiveLists;
  ownNode: string;
  /** `node`: the Pods of this node; `cluster`: all Pods. */
  podCache: 'node' | 'cluster';
  /** Nodes or Services are watched only where there are no more of them; of Nodes then only our own. */
  limits: { nodes: number; services: number };
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
  stop: () => Promise<void>;
  /** Everything that is watched is known for the first time. */
  readonly synced: boolean;
  /** What is not. */
  readonly missing: readonly WatchedResource[];
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
      return resources.every(isSynced);
    },
    get missing() {
      return resources.filter((resource) => !isSynced(resource));
    },
    start() {
      add('pods', pods());
      void whereFew('nodes', limits.nodes).then((few) => add('nodes', nodes(few)));
      void whereFew('services', limits.services).then((few) => add('services', few ? services() : undefined));
    },
    async stop() {
      stopped = true;
      await Promise.all([...informers.values()].map((informer) => informer.stop()));
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
      path: '/api/v1/pods',
      slim: slimPod,
      ...(podCache === 'node'
        ? { fieldSelector: `spec.nodeName=${ownNode}`, pageSize: undefined }
        : { fieldSelector: undefined, pageSize }),
      onSet: (pod) => lists.setPod(pod, now()),
      onDelete: ({ namespace, name }) => lists.removePod(namespace, name, now()),
    });
  }

  function nodes(all: boolean): Informer {
    return createInformer({
      ...common('nodes'),
      path: '/api/v1/nodes',
      slim: slimNode,
      fieldSelector: all ? undefined : `metadata.name=${ownNode}`,
      pageSize: all ? pageSize : undefined,
      onSet: (node) => lists.setNode(node),
      onDelete: ({ name }) => lists.removeNode(name),
    });
  }

  function services(): Informer {
    return createInformer({
      ...common('services'),
      path: '/api/v1/services',
      slim: slimService,
      pageSize,
      onSet: (service) => lists.setService(service),
      onDelete: ({ namespace, name }) => lists.removeService(namespace, name),
    });
  }

  function common(resource: WatchedResource) {
    return {
      connection,
      now,
      random: options.random,
      onTrouble: (trouble: InformerTrouble) => options.onTrouble(resource, trouble),
      onSynced: () => options.onSynced(resource),
      onUnusable: (error: unknown) => options.onUnusable(resource, error),
    };
  }

  /** Waits for a server that is away: guessing wrong would make every node of a large cluster list them all. */
  async function whereFew(resource: WatchedResource, limit: number): Promise<boolean> {
    const count = await backOff(() => countAll(connection, `/api/v1/${resource}`), {
      ...patience,
      retry: (error) => {
        const { refusal } = error as RefusedError;
        options.onTrouble(resource, { verb: 'list', refusal });
        if (refusal.status === 401) connection.reload();
        return !stopped && refusal.status !== 403;
      },
    }).catch(() => 0);
    if (count > limit) options.onTooMany(resource, count, limit);
    return count <= limit;
  }
}

const nothingToWatch: Informer = {
  start: () => {},
  stop: () => Promise.resolve(),
  synced: true,
  lastHeard: undefined,
};
