import { type Endpoint, type Evidence, objectKey, type ObjectRef } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import {
  externalEndpoint,
  namedNode,
  nodeEndpoint,
  nodeRef,
  podEndpoint,
  serviceEndpoint,
  unknownEndpoint,
} from './endpoints.ts';
import { indexNodes, type NodeIndex } from './node-index.ts';
import { type AddressOwner, indexByAddress, ownerOfAddress } from './address-owners.ts';
import {
  createPodIndex,
  holder,
  holders,
  isOwn,
  type Moment,
  ownerOf,
  ownerOfName,
  type PodIndex,
} from './pod-index.ts';
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
  /** Returns why an unknown object may have the address; undefined if none may. */
  whyUnknown?: ((address: string) => string | undefined) | undefined;
}

export function createEndpointFinder(objects: ClusterObjects): EndpointFinder {
  const pods = createPodIndex(undefined);
  for (const pod of objects.pods) pods.add(pod);
  return endpointFinderOf({ pods, nodes: () => objects.nodes, services: () => objects.services });
}

/** Finds the object that had an address or interface at a moment. */
export type EndpointFinder = Omit<LiveEndpointFinder, 'changed'>;

export interface LiveEndpointFinder {
  readonly version: number;
  readonly nodes: readonly Node[];
  readonly podCount: number;
  /** Call this after each change of a list. `left-out`: the object was in no list, so no index is rebuilt. */
  changed(what: 'pods' | 'nodes' | 'services' | 'remote' | 'left-out'): void;
  /** Returns the time span around `time` in which answers are the same, as long as `version` is. */
  epoch: (time: Millis) => { from: Millis; until: Millis };
  node: (name: string) => Node | undefined;
  /** A log line names its host or, as in talosctl, the address of its host. */
  nodeOfHost: (host: string) => Node | undefined;
  homeOf: (address: string) => string | undefined;
  /** The Pods that have or had the address. */
  podsWith: (address: string) => readonly Pick<Pod, 'namespace' | 'name' | 'from' | 'until'>[];
  podByInterface(name: string, address: string, at: Moment): Endpoint | undefined;
  nodeByInterface: (name: string, address: string, at: Moment) => string | undefined;
  /** `named`: the Pod that the logger names, such as `shop/web-0` (see `comparedWith`). */
  byAddress(address: string, at: Moment, named?: string): Endpoint;
  /** Finds an end that a logger names instead of giving its address. `node`: as in `ownerOfName`. */
  byName: (name: string, at: Moment, node: string | undefined) => Endpoint;
  /** Returns the Pod range of a node that contains the address. */
  podRange: (address: string) => string | undefined;
  /** `protocol`: as in a packet (`TCP`). */
  portName(endpoint: Endpoint, port: number, protocol: string): string | undefined;
}

export function endpointFinderOf(lists: Lists): LiveEndpointFinder {
  const { pods, earlier, remote } = lists;
  /** Computed on first use after a change, because a new list changes thousands of objects one by one. */
  let nodeIndexes: NodeIndex | undefined;
  let serviceIndex: ReturnType<typeof indexByAddress<Service>> | undefined;
  const nodes: Indexes['nodes'] = () => (nodeIndexes ??= indexNodes([...lists.nodes()]));
  const services: Indexes['services'] = () =>
    (serviceIndex ??= indexByAddress(lists.services(), ({ addresses }) => addresses));
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
    changed(what: 'pods' | 'nodes' | 'services' | 'remote' | 'left-out'): void {
      version++;
      if (what === 'nodes') nodeIndexes = undefined;
      if (what === 'services') serviceIndex = undefined;
    },
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
    nodeOfHost: (host: string): Node | undefined => nodes().byName(host) ?? onlyOf(nodes().byAddress(host)),
    homeOf: (address: string): string | undefined => nodes().homeOf(address),
    podsWith: (address: string): readonly Pick<Pod, 'namespace' | 'name' | 'from' | 'until'>[] => everyPodOf(address),
    podByInterface(name: string, address: string, at: Moment): Endpoint | undefined {
      return (
        byInterfaceIn(pods, 'interface', name, address, at) ??
        (earlier && byInterfaceIn(earlier, 'earlier-run', name, address, at))
      );
    },
    nodeByInterface: (name: string, address: string, at: Moment): string | undefined =>
      ownerOf(pods, name, address, at)?.node,
    byAddress(address: string, at: Moment, named?: string): Endpoint {
      const end = endAt(address, at, lists, indexes);
      return named === undefined ? end : comparedWith(named, end, everyPodOf(address), at);
    },
    byName: (name: string, at: Moment, node: string | undefined): Endpoint =>
      ownerOfName(name, at, node, { pods, earlier, nodes: nodes().byName }),
    podRange: (address: string): string | undefined => nodes().podRangeOf(address),
    portName({ kind, object, address }: Endpoint, port: number, protocol: string): string | undefined {
      const transport = protocol.toLowerCase();
      if (kind === 'service')
        return servicePortName(
          services()(address).find((each) => each.name === object?.name && each.namespace === object.namespace),
          port,
          transport,
        );
      if (kind !== 'pod' || object === undefined) return undefined;
      const pod = everyPodOf(address).find((each) => objectKey(each) === objectKey(object));
      return pod?.ports && packedName(pod.ports, port, transport);
    },
  };

  function everyPodOf(address: string): readonly Pod[] {
    if (earlier === undefined && remote === undefined) return pods.byAddress(address) ?? [];
    const all = [pods.byAddress(address), earlier?.byAddress(address), remote?.podsOf(address)];
    return all.flatMap((each) => each ?? []);
  }
}

