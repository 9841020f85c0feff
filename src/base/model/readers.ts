/** Decides which readers may learn the name of an object. Every text and row that names objects asks here, whatever its source. */

/** An object that a text names, or whose labels it shows. */
export interface NamedObject {
  /** Undefined if a log names the object without its kind. */
  readonly kind: string | undefined;
  /** Undefined for objects of the whole cluster, and if a log names the object without its Namespace. */
  readonly namespace: string | undefined;
}

/** The readers of a Namespace's Events. */
export interface Reader {
  /** Undefined for administrators of the cluster: readers of Nodes' Events, and of commands' output with their own rights. */
  readonly namespace: string | undefined;
  /** Returns whether a Namespace has opted out of being described to others. By default none has. */
  readonly hasOptedOut?: (namespace: string) => boolean;
}

/** Kinds whose objects are in a Namespace, even if a log does not name it. */
const namespacedKinds: ReadonlySet<string> = new Set([
  'NetworkPolicy',
  'NetworkPolicy.projectcalico.org',
  'StagedNetworkPolicy',
  'StagedKubernetesNetworkPolicy',
  'AntreaNetworkPolicy',
  'CiliumNetworkPolicy',
  'EgressFirewall',
  'NetworkSet',
  'ServiceAccount',
  'Service',
]);

/** Objects whose labels readers of other Namespaces see where their own policy asks for them. */
const peers: ReadonlySet<string | undefined> = new Set(['Pod', 'Namespace']);

export function mayName({ kind, namespace }: NamedObject, reader: Reader): boolean {
  if (reader.namespace === undefined || namespace === reader.namespace) return true;
  // Rules of the node's own firewall and policies of the whole cluster belong to no Namespace.
  if (namespace === undefined) return kind !== undefined && !namespacedKinds.has(kind);
  return peers.has(kind) && reader.hasOptedOut?.(namespace) !== true;
}
