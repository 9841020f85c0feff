/** Describes the owner of an address at the time of a packet. Plain data: it can be written as JSON and read back unchanged. */

/** An API object as an Event refers to it. `uid` is empty if only the object's name is known. */
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

/** Names and labels are trusted only in these Namespaces. Elsewhere anybody who creates an object chooses them. */
export const systemNamespaces: ReadonlySet<string> = new Set([
  'kube-system',
  'openshift-dns',
  'openshift-kube-apiserver',
]);

export function nodeRefByName(name: string): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid: '', resourceVersion: undefined };
}

/** Unique among objects of one kind. */
export function objectKey({ uid, namespace, name }: Pick<ObjectRef, 'uid' | 'namespace' | 'name'>): string {
  return uid || `${namespace ?? ''}/${name}`;
}

/** The controller that a user created for a Pod: a Deployment, not its ReplicaSet. */
export interface Workload {
  kind: string;
  namespace: string;
  name: string;
}

export function workloadKey({ kind, namespace, name }: Workload): string {
  return `${kind}/${namespace}/${name}`;
}

/** The first way that applied. `pod-name`: the logger has no addresses. `earlier-run`: saved, and not yet listed by the API server. */
export type Evidence =
  | 'interface'
  | 'pod-address'
  | 'pod-name'
  | 'earlier-run'
  | 'node-address'
  | 'node-annotation'
  | 'service-address'
  | 'address-range'
  | 'none';

export type AddressRange = 'multicast' | 'broadcast' | 'link-local' | 'loopback' | 'unspecified' | 'private' | 'public';

export interface Endpoint {
  kind: 'pod' | 'node' | 'service' | 'external' | 'unknown';
  /** The address, or a name if the logger has no addresses and the Pod is unknown (`Packet.source`). */
  address: string;
  /** Equal for all endpoints of one peer: the workload of a Pod, or else the object, or else the address. */
  identity: string;
  evidence: Evidence;
  object: ObjectRef | undefined;
  workload: Workload | undefined;
  range: AddressRange;
  node: string | undefined;
  /** Those labels of a Pod that the settings ask for: `app=web,team=shop`. */
  labels?: string | undefined;
  /** A role that explains much: the cluster's DNS, its API server, the cloud's metadata service. */
  role: 'dns' | 'api-server' | 'metadata' | undefined;
  /** Why `object` is undefined: `outside the cluster`, `Pod range of node-b, no Pod has it`. */
  note: string | undefined;
  /** The name by which the sender looked up an external end (`PacketObservation.destinationHost`). */
  hostName?: string | undefined;
  /** Pods of this node that an unknown end may be, because the logger counts them as one. */
  candidates?: readonly Endpoint[] | undefined;
}

/** The two ends of a packet. An ICMP error for the sender of the inner packet also has that packet's ends. */
export interface Ends {
  source: Endpoint;
  destination: Endpoint;
  inner: { source: Endpoint; destination: Endpoint } | undefined;
  /** Whether the packet came from an interface named like a Pod's; the next field: whether it was to leave by one. */
  fromPodInterface: boolean;
  toPodInterface: boolean;
}
