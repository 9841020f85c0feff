import ipaddr from 'ipaddr.js';
import {
  type AddressRange,
  type Endpoint,
  type Evidence,
  type ObjectRef,
  podRef,
  workloadKey,
} from '../../base/model/endpoint.ts';
import { copy, isName } from '../../base/platform/address.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import type { Node, Pod, Service } from './objects.ts';

export function addressOnly(address: string) {
  const none = { object: undefined, workload: undefined, node: undefined, role: undefined, note: undefined };
  return { address, identity: address, range: rangeOf(address), ...none };
}

/** Caches the last endpoint of each Pod, because a Pod nearly always has one address and one interface. */
const latest = new WeakMap<Pod, Endpoint>();

export function podEndpoint(pod: Pod, address: string, evidence: Evidence, note?: string): Endpoint {
  const known = latest.get(pod);
  if (
    known !== undefined &&
    known.address === address &&
    known.evidence === evidence &&
    known.note === note &&
    known.object?.resourceVersion === pod.resourceVersion
  )
    return known;
  const endpoint = newPodEndpoint(pod, copy(address), evidence, note);
  latest.set(pod, endpoint);
  return endpoint;
}

function newPodEndpoint(pod: Pod, address: string, evidence: Evidence, note: string | undefined): Endpoint {
  const { namespace, name, workload, node, role, labels } = pod;
  const identity = workload ? workloadKey(workload) : `Pod/${namespace}/${name}`;
  const range = rangeOf(address);
  return { address, identity, range, object: podRef(pod), workload, node, role, labels, note, kind: 'pod', evidence };
}

export function nodeEndpoint(node: Node, address: string, evidence: Evidence = 'node-address'): Endpoint {
  const { name } = node;
  const identity = `Node/${name}`;
  const object = nodeRef(node);
  return { ...addressOnly(address), kind: 'node', evidence, identity, object, node: name };
}

export function serviceEndpoint(service: Service, address: string): Endpoint {
  const { namespace, name, role } = service;
  const identity = `Service/${namespace}/${name}`;
  const object = serviceRef(service);
  return { ...addressOnly(address), kind: 'service', evidence: 'service-address', identity, object, role };
}

export function unknownEndpoint(address: string, evidence: Evidence, note: string): Endpoint {
  const { range, role } = scopeOf(address);
  return { ...addressOnly(address), kind: 'unknown', evidence, range, role, note };
}

export function externalEndpoint(address: string, hostName: string | undefined): Endpoint {
  const scope = scopeOf(address);
  const { range, role } = scope;
  const note =
    hostName === undefined || scope.note === undefined ? (hostName ?? scope.note) : `${hostName}, ${scope.note}`;
  const none = undefined;
  const identity = address;
  const evidence = 'address-range';
  return { address, identity, range, object: none, workload: none, node: none, role, note, kind: 'external', evidence };
}

export function nodeRef({ name, uid, resourceVersion }: Node): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid, resourceVersion };
}

export function serviceRef(service: Pick<Service, 'namespace' | 'name'> & Partial<Service>): ObjectRef {
  const { namespace, name, uid = '', resourceVersion } = service;
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion };
}

export function namedNode(name: string): Node {
  return { name, uid: '', resourceVersion: undefined, addresses: [], podRanges: [], hostNames: [] };
}

export interface AddressScope {
  range: AddressRange;
  role: Endpoint['role'];
  note: string | undefined;
}

/** Addresses of well-known services, which count as link-local. Of IPv4, all are link-local. */
const known: Record<string, [Endpoint['role'], string]> = {
  '169.254.169.254': ['metadata', "the cloud's metadata service"],
  'fd00:ec2::254': ['metadata', "the cloud's metadata service"],
  '169.254.170.2': ['metadata', "the cloud's credentials service"],
  '169.254.170.23': ['metadata', "the cloud's Pod identity service"],
  '169.254.20.10': ['dns', 'the node-local DNS cache'],
  '169.254.25.10': ['dns', 'the node-local DNS cache'],
};

const ipv6Ranges = new RecentValues<AddressRange>(4096);

export function scopeOf(address: string): AddressScope {
  const range = rangeOf(address);
  const special = range === 'link-local' || address.includes(':') ? known[address] : undefined;
  if (special) return { range: 'link-local', role: special[0], note: special[1] };
  return { range, role: undefined, note: notes[range] };
}

/** A name instead of an address usually belongs to Pods, so it is private. */
export function rangeOf(address: string): AddressRange {
  const value = ipv4Number(address);
  if (value !== undefined) return ipv4Range(value);
  if (isName(address)) return address === 'public network' ? 'public' : 'private';
  let range = ipv6Ranges.get(address);
  if (range === undefined) ipv6Ranges.set(address, (range = ourRange(ipaddr.process(address).range())));
  return range;
}

