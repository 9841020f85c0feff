import ipaddr from 'ipaddr.js';
import { ipv4Network, ipv4Number } from './ipv4.ts';
import type { Node } from './objects.ts';

/** Finds the node whose Pod range an address lies in. */
export function indexPodRanges(nodes: readonly Node[]): (address: string) => string | undefined {
  const ranges = nodes.flatMap(({ name, podRanges }) =>
    podRanges.map((cidr) => ({ name, range: ipaddr.parseCIDR(cidr) })),
  );
  const ipv6 = ranges.flatMap(({ name, range: [base, length] }) =>
    base instanceof ipaddr.IPv6 ? [{ name, base, length }] : [],
  );
  const ipv4 = ranges.flatMap(({ name, range: [base, length] }) => {
    const value = ipv4Number(base.toString());
    return value === undefined ? [] : [{ name, network: ipv4Network(value, length), length }];
  });
  return (address) => {
    const value = ipv4Number(address);
    if (value !== undefined) return ipv4.find(({ network, length }) => ipv4Network(value, length) === network)?.name;
    if (ipv6.length === 0) return undefined;
    const ip = ipaddr.IPv6.parse(address);
    return ipv6.find(({ base, length }) => ip.match(base, length))?.name;
  };
}
