import { type Endpoint, type Evidence, objectKey, type ObjectRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import {
  externalEndpoint,
  indexPodRanges,
  namedNode,
  nodeEndpoint,
  nodeRef,
  podEndpoint,
  serviceEndpoint,
  unknownEndpoint,
} from './endpoints.ts';
import { createPodIndex, holder, isOwn, type Moment, ownerOf, ownerOfName, type PodIndex } from './pod-index.ts';
import type { RemoteLookups } from './lookups/remote.ts';
import { packedName } from './pod-record.ts';
import type { ClusterObjects, Node, Pod, Service } from './objects.ts';

export type { Moment } from './pod-index.ts';

export interface Lists {
  pods: PodIndex;
  /** The Pods of an earlier run. They are used if no Pod of `pods` had the address or interface at the time. */
  earlier?: PodIndex | undefined;
  nodes: () => Iterable<Node>;
  services: () => Iterable<Service>;
  remote?: Pick<RemoteLookups, 'podsOf' | 'nodeOf' | 'hostNameOf' | 'latestChange'> | undefined;
  /** Whether there are Pods or Services that memory has no room for. */
  isIncomplete?: (() => boolean) | undefined;
}

export function createDirectory(objects: ClusterObjects): Directory {
  const pods = createPodIndex(undefined);
  for (const pod of objects.pods) pods.add(pod);
  return directoryOf({ pods, nodes: () => objects.nodes, services: () => objects.services });
}

/** Finds the object that had an address or interface at a moment. */
export type Directory = Omit<ReturnType<typeof directoryOf>, 'changed'>;

export function directoryOf(lists: Lists) {
  const { pods, earlier, remote } = lists;
  /** Computed on first use after a change, because a new list changes thousands of objects one by one. */
  let nodeIndexes: NodeIndexes | undefined;
  let serviceIndex: Map<string, Service> | undefined;
  const nodes: Indexes['nodes'] = () => (nodeIndexes ??= indexNodes([...lists.nodes()]));
  const services: Indexes['services'] = () => (serviceIndex ??= indexByAddress([...lists.services()]));
  const indexes = { nodes, services };
  let version = 0;

  return {
    get version(): number {
      return version;
    },
    get nodes(): readonly Node[] {
      return nodes().all;
    },
    get podCount(): number {
      return pods.size;
    },
    /** Call this after each change of a list. */
    changed(what: 'pods' | 'nodes' | 'services' | 'remote'): void {
      version++;
      if (what === 'nodes') nodeIndexes = undefined;
      if (what === 'services') serviceIndex = undefined;
    },
    /** Returns the time span around `time` in which answers are the same, as long as `version` is. */
    epoch(this: void, time: Millis): { from: Millis; until: Millis } {
      const epochs = [pods, earlier].flatMap((index) => index?.epoch(time) ?? []);
      const from = Math.max(...epochs.map((each) => each.from));
      const until = Math.min(...epochs.map((each) => each.until));
      if (remote === undefined) return { from, until };
      // Answers for older packets are not cached, because such packets are read only after a start.
      if (time < remote.latestChange) return { from: time, until: time };
      return { from: Math.max(from, remote.latestChange), until };
    },
    node: (name: string): Node | undefined => nodes().byName(name),
    /** A log line names its host or, as in talosctl, the address of its host. */
    nodeOfHost: (host: string): Node | undefined => nodes().byName(host) ?? nodes().byAddress.get(host),
    homeOf: (address: string): string | undefined => nodes().homeOf(address),
    podByInterface(name: string, address: string, at: Moment): Endpoint | undefined {
      return (
        byInterfaceIn(pods, 'interface', name, address, at) ??
        (earlier && byInterfaceIn(earlier, 'earlier-run', name, address, at))
      );
    },
    nodeByInterface: (name: string, address: string, at: Moment): string | undefined =>
      ownerOf(pods, name, address, at)?.node,
    /** `named`: the Pod that the logger names, such as `shop/web-0` (see `comparedWith`). */
    byAddress(address: string, at: Moment, named?: string): Endpoint {
      const end = ownerOfAddress(address, at, lists, indexes);
      return named === undefined ? end : comparedWith(named, end, holdersOf(address), at);
    },
    /** Finds an end that a logger names instead of giving its address. `node`: as in `ownerOfName`. */
    byName: (name: string, at: Moment, node: string | undefined): Endpoint =>
      ownerOfName(name, at, node, { pods, earlier, nodes: nodes().byName }),
    /** `protocol`: as in a packet (`TCP`). */
    portName({ kind, object, address }: Endpoint, port: number, protocol: string): string | undefined {
      const transport = protocol.toLowerCase();
      if (kind === 'service') return servicePortName(services().get(address), port, transport);
      if (kind !== 'pod' || object === undefined) return undefined;
      const pod = holdersOf(address).find((each) => objectKey(each) === objectKey(object));
      return pod?.ports && packedName(pod.ports, port, transport);
    },
  };

  function holdersOf(address: string): Pod[] {
    const all = [pods.byAddress(address), earlier?.byAddress(address), remote?.podsOf(address)];
    return all.flatMap((each) => each ?? []);
  }
}

function ownerOfAddress(address: string, at: Moment, lists: Lists, indexes: Indexes): Endpoint {
  const { pods, earlier, remote } = lists;
  const { nodes, services } = indexes;
  const here = pods.byAddress(address);
  const pod = holder(here, at);
  if (pod) return podEndpoint(pod, address, 'pod-address');
  const before = holder(earlier?.byAddress(address), at);
  if (before) return podEndpoint(before, address, 'earlier-run');
  const found = holder(remote?.podsOf(address), at);
  if (found) return podEndpoint(found, address, 'pod-address');
  const node = nodes().byAddress.get(address);
  if (node) return nodeEndpoint(node, address);
  const service = services().get(address);
  if (service) return serviceEndpoint(service, address);
  const nodeName = remote?.nodeOf(address);
  if (nodeName !== undefined) return nodeEndpoint(nodes().byName(nodeName) ?? namedNode(nodeName), address);
  const [past] = here ?? remote?.podsOf(address) ?? [];
  const end =
    unassigned(address, past, nodes().homeOf(address)) ?? externalEndpoint(address, remote?.hostNameOf(address));
  const mayBeLeftOut = end.kind === 'external' && end.range === 'private' && lists.isIncomplete?.() === true;
  return mayBeLeftOut
    ? unknownEndpoint(address, 'none', 'perhaps of a Pod or Service that memory has no room for')
    : end;
}

function unassigned(address: string, past: Pod | undefined, home: string | undefined): Endpoint | undefined {
  if (past !== undefined)
    return unknownEndpoint(address, 'none', `${past.namespace}/${past.name} has this address, but not at that time`);
  const note = `in the Pod range of ${home}, but no Pod known had it then`;
  return home === undefined ? undefined : unknownEndpoint(address, 'address-range', note);
}

/** The log is as old as the packet, so the named Pod is the owner if it ever had the address. Otherwise neither is trusted. */
function comparedWith(named: string, end: Endpoint, holders: readonly Pod[], at: Moment): Endpoint {
  const { kind, object, address } = end;
  if (kind === 'node' || kind === 'service') return end;
  const known = object && `${object.namespace}/${object.name}`;
  if (known === named) return end;
  const namesakes = holders.filter(({ namespace, name }) => `${namespace}/${name}` === named);
  const pod = holder(namesakes, at) ?? namesakes.at(-1);
  if (pod !== undefined) return podEndpoint(pod, address, 'pod-address');
  const note =
    known === undefined ? `${named}, named by the log` : `the log names ${named}, but ${known} has this address`;
  return unknownEndpoint(address, 'none', note);
}

function byInterfaceIn(
  pods: PodIndex,
  evidence: Evidence,
  name: string,
  address: string,
  at: Moment,
): Endpoint | undefined {
  const pod = ownerOf(pods, name, address, at);
  if (pod === undefined) return undefined;
  // A veth belongs to one Pod, so that Pod sent or received the packet, perhaps as a router or with a forged address.
  return podEndpoint(pod, address, evidence, isOwn(pods, pod, address, at) ? undefined : 'not its own address');
}

function servicePortName(service: Service | undefined, port: number, transport: string): string | undefined {
  return service?.ports.find((each) => each.port === port && each.protocol === transport)?.name || undefined;
}

type NodeIndexes = ReturnType<typeof indexNodes>;

interface Indexes {
  nodes: () => NodeIndexes;
  services: () => ReadonlyMap<string, Service>;
}

function indexNodes(nodes: readonly Node[]) {
  return { all: nodes, byName: indexNodeNames(nodes), byAddress: indexByAddress(nodes), homeOf: indexPodRanges(nodes) };
}

function indexByAddress<T extends { addresses: string[] }>(objects: readonly T[]): Map<string, T> {
  const index = new Map<string, T>();
  for (const each of objects) for (const address of each.addresses) index.set(address, each);
  return index;
}

/** An unknown Node has its name, but no uid. */
export function nodeRefOf(directory: Pick<Directory, 'node'>, name: string): ObjectRef {
  return nodeRef(directory.node(name) ?? namedNode(name));
}

/** Finds a node by any of its names, full or short, in capitals or not. A short name that two nodes share finds none. */
function indexNodeNames(nodes: readonly Node[]): (name: string) => Node | undefined {
  const full = new Map<string, Node>();
  const short = new Map<string, Node | undefined>();
  for (const node of nodes) {
    for (const name of [...node.hostNames, node.name].map((each) => each.toLowerCase())) {
      full.set(name, node);
      const known = short.get(shorten(name));
      short.set(
        shorten(name),
        known === undefined && !short.has(shorten(name)) ? node : known === node ? node : undefined,
      );
    }
  }
  return (name) => {
    const wanted = name.toLowerCase();
    return full.get(wanted) ?? full.get(shorten(wanted)) ?? short.get(shorten(wanted));
  };
}

/** Shortens `ip-10-0-1-3.ec2.internal` to `ip-10-0-1-3`. An address stays as it is. */
export function shorten(name: string): string {
  return /^[\d.]+$/.test(name) ? name : (name.split('.', 1)[0] ?? name);
}
