import type { Endpoint, Evidence, Millis, ObjectRef } from '../model.ts';
import { interfaceNames } from './interface-name.ts';
import { indexNodeNames } from './node-names.ts';
import { indexPodRanges } from './pod-ranges.ts';
import type { ClusterObjects, Node, Pod, Service } from './objects.ts';
import { rangeOf, scopeOf } from './scope.ts';
import { workloadKey } from './workload.ts';

/** Time stamps in the API are cut to seconds, and the log's clock may be off a little. */
const slack: Millis = 2000;

/** When a packet was seen; an inexact time does not decide between Pods unless it must. */
export interface Moment {
  time: Millis;
  exact: boolean;
}

/** Finds the object that an address or interface belonged to at a moment. */
export interface Directory {
  podByInterface: (name: string, address: string, at: Moment) => Endpoint | undefined;
  /** The node of the Pod that an interface is of: interfaces exist on one node only. */
  nodeByInterface: (name: string, at: Moment) => string | undefined;
  byAddress: (address: string, at: Moment) => Endpoint;
  /** The node of that name or host name. */
  node: (name: string) => Node | undefined;
  nodes: readonly Node[];
  podCount: number;
  /** The span of time around `time`, from and before, in which every answer stays the same. */
  epoch: (time: Millis) => { from: Millis; until: Millis };
}

/** An index over what is known of the cluster. */
export function createDirectory(objects: ClusterObjects): Directory {
  const podsByAddress = new Map<string, Pod[]>();
  const podsByInterface = new Map<string, Pod[]>();
  for (const pod of objects.pods) {
    // A hostNetwork Pod has neither a veth nor an address of its own.
    if (pod.hostNetwork) continue;
    for (const address of pod.addresses) push(podsByAddress, address, pod);
    for (const name of interfaceNames(pod.namespace, pod.name)) push(podsByInterface, name, pod);
  }
  const nodesByAddress = new Map<string, Node>();
  for (const node of objects.nodes) {
    for (const address of node.addresses) nodesByAddress.set(address, node);
  }
  const servicesByAddress = new Map<string, Service>();
  for (const service of objects.services)
    for (const address of service.addresses) servicesByAddress.set(address, service);
  const homeOf = indexPodRanges(objects.nodes);

  const changes = [...new Set(objects.pods.flatMap(({ from, until }) => [from - slack, from, until]))].toSorted(
    (a, b) => a - b,
  );

  return {
    epoch(time) {
      const next = changes.findIndex((change) => change > time);
      if (next < 0) return { from: changes.at(-1) ?? -Infinity, until: Infinity };
      return { from: changes[next - 1] ?? -Infinity, until: changes[next] ?? Infinity };
    },
    nodes: objects.nodes,
    podCount: objects.pods.length,
    node: indexNodeNames(objects.nodes),
    podByInterface: (name, address, at) => podEndpoint(holder(podsByInterface.get(name), at), address, 'interface'),
    nodeByInterface: (name, at) => holder(podsByInterface.get(name), at)?.node,
    byAddress(address, at) {
      const pods = podsByAddress.get(address);
      const pod = podEndpoint(holder(pods, at), address, 'pod-address');
      if (pod) return pod;
      const node = nodesByAddress.get(address);
      if (node) return nodeEndpoint(node, address);
      const service = servicesByAddress.get(address);
      if (service) return serviceEndpoint(service, address);
      return stranger(address, pods);
    },
  };

  function stranger(address: string, pods: readonly Pod[] | undefined): Endpoint {
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
    const past = pods?.[0];
    if (past)
      return {
        ...base,
        kind: 'unknown',
        evidence: 'none',
        note: `${past.namespace}/${past.name} has this address, but not at that time`,
      };
    const home = homeOf(address);
    if (home !== undefined) {
      return {
        ...base,
        kind: 'unknown',
        evidence: 'address-range',
        note: `in the Pod range of ${home}, but no Pod known had it then`,
      };
    }
    return { ...base, kind: 'external', evidence: 'address-range', note: scope.note };
  }
}

/** The Pod that held the address then, by the API's clock if any did, else within what clocks may differ. */
function holder(pods: readonly Pod[] | undefined, { time, exact }: Moment): Pod | undefined {
  if (pods === undefined) return undefined;
  const only = pods.length === 1 && !exact ? pods[0] : undefined;
  if (only?.until === Infinity) return only;
  return holderAt(pods, time, 0) ?? holderAt(pods, time, slack);
}

/**
 * A Pod starts some time before it gets its addresses, but keeps them to its end: of two that both seem to have one,
 * it is still with the one that ended first.
 */
function holderAt(pods: readonly Pod[], time: Millis, early: Millis): Pod | undefined {
  let found: Pod | undefined;
  for (const pod of pods) {
    if (time < pod.from - early || time >= pod.until || pod.until <= pod.from) continue;
    if (found === undefined || pod.until < found.until || (pod.until === found.until && pod.from > found.from))
      found = pod;
  }
  return found;
}

function podEndpoint(pod: Pod | undefined, address: string, evidence: Evidence): Endpoint | undefined {
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
    // A veth is its Pod's alone, so the Pod did send this: spoofed, or routed on for somebody else.
    note: pod.addresses.includes(address) ? undefined : 'not its own address',
  };
}

function podRef(pod: Pod): ObjectRef {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: pod.namespace,
    name: pod.name,
    uid: pod.uid,
    resourceVersion: pod.resourceVersion,
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

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
