/** IANA's ICMP types (RFC 792 and others), those that people meet. */
const icmp: Record<number, string> = {
  0: 'echo reply',
  3: 'destination unreachable',
  4: 'source quench',
  5: 'redirect',
  8: 'echo request (ping)',
  9: 'router advertisement',
  10: 'router solicitation',
  11: 'time exceeded',
  12: 'parameter problem',
  13: 'timestamp',
  14: 'timestamp reply',
};
const unreachable: Record<number, string> = {
  0: 'network unreachable',
  1: 'host unreachable',
  2: 'protocol unreachable',
  3: 'port unreachable',
  4: 'fragmentation needed',
  5: 'source route failed',
  6: 'network unknown',
  7: 'host unknown',
  9: 'network prohibited',
  10: 'host prohibited',
  13: 'administratively prohibited',
};
const icmpv6: Record<number, string> = {
  1: 'destination unreachable',
  2: 'packet too big',
  3: 'time exceeded',
  4: 'parameter problem',
  128: 'echo request (ping)',
  129: 'echo reply',
  130: 'multicast listener query',
  131: 'multicast listener report',
  132: 'multicast listener done',
  133: 'router solicitation',
  134: 'router advertisement',
  135: 'neighbour solicitation',
  136: 'neighbour advertisement',
  137: 'redirect',
  143: 'multicast listener report',
};
const unreachable6: Record<number, string> = {
  0: 'no route',
  1: 'administratively prohibited',
  2: 'beyond scope of source address',
  3: 'address unreachable',
  4: 'port unreachable',
  5: 'source address failed policy',
  6: 'route rejected',
};

/** `fragmentation needed`, `echo request (ping)`, or `type 42 code 0`. */
export function icmpName(protocol: string, type: number, code: number | undefined): string {
  const six = protocol === 'ICMPv6';
  const detail = six ? (type === 1 ? unreachable6 : undefined) : type === 3 ? unreachable : undefined;
  const named = (code !== undefined && detail?.[code]) || (six ? icmpv6 : icmp)[type];
  return named ?? `type ${type}${code === undefined ? '' : ` code ${code}`}`;
}

/** ICMP "fragmentation needed" and ICMPv6 "packet too big": a router asks for smaller packets. */
export function isPacketTooBig(protocol: string, type: number | undefined, code: number | undefined): boolean {
  return protocol === 'ICMPv6' ? type === 2 : type === 3 && code === 4;
}
