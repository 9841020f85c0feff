/** Finds the two ends of the connection that `why` is asked about among the known objects. */
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import { suggest } from '../../config/suggest.ts';
import { isIPv6 } from '../../platform/address.ts';
import type { End, Flow, Pod } from '../../policies/policies.ts';
import { type AddressBook, indexByAddress, indexPodRanges, ownerOfAddress } from '../../resolving/resolving.ts';
import { type KnownNode, type KnownObjects, type ServiceAddresses, WhyError } from './known-objects.ts';

/** Of a named Pod with IPv4 and IPv6, the address of the other end's family is used. Throws a `WhyError`. */
export function findFlow({ from, to, port, protocol, files }: WhyOptions, objects: KnownObjects): Flow {
  const [opener, target] = [findEnd('--from', from, objects, files), findEnd('--to', to, objects, files)];
  const source = from.kind === 'pod' ? withFamily(opener, target) : opener;
  const destination = to.kind === 'pod' ? withFamily(target, source) : target;
  const isOfIPv6 = isIPv6(source.address ?? destination.address ?? '');
  return { source, destination, protocol: protocol === 'ICMP' && isOfIPv6 ? 'ICMPv6' : protocol, port };
}

/** Names the addresses that a Pod on another node may see in place of the Node's: policies then need them, too. */
export function tunnelNotes({ source, destination }: Flow, { nodes }: KnownObjects): string[] {
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

function findEnd(option: string, end: NamedEnd, objects: KnownObjects, files: readonly string[]): End {
  const { pods, complete } = objects;
  if (end.kind === 'pod') {
    const shown = `${option} ${end.namespace}/${end.name}`;
    const pod = pods.get(`${end.namespace}/${end.name}`);
    if (pod === undefined)
      throw new WhyError(`${shown}: there is no such Pod${files.length === 0 ? '' : hintFor(end, pods)}`);
    if (pod.completed) throw new WhyError(`${shown}: the Pod has completed`);
    return { kind: 'pod', pod, address: pod.addresses[0] };
  }
  const { address } = end;
  const owner = ownerOfAddress(address, bookOf(objects));
  switch (owner?.kind) {
    case 'pod':
      return { kind: 'pod', pod: owner.pod, address };
    case 'node':
      return { kind: 'node', node: owner.node, address };
    case 'service':
      throw new WhyError(
        `${option} ${address}: is of the Service ${owner.service.name}; policies see the Pod behind it, so name one`,
      );
    case 'disputed':
      return { kind: 'unknown', address };
    default:
      return { kind: complete.pods && complete.nodes ? 'external' : 'unknown', address };
  }
}

function bookOf({ pods, nodes, services }: KnownObjects): AddressBook<Pod, KnownNode, ServiceAddresses> {
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

/** Names Services that claim an address which is nobody's: what goes there may reach their Pods. */
export function claimNotes({ source, destination }: Flow, { services }: KnownObjects): string[] {
  return [source, destination].flatMap((end) => {
    if (end.kind === 'pod' || end.kind === 'node') return [];
    const names = [...services.values()].filter(({ claimed }) => claimed.includes(end.address)).map(({ name }) => name);
    if (names.length === 0) return [];
    const which = `${names.slice(0, mostClaims).join(', ')}${names.length > mostClaims ? ` and ${names.length - mostClaims} more` : ''}`;
    return `${end.address} is claimed by the ${names.length === 1 ? 'Service' : 'Services'} ${which} (externalIPs or load balancer): where that holds, policies see the Pod behind it, so ask for that Pod, too`;
  });
}

function hintFor({ namespace, name }: NamedEnd & { kind: 'pod' }, pods: KnownObjects['pods']): string {
  if (pods.size === 0)
    return '; no Pods are known: kubectl get pods,namespaces,nodes,services -A -o yaml > cluster.yaml saves them for --policies';
  const names = [...pods.values()].filter((pod) => pod.namespace === namespace).map((pod) => pod.name);
  if (names.length === 0) return `; no Pod of Namespace ${namespace} is known`;
  const own = names.find((each) => each.startsWith(`${name}-`));
  return own === undefined ? suggest(name, names) : `; did you mean ${own}?`;
}

function withFamily(end: End, other: End): End {
  if (end.kind !== 'pod' || other.address === undefined) return end;
  const family = isIPv6(other.address);
  const address = end.pod.addresses.find((each) => isIPv6(each) === family);
  return address === undefined ? end : { ...end, address };
}
