import type { Millis } from '../model/log-line.ts';
import { type ChainIndex, createChainIndex } from './service-chains/chain-index.ts';
import { directoryOf, type EditableDirectory, type Remote } from './directory.ts';
import type { KeptPods } from './kept-pods.ts';
import { createLivePods } from './live-pods.ts';
import { isEqual, keyOf, type Node, type Pod, type Service } from './objects.ts';
import type { TombstoneLimits } from './tombstones.ts';

/** How long a Pod that is gone can still be found by its former addresses, for packets from before its end. */
export const defaultLiveLimits: TombstoneLimits = { age: 600_000, count: 4096 };

/** What is known of a cluster right now, kept up to date by whoever watches it. `now` is the clock of log lines. */
export interface LiveLists {
  directory: EditableDirectory;
  /** Of its Services; whoever watches EndpointSlices gives them to it. */
  chains: ChainIndex;
  setPod: (pod: Pod, now: Millis) => void;
  removePod: (namespace: string, name: string, now: Millis) => void;
  /** The list of Pods is complete. */
  podsListed: () => void;
  setNode: (node: Node) => void;
  removeNode: (name: string) => void;
  setService: (service: Service, now: Millis) => void;
  removeService: (namespace: string, name: string, now: Millis) => void;
  /** The Pods that have an address, and those that had it in the last minutes. */
  podsByAddress: (address: string) => readonly Pod[];
  /** The Pods that are on this node now. One with a restart in the last ten minutes is `restarting`. */
  podsHere: (now: Millis) => Pod[];
  sweep: (now: Millis) => void;
  readonly sizes: { pods: number; tombstones: number; nodes: number; services: number };
}

export function createLiveLists(
  ownNode: string,
  remote: Remote | undefined,
  limits = defaultLiveLimits,
  kept?: KeptPods,
): LiveLists {
  const pods = createLivePods(ownNode, limits, () => directory.changed('pods'));
  const nodes = new Map<string, Node>();
  const chains = createChainIndex();
  const directory = directoryOf({
    pods: pods.index,
    earlier: kept?.earlier,
    nodes: () => nodes.values(),
    services: () => chains.services.values(),
    remote,
  });

  return {
    directory,
    chains,
    get sizes() {
      return { ...pods.sizes, nodes: nodes.size, services: chains.services.size };
    },
    setPod(pod, now) {
      kept?.set(pod);
      pods.set(pod, now);
    },
    removePod(namespace, name, now) {
      kept?.remove(namespace, name);
      pods.remove(namespace, name, now);
    },
    podsListed() {
      if (kept?.endEarlier() === true) directory.changed('pods');
    },
    setNode(node) {
      if (isSame(nodes.get(node.name), node)) return;
      nodes.set(node.name, node);
      directory.changed('nodes');
    },
    removeNode(name) {
      if (nodes.delete(name)) directory.changed('nodes');
    },
    setService(service, now) {
      const before = chains.services.get(keyOf(service.namespace, service.name));
      chains.setService(service, now);
      if (!isSame(before, service)) directory.changed('services');
    },
    removeService(namespace, name, now) {
      if (!chains.services.has(keyOf(namespace, name))) return;
      chains.removeService(namespace, name, now);
      directory.changed('services');
    },
    podsByAddress: (address) => pods.index.byAddress(address) ?? [],
    podsHere: (now) => pods.here(now),
    sweep(now) {
      chains.sweep(now);
      pods.sweep(now);
      if (kept?.sweep() === true) directory.changed('pods');
    },
  };
}

/** Nodes and Services are few fields of text and lists of text. The version is none of them. */
function isSame<T extends Node | Service>(a: T | undefined, b: T): boolean {
  return isEqual(a && { ...a, resourceVersion: b.resourceVersion }, b);
}
