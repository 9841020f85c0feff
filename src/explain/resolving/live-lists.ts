import type { Millis } from '../../base/model/log-line.ts';
import { type ChainIndex, createChainIndex, defaultChainLimits } from './service-chains/chain-index.ts';
import { endpointFinderOf, type Lists, type LiveEndpointFinder } from './endpoint-finder.ts';
import type { KeptPods } from './kept-pods.ts';
import { createLeftOutAddresses, type LeftOutAddresses } from './left-out-addresses.ts';
import { createInterner, isEqual, namespacedName, type Node, type Pod, type Service } from './objects.ts';
import { createTombstones, type TombstoneLimits, type TombstoneOptions } from './tombstones.ts';
import { type MemoryBudget, unlimitedMemory } from '../../base/platform/memory-budget.ts';
import type { Bytes } from '../../base/platform/weight.ts';
import { weightOfPod } from './object-weights.ts';
import { type Workload, workloadKey } from '../../base/model/endpoint.ts';
import { createPodIndex } from './pod-index.ts';

/** Limits the age and number of deleted Pods that are still found by address, for packets from before their end. */
export const defaultLiveLimits: TombstoneLimits = { age: 600_000, count: 4096 };

export interface LiveLists {
  readonly endpoints: LiveEndpointFinder;
  readonly ownNode: string;
  readonly podNamed: (namespace: string, name: string) => Pod | undefined;
  /** The watch of EndpointSlices fills this index. */
  readonly chains: ChainIndex;
  /** Weighs every object before it is set here. */
  readonly memory: MemoryBudget;
  readonly leftOut: LeftOutAddresses;
  readonly sizes: { pods: number; tombstones: number; nodes: number; services: number };
  setPod(pod: Pod, now: Millis): void;
  removePod(namespace: string, name: string, now: Millis): void;
  /** Remove existing objects, so that the owners of their addresses are unknown. */
  leaveOutPod: (namespace: string, name: string, latest?: Pod) => void;
  leaveOutService: (namespace: string, name: string, latest?: Service) => void;
  podsListed(): void;
  setNode: (node: Node) => void;
  removeNode: (name: string) => void;
  setService(service: Service, now: Millis): void;
  removeService(namespace: string, name: string, now: Millis): void;
  weightOfPod: (pod: Pod) => Bytes;
  /** Returns the Pods that have an address, or had it within `limits.age`. */
  podsByAddress: (address: string) => readonly Pod[];
  /** Returns the Pods of this node. A Pod that restarted in the last ten minutes counts as `restarting`. */
  podsHere: (now: Millis) => Pod[];
  sweep(now: Millis): void;
}

/** Keeps the present objects of a cluster. Methods take `now` by the clock of log lines. */
export function createLiveLists(
  ownNode: string,
  remote: Lists['remote'],
  limits = defaultLiveLimits,
  kept?: KeptPods,
  memory = unlimitedMemory(),
): LiveLists {
  const pods = createLivePods(ownNode, { ...limits, memory }, () => endpoints.changed('pods'));
  const nodes = createLiveNodes(() => endpoints.changed('nodes'));
  const chains = createChainIndex(defaultChainLimits, memory);
  const leftOut = createLeftOutAddresses(() => isMissingAny(memory));
  const endpoints = endpointFinderOf({
    pods: pods.index,
    earlier: kept?.earlier,
    nodes: () => nodes.all.values(),
    services: () => chains.services.values(),
    remote,
    whyUnknown: leftOut.whyUnknown,
  });

  return {
    endpoints,
    ownNode,
    podNamed: pods.named,
    chains,
    memory,
    leftOut,
    get sizes(): { pods: number; tombstones: number; nodes: number; services: number } {
      return { ...pods.sizes, nodes: nodes.all.size, services: chains.services.size };
    },
    setPod(pod: Pod, now: Millis): void {
      kept?.set(pod);
      pods.set(pod, now);
    },
    removePod(namespace: string, name: string, now: Millis): void {
      kept?.remove(namespace, name);
      pods.remove(namespace, name, now);
    },
    leaveOutPod(this: void, namespace: string, name: string, latest?: Pod): void {
      for (const pod of [pods.named(namespace, name), latest]) leftOut.add(pod?.addresses ?? []);
      kept?.remove(namespace, name);
      pods.leaveOut(namespace, name);
    },
    leaveOutService(this: void, namespace: string, name: string, latest?: Service): void {
      const known = chains.services.get(namespacedName(namespace, name));
      for (const service of [known, latest]) leftOut.add(service?.addresses ?? []);
      chains.leaveOutService(namespace, name);
      endpoints.changed(known === undefined ? 'left-out' : 'services');
    },
    podsListed(): void {
      kept?.endEarlier();
      endpoints.changed('pods');
    },
    setNode: nodes.set,
    removeNode: nodes.remove,
    setService(service: Service, now: Millis): void {
      const before = chains.services.get(namespacedName(service.namespace, service.name));
      chains.setService(service, now);
      if (!isSame(before, service)) endpoints.changed('services');
    },
    removeService(namespace: string, name: string, now: Millis): void {
      if (!chains.services.has(namespacedName(namespace, name))) return;
      chains.removeService(namespace, name, now);
      endpoints.changed('services');
    },
    weightOfPod: (pod: Pod): Bytes => weightOfPod(pod, pod.node === ownNode),
    podsByAddress: (address: string): readonly Pod[] => pods.index.byAddress(address) ?? [],
    podsHere: (now: Millis): Pod[] => pods.here(now),
    sweep(now: Millis): void {
      chains.sweep(now);
      pods.sweep(now);
      if (kept?.sweep() === true) endpoints.changed('pods');
    },
  };
}

