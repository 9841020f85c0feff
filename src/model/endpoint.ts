/** Who had an address at the time of a packet. Plain data: it can be written as JSON and read back unchanged. */

/** An API object as an Event names it. `uid` is empty when the object is known by name only. */
export interface ObjectRef {
  apiVersion: string;
  kind: string;
  namespace: string | undefined;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
}

export function podRef(pod: Omit<ObjectRef, 'apiVersion' | 'kind'>): ObjectRef {
  const { namespace, name, uid, resourceVersion } = pod;
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion };
}

export function nodeRef(name: string): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid: '', resourceVersion: undefined };
}

/** Equal only for the same object; its name stands for a missing uid. */
export function objectKey({ uid, namespace, name }: Pick<ObjectRef, 'uid' | 'namespace' | 'name'>): string {
  return uid || `${namespace ?? ''}/${name}`;
}

/** The controller of a Pod as its owner thinks of it: a Deployment, not its ReplicaSet. */
export interface Workload {
  kind: string;
  namespace: string;
  name: string;
}

export function workloadKey({ kind, namespace, name }: Workload): string {
  return `${kind}/${namespace}/${name}`;
}

/**
 * How the owner was found; the first that applies. `pod-name`: the logger names Pods and no addresses. `earlier-run`: the Pod is only in the
 * state, and the API server has not listed it since this agent was started.
 */
export type Evidence =
  | 'interface'
  | 'pod-address'
  | 'pod-name'
  | 'earlier-run'
  | 'node-address'
  | 'service-address'
  | 'address-range'
  | 'none';

export type AddressRange = 'multicast' | 'broadcast' | 'link-local' | 'loopback' | 'unspecified' | 'private' | 'public';

export interface Endpoint {
  kind: 'pod' | 'node' | 'service' | 'external' | 'unknown';
  /** A name where the logger has no addresses and the Pod is not known (`Packet.source`). */
  address: string;
  /** Equal for all endpoints of one peer: the workload of a Pod, else the object, else the address. */
  identity: string;
  evidence: Evidence;
  object: ObjectRef | undefined;
  workload: Workload | undefined;
  range: AddressRange;
  node: string | undefined;
  /** The labels of a Pod that were asked for: `app=web,team=shop`. */
  labels?: string | undefined;
  /** A part that explains much: the cluster's DNS, its API server, the cloud's metadata service. */
  role: 'dns' | 'api-server' | 'metadata' | undefined;
  /** Why `object` is undefined: `outside the cluster`, `Pod range of node-b, no Pod has it`. */
  note: string | undefined;
  /** The name by which the sender has asked for an external end (`PacketObservation.destinationHost`). */
  hostName?: string | undefined;
  /** Pods of this node, each of which an unknown end may be, because the logger counts them as one. */
  candidates?: readonly Endpoint[] | undefined;
}

/** The two ends of a packet. For an ICMP error that goes back to the sender of the inner packet, also the ends of that packet. */
export interface Ends {
  source: Endpoint;
  destination: Endpoint;
  inner: { source: Endpoint; destination: Endpoint } | undefined;
  /** Whether the packet came from, or was to leave by, an interface named like a Pod's. */
  fromPodInterface: boolean;
  toPodInterface: boolean;
}
