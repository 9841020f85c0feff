import type { Connection } from '../kubernetes/connection.ts';
import { createInformer, type InformerProblem } from '../kubernetes/informer.ts';
import { onSteadyClock } from '../resolving/pod-record.ts';
import { slimNode, slimPod } from '../kubernetes/slim.ts';
import type { Clock } from '../platform/clock.ts';
import { createLiveLists, type LiveLists } from '../resolving/live-lists.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';

type Watched = 'pods' | 'nodes';

export interface PodWatchOptions {
  connection: Connection;
  onProblem: (resource: Watched, problem: InformerProblem) => void;
  onSynced: (resource: Watched) => void;
  onUnusable: (resource: Watched, error: unknown) => void;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
}

/** All Pods and Nodes of the cluster, and for ten minutes the Pods that were. */
export interface PodWatch {
  lists: LiveLists;
  start: () => void;
  stop: () => void;
  sweep: () => void;
  /** The lists are complete. */
  readonly synced: boolean;
  collect: (metrics: Metrics, clock: Pick<Clock, 'toWall'>) => void;
}

/** Pages of a list: 100 Pods are about 1.4 MB of JSON. */
const pageSize = 100;

/** 10,000 Pods that change in a minute stay known for ten. */
const limits = { age: 600_000, count: 100_000 };

export function createPodWatch(options: PodWatchOptions): PodWatch {
  const { clock, onProblem, onSynced, onUnusable } = options;
  const { now } = clock;
  const lists = createLiveLists('', undefined, limits);
  const pods = createInformer({
    ...common('pods'),
    slim: (object) => onSteadyClock(slimPod(object), clock.fromWall),
    onSet: (pod) => lists.setPod(pod, now()),
    onDelete: (namespace, name) => lists.removePod(namespace, name, now()),
  });
  const nodes = createInformer({
    ...common('nodes'),
    slim: slimNode,
    onSet: (node) => lists.setNode(node),
    onDelete: (_, name) => lists.removeNode(name),
  });
  const informers = { pods, nodes };

  return {
    lists,
    start() {
      for (const informer of Object.values(informers)) informer.start();
    },
    stop() {
      for (const informer of Object.values(informers)) informer.stop();
    },
    sweep: () => lists.sweep(now()),
    get synced() {
      return pods.synced && nodes.synced;
    },
    collect({ cachedObjects, tombstones, watchLastHeard }, { toWall }) {
      cachedObjects.set(lists.sizes.pods, { resource: 'pods' });
      cachedObjects.set(lists.sizes.nodes, { resource: 'nodes' });
      tombstones.set(lists.sizes.tombstones);
      for (const [resource, { lastHeard }] of Object.entries(informers))
        if (lastHeard !== undefined) watchLastHeard.set(toWall(lastHeard) / 1000, { resource });
    },
  };

  function common(resource: Watched) {
    return {
      connection: options.connection,
      path: `/api/v1/${resource}`,
      pageSize,
      now,
      random: options.random,
      onProblem: (problem: InformerProblem) => onProblem(resource, problem),
      onSynced: () => onSynced(resource),
      onUnusable: (error: unknown) => onUnusable(resource, error),
    };
  }
}

/** Who has an address, or had it in the last minutes: the Pods, and the node whose own it is. */
export function ownersIn(lists: Pick<LiveLists, 'directory' | 'podsByAddress'>, address: string): Owners {
  const pods = lists.podsByAddress(address).filter(({ uid }) => uid !== '');
  // A tombstone has the addresses that its Pod had at its end, which need not have this one among them.
  const having = pods.map((pod) =>
    pod.addresses.includes(address) ? pod : Object.assign({}, pod, { addresses: [address] }),
  );
  return { pods: having, node: having.length > 0 ? undefined : lists.directory.nodeOfHost(address)?.name };
}