function endAt(address: string, at: Moment, lists: Lists, indexes: Indexes): Endpoint {
  const { nodes, services } = indexes;
  const { pods, earlier, remote } = lists;
  const owner = ownerOfAddress<Pod, Node, Service>(address, {
    ownNode: pods.ownNode,
    pods: () =>
      firstOf(holders(pods.byAddress(address), at), () =>
        firstOf(holders(earlier?.byAddress(address), at), () => holders(remote?.podsOf(address), at)),
      ),
    services: services(),
    nodes: nodes().byAddress,
    annotatedNodes: nodes().byAnnotation,
    lookedUpNode() {
      const name = remote?.nodeOf(address);
      return name === undefined ? undefined : (nodes().byName(name) ?? namedNode(name));
    },
    homeOf: nodes().homeOf,
  });
  return endOf(owner, address, lists);
}

function endOf(
  owner: AddressOwner<Pod, Node, Service> | undefined,
  address: string,
  { pods, earlier, remote, whyUnknown }: Lists,
): Endpoint {
  switch (owner?.kind) {
    case 'pod': {
      const isEarlier = earlier?.byAddress(address)?.includes(owner.pod) === true;
      return podEndpoint(owner.pod, address, isEarlier ? 'earlier-run' : 'pod-address');
    }
    case 'service':
      return serviceEndpoint(owner.service, address);
    case 'node':
      return nodeEndpoint(owner.node, address, owner.isAnnotated ? 'node-annotation' : 'node-address');
    case 'disputed':
      return unknownEndpoint(address, 'none', `several ${owner.between} have this address`);
    default: {
      const [past] = pods.byAddress(address) ?? remote?.podsOf(address) ?? [];
      const end = unassigned(address, past, owner?.home) ?? externalEndpoint(address, remote?.hostNameOf(address));
      const why = end.kind === 'external' && end.range === 'private' ? whyUnknown?.(address) : undefined;
      return why === undefined ? end : unknownEndpoint(address, 'none', why);
    }
  }
}

function firstOf<T>(first: readonly T[], next: () => readonly T[]): readonly T[] {
  return first.length > 0 ? first : next();
}

function onlyOf<T>(all: readonly T[]): T | undefined {
  return all.length === 1 ? all[0] : undefined;
}

function unassigned(address: string, past: Pod | undefined, home: string | undefined): Endpoint | undefined {
  if (past !== undefined)
    return unknownEndpoint(address, 'none', `${past.namespace}/${past.name} has this address, but not at that time`);
  const note = `in the Pod range of ${home}, but no Pod known had it then`;
  return home === undefined ? undefined : unknownEndpoint(address, 'address-range', note);
}

/** The logger named the Pod at the time of the packet, so it is the owner if it ever had the address. Otherwise neither is trusted. */
function comparedWith(named: string, end: Endpoint, pods: readonly Pod[], at: Moment): Endpoint {
  const { kind, object, address } = end;
  if (kind === 'node' || kind === 'service') return end;
  const known = object && `${object.namespace}/${object.name}`;
  if (known === named) return end;
  const namesakes = pods.filter(({ namespace, name }) => `${namespace}/${name}` === named);
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

interface Indexes {
  nodes: () => NodeIndex;
  services: () => (address: string) => readonly Service[];
}

/** An unknown Node has its name, but no uid. */
export function nodeRefOf(endpoints: Pick<EndpointFinder, 'node'>, name: string): ObjectRef {
  return nodeRef(endpoints.node(name) ?? namedNode(name));
}
