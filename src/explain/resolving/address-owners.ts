/**
 * The precedence of owners of an address. An address assigned by the cluster goes before a claimed one:
 *
 * | | the address is of | because of | who can write that |
 * |-|-------------------|------------|--------------------|
 * | 1 | a Pod | its status, and it is on this node or in the Pod range of its Node | its own kubelet, for its own addresses |
 * | 2 | a Service | its ClusterIP | the API server, which gives each to one Service only |
 * | 3 | a Pod | its status: listed, saved by an earlier run, or looked up | the kubelet of its Node |
 * | 4 | a Node | its status, outside the Pod ranges of other Nodes | its kubelet |
 * | 5 | a Node | a look-up | the network plug-in, a kubelet |
 * | 6 | a Node | its annotations, if no look-up finds another owner | its kubelet, the network plug-in |
 * | 7 | a Pod that is not known | the Pod range of a Node | the controller manager |
 *
 * If one class has several owners, none is believed, unless a row says which: whoever adds an owner could otherwise displace the real one.
 *
 * A tenant's claims are not in the table: `externalIPs` and addresses of load balancers of a Service, addresses in an EndpointSlice,
 * annotations of a Pod. They never decide the owner of an address.
 */
export type AddressOwner<P, N, S> =
  | { kind: 'pod'; pod: P }
  | { kind: 'service'; service: S }
  | { kind: 'node'; node: N; isAnnotated: boolean }
  /** Several objects of a kind have the address: `Pods`. */
  | { kind: 'disputed'; between: 'Pods' | 'Nodes' | 'Services' }
  /** In the Pod range of the Node `home`. */
  | { kind: 'pod-range'; home: string };

/** Returns the objects that have an address. The order within a kind does not matter. */
export interface AddressBook<P, N, S> {
  /** The node whose kubelet is believed, because the log is its own. Undefined for saved logs of any node. */
  readonly ownNode?: string | undefined;
  /** Pods that have the address by their status at the time. */
  readonly pods: (address: string) => readonly P[];
  /** Services that have it as their ClusterIP. */
  readonly services: (address: string) => readonly S[];
  readonly nodes: (address: string) => readonly N[];
  readonly annotatedNodes: (address: string) => readonly N[];
  readonly lookedUpNode?: (address: string) => N | undefined;
  readonly homeOf: (address: string) => string | undefined;
}

interface PodOfNode {
  readonly node: string | undefined;
}

/** A role is only given to objects of system Namespaces. */
interface ServiceWithRole {
  readonly name: string;
  readonly role?: string | undefined;
}

export function ownerOfAddress<P extends PodOfNode, N extends { readonly name: string }, S extends ServiceWithRole>(
  address: string,
  book: AddressBook<P, N, S>,
): AddressOwner<P, N, S> | undefined {
  const pods = book.pods(address);
  const [first] = pods;
  if (pods.length === 1 && first?.node !== undefined && first.node === book.ownNode) return { kind: 'pod', pod: first };
  const home = book.homeOf(address);
  return (
    podOwner(assignedTo(pods, book.ownNode)) ??
    podOwner(assignedTo(pods, home)) ??
    serviceOf(book.services(address)) ??
    podOwner(pods) ??
    nodeOf(
      book.nodes(address).filter(({ name }) => home === undefined || name === home),
      false,
    ) ??
    nodeOf(listOf(book.lookedUpNode?.(address)), false) ??
    nodeOf(book.annotatedNodes(address), true) ??
    (home === undefined ? undefined : { kind: 'pod-range', home })
  );
}

function assignedTo<P extends PodOfNode>(pods: readonly P[], node: string | undefined): readonly P[] {
  return node === undefined ? [] : pods.filter((pod) => pod.node === node);
}

/** Pods of one Node are distinguished by their times, because one kubelet reports them all. */
function podOwner<P extends PodOfNode>(pods: readonly P[]): AddressOwner<P, never, never> | undefined {
  const [pod] = pods;
  if (pod === undefined) return undefined;
  return pods.every(({ node }) => node === pod.node) ? { kind: 'pod', pod } : { kind: 'disputed', between: 'Pods' };
}

function nodeOf<N>(nodes: readonly N[], isAnnotated: boolean): AddressOwner<never, N, never> | undefined {
  const [node] = nodes;
  if (node === undefined) return undefined;
  return nodes.length === 1 ? { kind: 'node', node, isAnnotated } : { kind: 'disputed', between: 'Nodes' };
}

/** Only saved lists have two Services with one ClusterIP. */
function serviceOf<S extends ServiceWithRole>(services: readonly S[]): AddressOwner<never, never, S> | undefined {
  const [first] = services;
  if (first === undefined) return undefined;
  const [service, ...others] = services.length === 1 ? services : services.filter(({ role }) => role !== undefined);
  return service === undefined || others.length > 0
    ? { kind: 'disputed', between: 'Services' }
    : { kind: 'service', service };
}

function listOf<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

/** Groups objects by address. */
export function indexByAddress<T>(
  objects: Iterable<T>,
  addressesOf: (object: T) => readonly string[],
): (address: string) => readonly T[] {
  const index = new Map<string, T[]>();
  for (const object of objects) {
    for (const address of addressesOf(object)) {
      const all = index.get(address);
      if (all === undefined) index.set(address, [object]);
      else if (!all.includes(object)) all.push(object);
    }
  }
  return (address) => index.get(address) ?? nobody;
}

const nobody: readonly never[] = [];
