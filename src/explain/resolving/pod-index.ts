import { createHash } from 'node:crypto';
import { type Endpoint, objectKey } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createGroups } from '../../base/platform/groups.ts';
import { addressOnly, nodeEndpoint, podEndpoint } from './endpoints.ts';
import type { Node, Pod } from './objects.ts';
import { createPodChanges, timeTolerance } from './pod-changes.ts';

/** Finds present and past Pods by address, interface or name. Several Pods may have had the same address one after the other. */
export interface PodIndex {
  readonly ownNode: string | undefined;
  readonly size: number;
  /** `lost`: addresses that an existing Pod no longer has; only these lead to this entry. */
  add(pod: Pod, lost?: readonly string[]): void;
  remove(pod: Pod): void;
  byAddress: (address: string) => readonly Pod[] | undefined;
  byInterface: (name: string) => readonly Pod[] | undefined;
  /** Returns the Pods named `shop/web-0`, or those that share the `generateName` in `shop/web-*`. */
  byName: (name: string) => readonly Pod[];
  /** Returns the time span around `time` in which no Pod gets or loses an address. */
  epoch(time: Millis): { from: Millis; until: Millis };
}

/** `ownNode`: the only node whose Pods are found by interface; undefined: all nodes, for saved logs. */
export function createPodIndex(ownNode: string | undefined): PodIndex {
  const all = new Set<Pod>();
  const lostBy = new Map<Pod, readonly string[]>();
  const addresses = new Map<string, Pod[]>();
  const interfaces = new Map<string, Pod[]>();
  let latestChange: Millis = -Infinity;
  /** Made on first use, because few loggers name Pods. */
  let names: ReturnType<typeof indexNames> | undefined;
  const changes = createPodChanges(all);

  return {
    ownNode,
    get size(): number {
      return all.size;
    },
    add(pod: Pod, lost?: readonly string[]): void {
      all.add(pod);
      changes.forget();
      if (lost !== undefined) lostBy.set(pod, lost);
      names?.add(pod);
      latestChange = Math.max(latestChange, pod.from, pod.until === Infinity ? -Infinity : pod.until);
      for (const [map, keys] of keysOf(pod)) {
        for (const key of keys) {
          const pods = map.get(key);
          if (pods) pods.push(pod);
          else map.set(key, [pod]);
        }
      }
    },
    remove(pod: Pod): void {
      if (!all.delete(pod)) return;
      changes.forget();
      names?.remove(pod);
      for (const [map, keys] of keysOf(pod)) {
        for (const key of keys) {
          const others = map.get(key)?.filter((each) => each !== pod) ?? [];
          if (others.length === 0) map.delete(key);
          else map.set(key, others);
        }
      }
      lostBy.delete(pod);
    },
    byAddress: (address: string): readonly Pod[] | undefined => addresses.get(address),
    byInterface: (name: string): readonly Pod[] | undefined => interfaces.get(name),
    byName: (name: string): readonly Pod[] => (names ??= indexNames(all)).get(name),
    epoch(time: Millis): { from: Millis; until: Millis } {
      // An agent nearly always asks about a time after the last change.
      if (time >= latestChange) return { from: latestChange, until: Infinity };
      return changes.spanAround(time);
    },
  };

  function keysOf(pod: Pod): [Map<string, Pod[]>, readonly string[]][] {
    if (pod.hostNetwork) return [];
    const lost = lostBy.get(pod);
    if (lost !== undefined) return [[addresses, lost]];
    const isHere = ownNode === undefined || pod.node === ownNode;
    return [
      [addresses, pod.addresses],
      [interfaces, isHere ? interfaceNames(pod.namespace, pod.name) : []],
    ];
  }
}

function indexNames(pods: Iterable<Pod>) {
  const index = createGroups<Pod>();
  for (const pod of pods) add(pod);
  return { get: index.get, add, remove };

  function add(pod: Pod): void {
    for (const key of namesOf(pod)) index.add(key, pod);
  }

  function remove(pod: Pod): void {
    for (const key of namesOf(pod)) index.remove(key, pod);
  }
}

function namesOf({ namespace, name, hostNetwork }: Pod): string[] {
  return hostNetwork ? [] : [name, `${generateNameOf(name)}*`].map((each) => `${namespace}/${each}`);
}

/** Returns the `generateName` of a Pod: its name without the last part, which controllers add. */
export function generateNameOf(pod: string): string {
  return pod.slice(0, Math.max(pod.lastIndexOf('-'), pod.lastIndexOf('.')) + 1);
}

/** An inexact time decides between Pods only if nothing else does. */
export interface Moment {
  time: Millis;
  exact: boolean;
}

/** A name has only 44 bits of a hash. Of Pods that share it, the one with the address is chosen, or else the only one with addresses. */
export function ownerOf(index: PodIndex, name: string, address: string, at: Moment): Pod | undefined {
  const named = index.byInterface(name);
  if (named === undefined || haveOneName(named)) return holder(named, at);
  const own = named.filter((pod) => isOwn(index, pod, address, at));
  const addressed = named.filter(({ addresses }) => addresses.length > 0);
  return holder(own, at) ?? (haveOneName(addressed) ? holder(addressed, at) : undefined);
}

export function isOwn(index: PodIndex, { addresses, uid }: Pod, address: string, at: Moment): boolean {
  return addresses.includes(address) || hadThen(index.byAddress(address), uid, at);
}

