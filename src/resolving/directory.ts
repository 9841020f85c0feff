import { type Endpoint, type Evidence, type ObjectRef, podRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import { holder, isOwn, type Moment, ownerOf } from './holder.ts';
import { indexNodeNames } from './node-names.ts';
import { indexPodRanges } from './pod-ranges.ts';
import { createPodIndex, type PodIndex } from './pod-index.ts';
import type { ClusterObjects, Node, Pod, Service } from './objects.ts';
import { rangeOf, scopeOf } from './lookups/scope.ts';
import { workloadKey } from './workload.ts';

export type { Moment } from './holder.ts';

/** Finds the object that an address or interface belonged to at a moment. */
export interface Directory {
  podByInterface: (name: string, address: string, at: Moment) => Endpoint | undefined;
  /** The node of the Pod that an interface is of: interfaces exist on one node only. */
  nodeByInterface: (name: string, address: string, at: Moment) => string | undefined;
  byAddress: (address: string, at: Moment) => Endpoint;
  /** The node of that name or host name. */
  node: (name: string) => Node | undefined;
  /** The node that a log line names as its host: by name or, as talosctl does, by address. */
  nodeOfHost: (host: string) => Node | undefined;
  /** The node whose Pod range an address lies in. */
  homeOf: (address: string) => string | undefined;
  readonly nodes: readonly Node[];
  readonly podCount: number;
  /** The span of time around `time`, from and before, in which every answer stays the same, as long as `version` does. */
  epoch: (time: Millis) => { from: Millis; until: Millis };
  /** Another number whenever an answer may have changed. */
  readonly version: number;
}

/** What was found out about single addresses that no list has. All synchronous: what is not known yet is not known. */
export interface Remote {
  podsOf: (address: string) => readonly Pod[] | undefined;
  /** Name of the node whose own address it is. */
  nodeOf: (address: string) => string | undefined;
  /** Host name by reverse DNS. */
  hostNameOf: (address: string) => string | undefined;
  /** None of these Pods has begun or ended later than that. */
  readonly latestChange: Millis;
}

/** The lists that a directory looks into; `changed` must be called after a change. */
export interface Lists {
  pods: PodIndex;
  nodes: readonly Node[];
  services: readonly Service[];
  remote?: Remote | undefined;
}

export interface EditableDirectory extends Directory {
  /** Nodes or Services, or what remote look-ups know, are others now. */
  changed: (what: 'pods' | 'nodes' | 'services' | 'remote') => void;
}

/** A directory of what was saved of a cluster. */
export function createDirectory(objects: ClusterObjects): Directory {
  const pods = createPodIndex(undefined);
  for (const pod of objects.pods) pods.add(pod);
  return directoryOf({ pods, nodes: objects.nodes, services: objects.services });
}

/** A directory of lists that may change. */
export function directoryOf(lists: Lists): EditableDirectory {
  const { pods, remote } = lists;
  let nodes = indexNodes(lists.nodes);
  let services = indexByAddress(lists.services);
  let version = 0;

  return {
    get version() {
      return version;
    },
    get nodes() {
      return lists.nodes;
    },
    get podCount() {
      return pods.size;
    },
    changed(what) {
      version++;
      if (what === 'nodes') nodes = indexNodes(lists.nodes);
      if (what === 'services') services = indexByAddress(lists.services);
    },
    epoch(time) {
      const epoch = pods.epoch(time);
      if (remote === undefined) return epoch;
      // What came before cannot be remembered at all; it is read only at a start.
      if (time < remote.latestChange) return { from: time, until: time };
      return { from: Math.max(epoch.from, remote.latestChange), until: epoch.until };
    },
    node: (name) => nodes.byName(name),
    nodeOfHost: (host) => nodes.byName(host) ?? nodes.byAddress.get(host),
    homeOf: (address) => nodes.homeOf(address),
    podByInterface(name, address, at) {
      const pod = ownerOf(pods, name, address, at);
      if (pod === undefined) return undefined;
      // A veth is its Pod's alone, so the Pod did send this: spoofed, or routed on for somebody else.
      return podEndpoint(pod, address, 'interface', isOwn(pods, pod, address, at) ? undefined : 'not its own address');
    },
    nodeByInterface: (name, address, at) => ownerOf(pods, name, address, at)?.node,
    byAddress(address, at) {
      const here = pods.byAddress(address);
      const pod = podEndpoint(holder(here, at) ?? holder(remote?.podsOf(address), at), address, 'pod-address');
      if (pod) return pod;
      const node = nodes.byAddress.get(address);
      if (node) return nodeEndpoint(node, address);
      const service = services.get(address);
      if (service) return serviceEndpoint(service, address);
      const nodeName = remote?.nodeOf(address);
      if (nodeName !== undefined) return nodeEndpoint(nodes.byName(nodeName) ?? strangeNode(nodeName), address);
      return stranger(address, here ?? remote?.podsOf(address));
    },
  };

  function stranger(address: string, holders: readonly Pod[] | undefined): Endpoint {
    const scope = scopeOf(address);
    const base = {
      address,
      identity: address,
      object: undefined,
      workload: undefined,
      range: scope.range,
      node: undefined,
      role: scope.role,
    };
    const past = holders?.[0];
    if (past)
      return {
        ...base,
        kind: 'unknown',
        evidence: 'none',
        note: `${past.namespace}/${past.name} has this address, but not at that time`,
      };
    const home = nodes.homeOf(address);
    if (home !== undefined) {
      return {
        ...base,
        kind: 'unknown',
        evidence: 'address-range',
        note: `in the Pod range of ${home}, but no Pod known had it then`,
      };
    }
    const note = [remote?.hostNameOf(address), scope.note].filter((each) => each !== undefined).join(', ');
    return { ...base, kind: 'external', evidence: 'address-range', note: note || undefined };
  }
}

interface NodeIndexes {
  byName: (name: string) => Node | undefined;
  byAddress: Map<string, Node>;
  /** The node whose Pod range an address lies in. */
  homeOf: (address: string) => string | undefined;
}

function indexNodes(nodes: readonly Node[]): NodeIndexes {
  return { byName: indexNodeNames(nodes), byAddress: indexByAddress(nodes), homeOf: indexPodRanges(nodes) };
}

function indexByAddress<T extends { addresses: string[] }>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.flatMap((each) => each.addresses.map((address) => [address, each])));
}