function createLiveNodes(onChange: () => void) {
  const nodes = new Map<string, Node>();
  return {
    all: nodes as ReadonlyMap<string, Node>,
    set(this: void, node: Node): void {
      if (isSame(nodes.get(node.name), node)) return;
      nodes.set(node.name, node);
      onChange();
    },
    remove(this: void, name: string): void {
      if (nodes.delete(name)) onChange();
    },
  };
}

/** Whether there are Pods or Services for which memory has no room. */
function isMissingAny({ accounts }: MemoryBudget): boolean {
  for (const { resource, leftOut } of accounts)
    if (leftOut > 0 && (resource === 'pods' || resource === 'services')) return true;
  return false;
}

function isSame<T extends Node | Service>(a: T | undefined, b: T): boolean {
  return isEqual(a && { ...a, resourceVersion: b.resourceVersion }, b);
}

const recently: Millis = 600_000;

function createLivePods(
  ownNode: string,
  limits: TombstoneLimits & Pick<TombstoneOptions<Pod>, 'memory'>,
  onChange: () => void,
) {
  const index = createPodIndex(ownNode);
  const pods = new Map<string, Pod>();
  const tombstones = createTombstones<Pod>({
    ...limits,
    namespaceOf: ({ namespace }) => namespace,
    weigh: (pod) => weightOfPod(pod, pod.node === ownNode),
    onForgotten(pod) {
      index.remove(pod);
      onChange();
    },
  });
  let buried = 0;

  return {
    index,
    get sizes(): { pods: number; tombstones: number } {
      return { pods: pods.size, tombstones: tombstones.size };
    },
    set(pod: Pod, now: Millis): void {
      const key = namespacedName(pod.namespace, pod.name);
      const before = pods.get(key);
      const after = seen(pod, before, now);
      const { resourceVersion, running, problem, restarted, policyView } = after;
      const status = { resourceVersion, running, problem, restarted, policyView } satisfies Partial<Pod>;
      // Most updates change only the status, which the index does not use.
      if (before !== undefined && isEqual({ ...before, ...status }, after)) {
        Object.assign(before, status);
        return;
      }
      if (before !== undefined) leave(before, after, now);
      pods.set(key, after);
      index.add(after);
      onChange();
    },
    remove(namespace: string, name: string, now: Millis): void {
      const key = namespacedName(namespace, name);
      const before = pods.get(key);
      if (before === undefined) return;
      pods.delete(key);
      leave(before, undefined, now);
      onChange();
    },
    leaveOut(namespace: string, name: string): void {
      const pod = pods.get(namespacedName(namespace, name));
      pods.delete(namespacedName(namespace, name));
      if (pod !== undefined) index.remove(pod);
      onChange();
    },
    named: (namespace: string, name: string): Pod | undefined => pods.get(namespacedName(namespace, name)),
    here(now: Millis): Pod[] {
      const here = [...pods.values()].filter((pod) => pod.node === ownNode);
      return here.map((pod) =>
        (pod.restarted ?? -Infinity) > now - recently ? Object.assign({}, pod, { problem: 'restarting' }) : pod,
      );
    },
    sweep: tombstones.sweep,
  };

  /** Keeps the former state of the Pod, so that its old addresses and interface still find it. */
  function leave(before: Pod, after: Pod | undefined, now: Millis): void {
    index.remove(before);
    const isSamePod = after?.uid === before.uid;
    // An address that the Pod still has leads to its new state.
    const lost = isSamePod ? before.addresses.filter((address) => !after?.addresses.includes(address)) : undefined;
    if (lost?.length === 0 || before.hostNetwork || (before.addresses.length === 0 && before.node !== ownNode)) return;
    const past = {
      ...before,
      policyView: undefined,
      until: Math.min(before.until, now, isSamePod ? (after?.until ?? Infinity) : Infinity),
    };
    index.add(past, lost);
    tombstones.put(String(buried++), past, now);
  }
}

function seen(pod: Pod, before: Pod | undefined, now: Millis): Pod {
  const same = before?.uid === pod.uid ? before : undefined;
  return {
    ...pod,
    namespace: intern(pod.namespace, pod.namespace),
    node: pod.node && intern(pod.node, pod.node),
    workload: pod.workload && internWorkload(workloadKey(pod.workload), pod.workload),
    labels: pod.labels && intern(pod.labels, pod.labels),
    ports: pod.ports && intern(pod.ports, pod.ports),
    // The Pod exists now, even if it seems to begin later because its node's clock is ahead.
    from: same?.from ?? Math.min(pod.from, now),
    // If a Pod was evicted or its node is gone, no container has an end time. But the Pod did run, so it ends now.
    until: same !== undefined && pod.until <= pod.from ? Math.min(same.until, now) : pod.until,
  };
}

const intern = createInterner<string>();
const internWorkload = createInterner<Workload>();
