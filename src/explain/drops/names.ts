/** Names the ends, policies, ports and ICMP types that a message mentions, and the commands that show a policy. */
import { readFileSync } from 'node:fs';
import type { Endpoint } from '../../base/model/endpoint.ts';
import type { PolicyName } from '../../base/model/packet.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';

/** Returns `shop/db-0`, `node node-a`, `Service default/kubernetes`, or the address. */
export function endpointName({ object, address }: Endpoint): string {
  if (!object) return address;
  if (object.kind === 'Node') return `node ${object.name}`;
  const name = `${object.namespace}/${object.name}`;
  return object.kind === 'Pod' ? name : `${object.kind} ${name}`;
}

/** Returns `NetworkPolicy shop/default-deny`, `GlobalNetworkPolicy lockdown (tier security)`. */
export function policyText({ kind, namespace, name, tier }: PolicyName): string {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind === undefined ? 'policy' : kind} ${full}${tier === undefined ? '' : ` (tier ${tier})`}`;
}

/** Returns `a, b, c, d, e and 12 more`. `past`: how often further values were seen; if ever, it says `over 12`. */
export function listed(seen: readonly string[], past: number): string {
  if (seen.length <= 6) return seen.join(', ');
  return `${seen.slice(0, 5).join(', ')} and ${past > 0 ? 'over ' : ''}${seen.length - 5} more`;
}

/** Well-known ports, one per line: `443/tcp https`. `scripts/build.mjs` replaces this call by the text. */
const registry = readFileSync(new URL('../../../data/iana-ports.txt', import.meta.url), 'latin1');

/** More familiar names, where the registry has an unusual one. */
const better: Record<string, string | undefined> = { '80/tcp': 'http', '80/udp': 'http' };

export function ianaName(port: number, protocol: string): string | undefined {
  if (port > 1023) return undefined;
  const transport = protocol === 'UDPLITE' ? 'udp' : protocol.toLowerCase();
  const key = `${port}/${transport}`;
  return better[key] ?? registered(key);
}

function registered(key: string): string | undefined {
  const at = registry.indexOf(`\n${key} `);
  if (at < 0) return undefined;
  const from = at + key.length + 2;
  return registry.slice(from, registry.indexOf('\n', from));
}

/** ICMP types of IANA's registry that occur in practice. */
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

export function icmpName(protocol: string, type: number, code: number | undefined): string {
  const six = protocol === 'ICMPv6';
  const detail = six ? (type === 1 ? unreachable6 : undefined) : type === 3 ? unreachable : undefined;
  const named = (code !== undefined && detail?.[code]) || (six ? icmpv6 : icmp)[type];
  return named ?? `type ${type}${code === undefined ? '' : ` code ${code}`}`;
}

/** Returns whether a router asks for smaller packets: ICMP "fragmentation needed" or ICMPv6 "packet too big". */
export function isPacketTooBig(protocol: string, type: number | undefined, code: number | undefined): boolean {
  return protocol === 'ICMPv6' ? type === 2 : type === 3 && code === 4;
}

/** kubectl's names for the kinds in Antrea's log. The short names are ambiguous, because other projects also use them. */
const resources = new Map([
  ['AntreaNetworkPolicy', 'networkpolicies.crd.antrea.io'],
  ['AntreaClusterNetworkPolicy', 'clusternetworkpolicies.crd.antrea.io'],
]);

/** Names come from logs, so only valid ones may be part of a command. */
export function isShown({ kind, namespace, name }: PolicyName): boolean {
  if (kind !== undefined && !/^[A-Za-z][\w.-]{0,252}$/.test(kind)) return false;
  return namespace === undefined ? kind !== undefined || isSubdomain(name) : isLabel(namespace);
}

/** Calico's own kinds are best shown by calicoctl. */
export function showPolicy({ kind: given, namespace, name }: PolicyName): string {
  const kind = resources.get(given ?? '') ?? given;
  const object = isSubdomain(name) ? ` ${name}` : '';
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  if (kind === undefined || kind === 'NetworkPolicy') return `kubectl${where} describe networkpolicy${object}`;
  if (/^(?:Staged|Global)|calico/.test(kind))
    return `calicoctl get ${kind.replace(/\..*/, '').toLowerCase()}${object}${where} -o yaml`;
  return `kubectl${where} get ${kind.toLowerCase()}${object} -o yaml`;
}
