import { everything, informerOf, type ListInformerOptions } from '../kubernetes/cluster-informers.ts';
import type { Clock } from '../platform/clock.ts';
import { createLiveLists, type LiveLists } from '../resolving/live-lists.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** 10,000 Pods that change in a minute stay known for ten. */
const limits = { age: 600_000, count: 100_000 };

/** Keeps all Pods and Nodes of the cluster, and for ten minutes the Pods that were. */
export function createPodWatch(options: Omit<ListInformerOptions, 'lists'>) {
  const { now } = options.clock;
  const lists = createLiveLists('', undefined, limits);
  const resources = ['pods', 'nodes'] as const;
  const informers = resources.map((resource) => informerOf(resource, everything, { ...options, lists }));

  return {
    lists,
    start(): void {
      for (const informer of informers) informer.start();
    },
    stop(): void {
      for (const informer of informers) informer.stop();
    },
    sweep: (): void => lists.sweep(now()),
    /** The lists are complete. */
    get synced(): boolean {
      return informers.every(({ synced }) => synced);
    },
    collect({ cachedObjects, tombstones, watchLastHeard }: Metrics, { toWall }: Pick<Clock, 'toWall'>): void {
      tombstones.set(lists.sizes.tombstones);
      for (const [index, resource] of resources.entries()) {
        cachedObjects.set(lists.sizes[resource], { resource });
        const lastHeard = informers[index]?.lastHeard;
        if (lastHeard !== undefined) watchLastHeard.set(toWall(lastHeard) / 1000, { resource });
      }
    },
  };
}

/** Finds the owners of an address, now and in the last minutes: Pods, or the node whose own it is. */
export function ownersIn(lists: Pick<LiveLists, 'directory' | 'podsByAddress'>, address: string): Owners {
  const pods = lists.podsByAddress(address).filter(({ uid }) => uid !== '');
  // A tombstone has the addresses that its Pod had at its end, which need not have this one among them.
  const having = pods.map((pod) =>
    pod.addresses.includes(address) ? pod : Object.assign({}, pod, { addresses: [address] }),
  );
  return { pods: having, node: having.length > 0 ? undefined : lists.directory.nodeOfHost(address)?.name };
}