/** A node that is only known by name. */
function strangeNode(name: string): Node {
  return { name, uid: '', resourceVersion: undefined, addresses: [], podRanges: [], hostNames: [] };
}

function podEndpoint(pod: Pod | undefined, address: string, evidence: Evidence, note?: string): Endpoint | undefined {
  if (pod === undefined) return undefined;
  return {
    kind: 'pod',
    address,
    identity: pod.workload ? workloadKey(pod.workload) : `Pod/${pod.namespace}/${pod.name}`,
    evidence,
    object: podRef(pod),
    workload: pod.workload,
    range: rangeOf(address),
    node: pod.node,
    role: pod.role,
    note,
  };
}

function nodeEndpoint(node: Node, address: string): Endpoint {
  return {
    kind: 'node',
    address,
    identity: `Node/${node.name}`,
    evidence: 'node-address',
    object: nodeRef(node),
    workload: undefined,
    range: rangeOf(address),
    node: node.name,
    role: undefined,
    note: undefined,
  };
}

export function nodeRef(node: Node): ObjectRef {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    namespace: undefined,
    name: node.name,
    uid: node.uid,
    resourceVersion: node.resourceVersion,
  };
}

/** Of a Node that nobody knows: its name, without a uid. */
export function nodeRefOf(directory: Pick<Directory, 'node'>, name: string): ObjectRef {
  return nodeRef(directory.node(name) ?? strangeNode(name));
}

function serviceEndpoint(service: Service, address: string): Endpoint {
  const { namespace, name, uid, resourceVersion, role } = service;
  return {
    kind: 'service',
    address,
    identity: `Service/${namespace}/${name}`,
    evidence: 'service-address',
    object: { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion },
    workload: undefined,
    range: rangeOf(address),
    node: undefined,
    role,
    note: undefined,
  };
}
