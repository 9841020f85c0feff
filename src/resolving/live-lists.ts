import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { type ChainIndex, createChainIndex } from './service-chains/chain-index.ts';
import { directoryOf, type EditableDirectory, type Remote } from './directory.ts';
import type { Node, Pod, Service } from './objects.ts';
import { createPodIndex } from './pod-index.ts';
import { createTombstones, type TombstoneLimits } from './tombstones.ts';

/** How long a Pod is in trouble for having been restarted. */
const recently: Millis = 600_000;

/** How long a Pod that is gone can still be found by its former addresses, for packets from before its end. */
export const defaultLiveLimits: TombstoneLimits = { age: 600_000, count: 4096 };

/**
 * What is known of a cluster right now, kept up to date by whoever watches it. `now` is this node's clock, the one that
 * stamps its log lines.
 */
export interface LiveLists {
  directory: EditableDirectory;
  /** Of its Services; whoever watches EndpointSlices gives them to it. */
  chains: ChainIndex;
  setPod: (pod: Pod, now: Millis) => void;
  removePod: (namespace: string, name: string, now: Millis) => void;
  setNode: (node: Node) => void;
  removeNode: (name: string) => void;
  setService: (service: Service, now: Millis) => void;
  removeService: (namespace: string, name: string, now: Millis) => void;
  /** The Pods that are on this node now. One with a restart in the last ten minutes is `restarting`. */
  podsHere: (now: Millis) => Pod[];
  /** Forgets tombstones that are too old. */
  sweep: (now: Millis) => void;
  readonly sizes: { pods: number; tombstones: number; nodes: number; services: number };
}

export function createLiveLists(
  ownNode: string,
  remote: Remote | undefined,
  limits: TombstoneLimits = defaultLiveLimits,
): LiveLists {
  const index = createPodIndex(ownNode);
  const pods = new Map<string, Pod>();
  const nodes = new Map<string, Node>();
  const tombstones = createTombstones<Pod, true>(limits, (pod) => {
    index.remove(pod);
    directory.changed('pods');
  });
  const chains = createChainIndex();
  let nodeList: Node[] | undefined;
  let serviceList: Service[] | undefined;
  const directory = directoryOf({
    pods: index,
    get nodes() {
      return (nodeList ??= [...nodes.values()]);
    },
    get services() {
      return (serviceList ??= [...chains.services.values()]);
    },
    remote,
  });

  return {
    directory,
    chains,
    get sizes() {
      return { pods: pods.size, tombstones: tombstones.size, nodes: nodes.size, services: chains.services.size };
    },
    setPod(pod, now) {
      const key = keyOf(pod.namespace, pod.name);
      const before = pods.get(key);
      const isSame = before?.uid === pod.uid;
      // What is seen now cannot have begun later: the clock that says so is ahead of ours.
      const from = before !== undefined && isSame ? before.from : Math.min(pod.from, now);
      // Evicted, or its node is gone: nobody tells its end, but it was seen to run.
      const until = before !== undefined && isSame && pod.until <= pod.from ? Math.min(before.until, now) : pod.until;
      const after = intern({ ...pod, from, until });
      if (before !== undefined) {
        if (before.uid === pod.uid && isSameTo(before, after)) {
          const { resourceVersion, running, trouble, restarted } = after;
          Object.assign(before, { resourceVersion, running, trouble, restarted } satisfies Partial<Pod>);
          return;
        }
        leave(before, after, now);
      }
      pods.set(key, after);
      index.add(after);
      directory.changed('pods');
    },
    removePod(namespace, name, now) {
      const key = keyOf(namespace, name);
      const before = pods.get(key);
      if (before === undefined) return;
      pods.delete(key);
      leave(before, undefined, now);
      directory.changed('pods');
    },
    setNode(node) {
      if (isEqual(nodes.get(node.name), node)) return;
      nodes.set(node.name, node);
      nodeList = undefined;
      directory.changed('nodes');
    },
    removeNode(name) {
      if (!nodes.delete(name)) return;
      nodeList = undefined;
      directory.changed('nodes');
    },
    setService(service, now) {
      const before = chains.services.get(keyOf(service.namespace, service.name));
      chains.setService(service, now);
      // The directory does not look at ports.
      if (before !== undefined && isEqual({ ...before, ports: service.ports }, service)) return;
      serviceList = undefined;
      directory.changed('services');
    },
    removeService(namespace, name, now) {
      if (!chains.services.has(keyOf(namespace, name))) return;
      chains.removeService(namespace, name, now);
      serviceList = undefined;
      directory.changed('services');
    },
    podsHere(now) {
      const here = [...pods.values()].filter((pod) => pod.node === ownNode);
      return here.map((pod) => (isRestartedAt(pod, now) ? Object.assign({}, pod, { trouble: 'restarting' }) : pod));
    },
    sweep(now) {
      chains.sweep(now);
      tombstones.sweep(now);
    },
  };

  /** A Pod as it was ends here: it stays known by the addresses and the interface that it had. */
  function leave(before: Pod, after: Pod | undefined, now: Millis): void {
    index.remove(before);
    const isSame = after?.uid === before.uid;
    // By what it kept it is found as it is now: it has not ended there.
    const lost = isSame ? before.addresses.filter((address) => !after?.addresses.includes(address)) : undefined;
    if (lost?.length === 0) return;
    if (before.hostNetwork || (before.addresses.length === 0 && before.node !== ownNode)) return;
    const past = { ...before, until: Math.min(before.until, now, isSame ? (after?.until ?? Infinity) : Infinity) };
    index.add(past, lost);
    tombstones.put(past, true, now);
  }
}

function isRestartedAt({ restarted }: Pod, now: Millis): boolean {
  return restarted !== undefined && restarted > now - recently;
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Equal in all that resolving looks at; status updates of a Pod change nothing else most of the time. */
function isSameTo(a: Pod, b: Pod): boolean {
  return (
    a.node === b.node &&
    a.hostNetwork === b.hostNetwork &&
    a.until === b.until &&
    a.role === b.role &&
    a.workload?.kind === b.workload?.kind &&
    a.workload?.name === b.workload?.name &&
    a.addresses.length === b.addresses.length &&
    a.addresses.every((address, i) => address === b.addresses[i])
  );
}

/** Nodes and Services are few fields of text and lists of text. The version is none of them. */
function isEqual<T extends { resourceVersion: string | undefined }>(a: T | undefined, b: T): boolean {
  return (
    a !== undefined && JSON.stringify({ ...a, resourceVersion: '' }) === JSON.stringify({ ...b, resourceVersion: '' })
  );
}

/**
 * The same few texts stand in thousands of Pods, each in a copy of its own as JSON.parse makes them. What is kept here outlives its
 * Pod: it is bounded by characters.
 */
const texts = new LRUCache<string, string>({ maxSize: 1 << 20, sizeCalculation: (text) => text.length || 1 });

function intern(pod: Pod): Pod {
  pod.namespace = once(pod.namespace);
  if (pod.node !== undefined) pod.node = once(pod.node);
  if (pod.workload)
    pod.workload = {
      kind: once(pod.workload.kind),
      namespace: once(pod.workload.namespace),
      name: once(pod.workload.name),
    };
  return pod;
}

function once(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  texts.set(text, text);
  return text;
}