function haveOneName(pods: readonly Pod[]): boolean {
  return pods.every(({ namespace, name }) => namespace === pods[0]?.namespace && name === pods[0].name);
}

/** Tolerates `timeTolerance` if no Pod existed at the time. At an inexact time, the present Pod holds if no other Pod is in the list. */
export function holder(pods: readonly Pod[] | undefined, { time, exact }: Moment): Pod | undefined {
  if (pods === undefined) return undefined;
  if (!exact) {
    const last = pods.find(({ until }) => until === Infinity);
    if (last !== undefined && pods.every((pod) => pod === last || (pod.uid !== '' && pod.uid === last.uid)))
      return last;
  }
  return holderAt(pods, time, 0) ?? holderAt(pods, time, timeTolerance);
}

/** A Pod keeps its addresses to its end, so of two Pods with one address, the one that ends first has it. */
function holderAt(pods: readonly Pod[], time: Millis, early: Millis): Pod | undefined {
  let found: Pod | undefined;
  for (const pod of pods) {
    if (time < pod.from - early || time >= pod.until || pod.until <= pod.from) continue;
    if (found === undefined || pod.until < found.until || (pod.until === found.until && pod.from > found.from))
      found = pod;
  }
  return found;
}

/** Returns the holder; if Pods of several Nodes run, one holder per Node, because one Node claims an address of another. */
export function holders(pods: readonly Pod[] | undefined, at: Moment): readonly Pod[] {
  const pod = holder(pods, at);
  if (pod === undefined || pods === undefined) return [];
  if (pods.length === 1 || pod.until !== Infinity) return [pod];
  const running = pods.filter(({ until }) => until === Infinity);
  const nodes = new Set(running.map(({ node }) => node));
  if (nodes.size === 1) return [pod];
  return [...nodes].flatMap(
    (node) =>
      holder(
        running.filter((each) => each.node === node),
        at,
      ) ?? [],
  );
}

function hadThen(pods: readonly Pod[] | undefined, uid: string, { time, exact }: Moment): boolean {
  return (
    pods?.some((pod) => pod.uid === uid && (!exact || (time >= pod.from - timeTolerance && time < pod.until))) === true
  );
}

/** Returns the possible names of a Pod's interface on the host, as Calico (`cali`) and the AWS VPC CNI (`eni`) choose them. */
export function interfaceNames(namespace: string, pod: string): string[] {
  const hash = createHash('sha1').update(`${namespace}.${pod}`).digest('hex').slice(0, 11);
  return [`cali${hash}`, `eni${hash}`];
}

/** A regular expression would be too slow, because this runs several times for every packet. */
export function isPodInterface(name: string): boolean {
  return (name.length === 15 && name.startsWith('cali')) || (name.length === 14 && name.startsWith('eni'));
}

/** The lists that find the ends of a packet by name, for loggers without addresses (parsing/policy-loggers/calico.ts). */
interface NamedLists {
  pods: PodIndex;
  earlier: PodIndex | undefined;
  nodes: (name: string) => Node | undefined;
}

const mostCandidates = 8;

/** `shop/web-*` means Pods on `node` ('': on any node). Undefined finds none of them, because Pods of other nodes are not all known. */
export function ownerOfName(name: string, at: Moment, node: string | undefined, lists: NamedLists): Endpoint {
  const host = name.startsWith('Node ') ? lists.nodes(name.slice('Node '.length)) : undefined;
  if (host !== undefined) return nodeEndpoint(host, host.addresses[0] ?? name);
  if (name.includes(' ')) return namedEndpoint(name, 'external', 'the log has no address');
  const isGroup = name.endsWith('*');
  if (isGroup && node === undefined) return namedEndpoint(name, 'unknown', 'Pods that share this name');
  const index = lists.pods.byName(name).length > 0 ? lists.pods : lists.earlier;
  const isThere = (pod: Pod): boolean => !isGroup || node === '' || pod.node === node;
  const all = ownersAt(index?.byName(name).filter(isThere) ?? [], at);
  // A Pod without a controller may also have such a name.
  const replicas = isGroup ? all.filter(({ workload }) => workload !== undefined) : [];
  const owners = replicas.length > 0 ? replicas : all;
  const candidates = owners.map((pod) => podEndpoint(pod, pod.addresses[0] ?? name, 'pod-name'));
  const [only] = candidates;
  if (only === undefined) return namedEndpoint(name, 'unknown', 'no Pod of that name is known');
  if (candidates.length === 1) return only;
  const note = `one of ${candidates.length} Pods${node === '' ? '' : ` of ${node}`}`;
  const end = namedEndpoint(name, 'unknown', note);
  const workload = candidates.every(({ identity }) => identity === only.identity) ? only.workload : undefined;
  return { ...end, workload, candidates: candidates.slice(0, mostCandidates) };
}

function namedEndpoint(name: string, kind: 'external' | 'unknown', note: string): Endpoint {
  return { ...addressOnly(name), kind, evidence: 'none', note };
}

/** Also returns later Pods, because the time is only the beginning of an interval. */
function ownersAt(pods: readonly Pod[], { time }: Moment): Pod[] {
  const there = pods.filter(({ until }) => until === Infinity || until > time - timeTolerance);
  const unique = new Map(there.map((pod) => [objectKey(pod), pod]));
  return [...unique.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