const notes: Record<AddressRange, string | undefined> = {
  multicast: 'a multicast group',
  broadcast: 'broadcast',
  'link-local': 'a link-local address',
  loopback: 'loopback',
  unspecified: 'no address yet',
  private: 'not a Pod, node or Service',
  public: 'outside the cluster',
};

/** Translates a range of ipaddr.js, which knows the IANA registries, into one of the few that matter for a drop. */
function ourRange(range: string): AddressRange {
  switch (range) {
    case 'multicast':
    case 'broadcast':
    case 'loopback':
    case 'unspecified':
      return range;
    case 'linkLocal':
      return 'link-local';
    case 'private':
    case 'uniqueLocal':
    case 'carrierGradeNat':
      return 'private';
    default:
      return 'public';
  }
}

const dot = 46;

/** Returns a canonical dotted decimal address as a 32-bit number; undefined for IPv6 and names. */
function ipv4Number(address: string): number | undefined {
  let value = 0;
  let part = 0;
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    if (code === dot) {
      value = value * 256 + part;
      part = 0;
    } else if (code >= 48 && code <= 57) part = part * 10 + code - 48;
    else return undefined;
  }
  return value * 256 + part;
}

function ipv4Network(value: number, length: number): number {
  return length === 0 ? 0 : Math.floor(value / 2 ** (32 - length));
}

/** Follows IANA's special-purpose registry. ipaddr.js takes 4 µs, which is too long for each packet of a flood. A test compares both. */
function ipv4Range(value: number): AddressRange {
  const first = value >>> 24;
  const second = (value >>> 16) & 0xff;
  if (first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168))
    return 'private';
  if (first === 100 && second >= 64 && second < 128) return 'private';
  if (first === 127) return 'loopback';
  if (first === 169 && second === 254) return 'link-local';
  if (first === 0) return 'unspecified';
  if (first >= 224 && first < 240) return 'multicast';
  return value === 0xffffffff ? 'broadcast' : 'public';
}

interface PodRange {
  /** A number for IPv4, the eight 16-bit parts for IPv6. */
  base: number | readonly number[];
  length: number;
}

interface NodeRanges {
  readonly name: string;
  readonly podRanges: readonly string[];
}

/** Caches the ranges of each Node, because all are indexed again when one Node changes. */
const rangesRead = new WeakMap<NodeRanges, readonly PodRange[]>();

function rangesIn(node: NodeRanges): readonly PodRange[] {
  let ranges = rangesRead.get(node);
  if (ranges === undefined) {
    ranges = node.podRanges.map((range) => {
      const [base, length] = ipaddr.parseCIDR(range);
      return { base: ipv4Number(base.toString()) ?? (base as ipaddr.IPv6).parts, length };
    });
    rangesRead.set(node, ranges);
  }
  return ranges;
}

/** Returns the beginning of an address, as a key. */
function networkAt(base: PodRange['base'], length: number): number | string {
  if (typeof base === 'number') return ipv4Network(base, length);
  return base.map((part, index) => part >> Math.min(16, Math.max(0, 16 * (index + 1) - length))).join(':');
}

/**
 * Returns a function that finds the name of the node whose Pod range contains an address; undefined if none does. It asks once for each
 * length of a prefix, of which there are few, because a flood asks for each of its addresses.
 */
export function indexPodRanges(nodes: readonly NodeRanges[]): (address: string) => string | undefined {
  type Names = Map<number | string, string>;
  const byLength = { ipv4: new Map<number, Names>(), ipv6: new Map<number, Names>() };
  for (const node of nodes)
    for (const { base, length } of rangesIn(node)) {
      const lengths = byLength[typeof base === 'number' ? 'ipv4' : 'ipv6'];
      const names = lengths.get(length) ?? (new Map() as Names);
      lengths.set(length, names);
      const network = networkAt(base, length);
      if (!names.has(network)) names.set(network, node.name);
    }
  // The narrowest range counts, so that a Node with a wide one does not take those of the others.
  const narrowestFirst = ([one]: [number, Names], [other]: [number, Names]): number => other - one;
  const sorted = {
    ipv4: [...byLength.ipv4].toSorted(narrowestFirst),
    ipv6: [...byLength.ipv6].toSorted(narrowestFirst),
  };
  return (address) => {
    const value = ipv4Number(address);
    const lengths = sorted[value === undefined ? 'ipv6' : 'ipv4'];
    if (lengths.length === 0) return undefined;
    const base = value ?? ipaddr.IPv6.parse(address).parts;
    for (const [length, names] of lengths) {
      const name = names.get(networkAt(base, length));
      if (name !== undefined) return name;
    }
    return undefined;
  };
}
