import { isName } from '../../base/platform/address.ts';
import { isHostName } from '../../base/platform/api-names.ts';
import type { Endpoint, Ends } from '../../base/model/endpoint.ts';
import type { Martian } from '../../base/model/observation.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import type { EndpointFinder, Moment } from './endpoint-finder.ts';
import { externalEndpoint, nodeEndpoint } from './endpoints.ts';
import { isPodInterface } from './pod-index.ts';

export function endsOf(observation: PacketObservation | Martian, endpoints: EndpointFinder, at: Moment): Ends {
  return observation.kind === 'packet'
    ? resolvePacket(observation, endpoints, at)
    : resolveMartian(observation, endpoints, at);
}

/** A Pod's interface is the best evidence, even for a foreign address. `logged`: the node, for loggers that name Pods; '' for any. */
export function resolvePacket(
  observation: PacketObservation,
  endpoints: EndpointFinder,
  at: Moment,
  logged = '',
): Ends {
  const {
    packet,
    inner,
    inInterface,
    outInterface,
    physIn,
    physOut,
    sourceName,
    destinationName,
    destinationHost,
    policySide,
  } = observation;
  let source = byInterfaces(endpoints, inInterface, physIn, packet.source, at);
  let destination = byInterfaces(endpoints, outInterface, physOut, packet.destination, at);
  source ??= endOf(packet.source, sourceName, 'sender');
  destination ??= endOf(packet.destination, destinationName, 'receiver');
  if (destinationHost !== undefined && destination.kind === 'external')
    destination = { ...externalEndpoint(packet.destination, destinationHost), hostName: destinationHost };
  if (inInterface === '' && source.evidence === 'address-range') source = ownNode(packet.source, endpoints) ?? source;
  const interfaces = { fromPodInterface: isPodInterface(inInterface), toPodInterface: isPodInterface(outInterface) };
  // Conntrack translates an ICMP error together with the packet in it. If the addresses disagree, the packet is forged.
  if (inner?.source !== packet.destination) return { source, destination, inner: undefined, ...interfaces };
  const isTarget = inner.destination === packet.source && source.note === undefined;
  const target = isTarget ? source : endpoints.byAddress(inner.destination, at);
  return { source, destination, inner: { source: destination, destination: target }, ...interfaces };

  function endOf(address: string, named: string | undefined, side: 'sender' | 'receiver'): Endpoint {
    return isName(address)
      ? endpoints.byName(address, at, policySide === side ? logged : undefined)
      : endpoints.byAddress(address, at, named);
  }
}

/** The kernel names no input device for packets of the node itself. The address of its bridge or gateway is in its Pod range. */
function ownNode(address: string, endpoints: EndpointFinder): Endpoint | undefined {
  const home = endpoints.homeOf(address);
  const node = home === undefined ? undefined : endpoints.node(home);
  return node && nodeEndpoint(node, address);
}

/** The kernel does not trust the source address of a martian, so only the interface shows the sender. */
export function resolveMartian({ source, destination, device }: Martian, endpoints: EndpointFinder, at: Moment): Ends {
  const sender = endpoints.podByInterface(device, source, at);
  const claimed = endpoints.byAddress(source, at);
  const unknownPeer: Endpoint = {
    ...claimed,
    kind: 'external',
    identity: `${device} ${source}`,
    evidence: 'none',
    object: undefined,
    workload: undefined,
    role: undefined,
    note: claimed.object
      ? `from ${device}, but the address is of ${claimed.object.namespace ?? 'node'}/${claimed.object.name}`
      : `from ${device}`,
  };
  return {
    source: sender ?? unknownPeer,
    destination: endpoints.byAddress(destination, at),
    inner: undefined,
    fromPodInterface: isPodInterface(device),
    toPodInterface: false,
  };
}

/** Returns the name of a line's node: of its host, of the interface, the host itself if it is a host name, or of the only node; else ''. */
export function loggedNode(
  host: string | undefined,
  observation: PacketObservation | undefined,
  endpoints: EndpointFinder,
  at: Moment,
): string {
  if (host !== undefined) {
    const node = endpoints.nodeOfHost(host);
    if (node) return node.name;
  }
  if (observation !== undefined) {
    const { inInterface, outInterface, packet } = observation;
    const ofInterface = byInterface(inInterface, packet.source) ?? byInterface(outInterface, packet.destination);
    if (ofInterface !== undefined) return ofInterface;
  }
  if (host !== undefined && isHostName(host)) return host;
  const [first] = endpoints.nodes;
  return first !== undefined && endpoints.nodes.length === 1 ? first.name : '';

  function byInterface(name: string, address: string): string | undefined {
    return isPodInterface(name) ? endpoints.nodeByInterface(name, address, at) : undefined;
  }
}

function byInterfaces(
  endpoints: EndpointFinder,
  name: string,
  port: string | undefined,
  address: string,
  at: Moment,
): Endpoint | undefined {
  return (
    (name === '' ? undefined : endpoints.podByInterface(name, address, at)) ??
    (port === undefined ? undefined : endpoints.podByInterface(port, address, at))
  );
}
