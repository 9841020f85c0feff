/** Finds the two ends of the connection that `why` is asked about among the known objects. */
import type { NamedEnd } from '../options/why-options.ts';
import { didYouMean } from '../../agent/config/suggest.ts';
import { isIPv6 } from '../../base/platform/address.ts';
import type { End, PolicyFlow, PolicyPod } from '../../explain/policies/policies.ts';
import {
  type AddressBook,
  type AddressOwner,
  indexByAddress,
  indexPodRanges,
  ownerOfAddress,
} from '../../explain/resolving/resolving.ts';
import { type KnownNode, type KnownObjects, WhyError } from './known-objects.ts';
import type { ServiceSpec } from './services.ts';

/** Names the addresses that a Pod on another node may see in place of the Node's: policies then need them, too. */
export function tunnelNotes({ source, destination }: PolicyFlow, { nodes }: KnownObjects): string[] {
  const name =
    source.kind === 'node' ? source.node.name : source.kind === 'pod' && source.pod.hostNetwork && source.pod.node;
  const { tunnels = [], addresses = [] } = (name && nodes.get(name)) || {};
  const isNear = destination.kind !== 'pod' || destination.pod.hostNetwork || destination.pod.node === name;
  const { address = addresses[0] ?? '' } = source;
  if (isNear || tunnels.includes(address)) return [];
  return tunnels
    .filter((each) => isIPv6(each) === isIPv6(address))
    .map(
      (each) => `Node ${name} sends from ${each} what goes to a Pod through its tunnel: ask with --from ${each}, too`,
    );
}

/** Throws a `WhyError` if there is no such object. */
export function findEnd(option: string, end: NamedEnd, objects: KnownObjects, files: readonly string[]): End {
  const { pods, nodes } = objects;
  switch (end.kind) {
    case 'pod': {
      const shown = `${option} ${end.namespace}/${end.name}`;
      const pod = pods.get(`${end.namespace}/${end.name}`);
      if (pod === undefined)
        throw new WhyError(`${shown}: there is no such Pod${files.length === 0 ? '' : hintFor(end, pods)}`);
      if (pod.completed) throw new WhyError(`${shown}: the Pod has completed`);
      return { kind: 'pod', pod, address: pod.addresses[0] };
    }
    case 'workload':
      return ofWorkload(option, end, objects);
    case 'node': {
      const node = nodes.get(end.name);
      if (node === undefined) throw new WhyError(`${option} ${end.name}: there is no such Node`);
      return { kind: 'node', node, address: node.addresses[0] };
    }
    case 'service':
      throw new WhyError(`${option} ${end.namespace}/${end.name}: a Service opens no connection, so name a Pod`);
    default:
      if (addressOwner(end.address, objects)?.kind === 'service')
        throw new WhyError(`${option} ${end.address}: is of a Service, which opens no connection, so name a Pod`);
      return endOfAddress(end.address, objects);
  }
}

/** All Pods of a workload have the same labels, so one stands for them. */
function ofWorkload(
  option: string,
  { workload, namespace, name }: NamedEnd & { kind: 'workload' },
  { pods, ownerOf, jobOf }: KnownObjects,
): End {
  for (const pod of pods.values()) {
    if (pod.namespace !== namespace || pod.completed) continue;
    const owner = workload === 'Job' ? { kind: workload, name: jobOf(pod) } : ownerOf(pod);
    if (owner?.kind === workload && owner.name === name) return { kind: 'pod', pod, address: pod.addresses[0] };
  }
  throw new WhyError(`${option} ${workload} ${namespace}/${name}: no Pod of it is known`);
}

export function endOfAddress(address: string, objects: KnownObjects): End {
  const owner = addressOwner(address, objects);
  if (owner?.kind === 'pod') return { kind: 'pod', pod: owner.pod, address };
  if (owner?.kind === 'node') return { kind: 'node', node: owner.node, address };
  const { pods, nodes } = objects.complete;
  return { kind: pods && nodes && owner?.kind !== 'disputed' ? 'external' : 'unknown', address };
}

const books = new WeakMap<KnownObjects, AddressBook<PolicyPod, KnownNode, ServiceSpec>>();

/** Undefined for an address that no object has by its status. */
export function addressOwner(
  address: string,
  objects: KnownObjects,
): AddressOwner<PolicyPod, KnownNode, ServiceSpec> | undefined {
  const book = books.get(objects) ?? bookOf(objects);
  books.set(objects, book);
  return ownerOfAddress(address, book);
}

function bookOf({ pods, nodes, services }: KnownObjects): AddressBook<PolicyPod, KnownNode, ServiceSpec> {
  const all = [...nodes.values()];
  const running = [...pods.values()].filter(({ completed, hostNetwork }) => !completed && !hostNetwork);
  return {
    pods: indexByAddress(running, ({ addresses }) => addresses),
    services: indexByAddress(services.values(), ({ addresses }) => addresses),
    nodes: indexByAddress(all, ({ addresses }) => addresses),
    annotatedNodes: indexByAddress(all, ({ annotated }) => annotated),
    homeOf: indexPodRanges(all),
  };
}

const mostClaims = 3;

/** Names Services that claim an address without an owner: packets to it may reach their Pods. */
export function claimNotes({ source, destination }: PolicyFlow, { services }: KnownObjects): string[] {
  return [source, destination].flatMap((end) => {
    const { kind, address } = end;
    if (kind === 'pod' || kind === 'node' || address === undefined) return [];
    const names = [...services.values()].filter(({ claimed }) => claimed.includes(address)).map(({ name }) => name);
    if (names.length === 0) return [];
    const which = `${names.slice(0, mostClaims).join(', ')}${names.length > mostClaims ? ` and ${names.length - mostClaims} more` : ''}`;
    return `${address} is claimed by the ${names.length === 1 ? 'Service' : 'Services'} ${which} (externalIPs or load balancer): where that holds, policies see the Pods behind it, so ask for that Service also`;
  });
}

function hintFor({ namespace, name }: NamedEnd & { kind: 'pod' }, pods: KnownObjects['pods']): string {
  if (pods.size === 0)
    return '; no Pods are known: kubectl get pods,namespaces,nodes,services -A -o yaml > cluster.yaml saves them for --policies';
  const names = [...pods.values()].filter((pod) => pod.namespace === namespace).map((pod) => pod.name);
  if (names.length === 0) return `; no Pod of Namespace ${namespace} is known`;
  const own = names.find((each) => each.startsWith(`${name}-`));
  return own === undefined ? didYouMean(name, names) : `; did you mean ${own}?`;
}

/** Of a Pod or Node with IPv4 and IPv6, uses the address of the other end's family. */
export function withFamily(end: End, other: End, { nodes }: Pick<KnownObjects, 'nodes'>): End {
  if (other.address === undefined || (end.kind !== 'pod' && end.kind !== 'node')) return end;
  const family = isIPv6(other.address);
  const addresses = end.kind === 'pod' ? end.pod.addresses : (nodes.get(end.node.name)?.addresses ?? []);
  const address = addresses.find((each) => isIPv6(each) === family);
  return address === undefined ? end : { ...end, address };
}

export function endText(end: End): string {
  if (end.kind === 'pod') return `${end.pod.namespace}/${end.pod.name}`;
  return end.kind === 'node' ? `Node ${end.node.name}` : (end.address ?? 'any address');
}
