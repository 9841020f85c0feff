/** Reads the addresses of Nodes and Services, separated by their writers (resolving/address-owners.ts). */
import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../../base/platform/address.ts';
import { at, type Json, list, strings, text } from '../../base/platform/json.ts';

export function nodeAddresses(object: Json): string[] {
  return addresses(
    list(at(object, 'status', 'addresses')).map((each) => at(each, 'address')),
    mostAddresses.ofNode,
  );
}

/** Returns the addresses that only annotations name. The network plug-in writes them, and the kubelet may. */
export function annotatedAddresses(object: Json): string[] {
  const annotations = strings(at(object, 'metadata', 'annotations'));
  const ofStatus = new Set(nodeAddresses(object));
  return addresses(
    addressAnnotations.map((key) => annotations[key]),
    mostAddresses.ofNode,
  ).filter((each) => !ofStatus.has(each));
}

export function podRanges(object: Json): string[] {
  return ranges([...list(at(object, 'spec', 'podCIDRs')), at(object, 'spec', 'podCIDR')]);
}

/** Returns the addresses from which a Node sends its own packets to Pods on other nodes, if they go through a tunnel. */
export function tunnelAddresses(object: Json): string[] {
  const annotations = strings(at(object, 'metadata', 'annotations'));
  return addresses(
    tunnelAnnotations.map((key) => annotations[key]),
    mostAddresses.ofNode,
  );
}

/** Returns the addresses that the API server allocates. No other is a Service's own: see resolving/address-owners.ts. */
export function serviceAddresses(object: Json): string[] {
  return addresses(
    [...list(at(object, 'spec', 'clusterIPs')), at(object, 'spec', 'clusterIP')],
    mostAddresses.ofService,
  );
}

/** Returns the addresses that the author of a Service or a load balancer claims for it. */
export function claimedAddresses(object: Json): string[] {
  const balancers = list(at(object, 'status', 'loadBalancer', 'ingress')).map((each) => at(each, 'ip'));
  return addresses([...list(at(object, 'spec', 'externalIPs')), ...balancers], mostAddresses.ofService);
}

const tunnelAnnotations = [
  'projectcalico.org/IPv4IPIPTunnelAddr',
  'projectcalico.org/IPv4VXLANTunnelAddr',
  'projectcalico.org/IPv6VXLANTunnelAddr',
  'projectcalico.org/IPv4WireguardInterfaceAddr',
  'projectcalico.org/IPv6WireguardInterfaceAddr',
];

const addressAnnotations = [
  ...tunnelAnnotations,
  'projectcalico.org/IPv4Address',
  'projectcalico.org/IPv6Address',
  'flannel.alpha.coreos.com/public-ip',
];

/** The most addresses that are kept of one object, because a user who may create a Service may give it ninety thousand. */
export const mostAddresses = { ofService: 8, ofPod: 16, ofNode: 32 };

/** Keeps valid addresses only, without host names, `None` and the prefix length of a CIDR. */
export function addresses(values: Json[], most: number): string[] {
  const found = new Set<string>();
  for (const value of values) {
    if (found.size === most) break;
    const address = canonicalAddress(text(value)?.split('/', 1)[0] ?? '');
    if (address !== '') found.add(address);
  }
  return [...found];
}

function ranges(values: Json[]): string[] {
  return [
    ...new Set(values.filter((value): value is string => typeof value === 'string' && ipaddr.isValidCIDR(value))),
  ];
}
