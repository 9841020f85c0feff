/** The owner of an address at the time of a packet. Plain data: it can be written as JSON and read back unchanged. */

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

/** A node that is known by its name only. */
export function nodeRef(name: string): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid: '', resourceVersion: undefined };
}

/** Equal for the same object only; one without a uid is known by its name. */
export function objectKey({ uid, namespace, name }: Pick<ObjectRef, 'uid' | 'namespace' | 'name'>): string {
  return uid || `${namespace ?? ''}/${name}`;
}

/** The controller a Pod belongs to, as its owner thinks of it: a Deployment rather than its ReplicaSet. */
export interface Workload {
  kind: string;
  namespace: string;
  name: string;
}

/**
 * How an address was given to an object; the first that applies wins. `pod-name`: the logger names Pods and no addresses. `earlier-run`: a Pod that the state has of this node, by its address
 * or interface, and that the API server has not listed since this agent was started.
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
  /** Equal for all that count as one peer: the workload of a Pod, else the object, else the address. */
  identity: string;
  evidence: Evidence;
  object: ObjectRef | undefined;
  workload: Workload | undefined;
  /** The range of the address, whoever has it. */
  range: AddressRange;
  /** Node of a Pod. */
  node: string | undefined;
  /** The labels of a Pod that were asked for: `app=web,team=shop`. */
  labels?: string | undefined;
  /** A part this endpoint plays that explains much: the cluster's DNS, its API server, the cloud's metadata service. */
  role: 'dns' | 'api-server' | 'metadata' | undefined;
  /** Says to a person why `object` is undefined: `outside the cluster`, `Pod range of node-b, no Pod has it`. */
  note: string | undefined;
  /** Of an external end: the name by which the sender has asked for it (`PacketObservation.destinationHost`). */
  hostName?: string | undefined;
  /** Of an unknown end: Pods of this node that the logger counts as one, each of which may be it. */
  candidates?: readonly Endpoint[] | undefined;
}

/** The two ends of a packet and, for an ICMP error that goes back to the sender of the packet it is about, of that packet. */
export interface Ends {
  source: Endpoint;
  destination: Endpoint;
  inner: { source: Endpoint; destination: Endpoint } | undefined;
  /** Whether the packet came from an interface named as CNI plugins name a Pod's, and whether it was to leave by one. */
  fromPodInterface: boolean;
  toPodInterface: boolean;
}
