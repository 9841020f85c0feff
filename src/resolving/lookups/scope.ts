import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { AddressRange, Endpoint } from '../../model/endpoint.ts';
import { ipv4Number, ipv4Range } from '../ipv4.ts';

/** Where an address lies that belongs to no object of the cluster. */
export interface Scope {
  range: AddressRange;
  role: Endpoint['role'];
  note: string | undefined;
}

/** Link-local addresses that are services all the same. */
const known: Record<string, [Endpoint['role'], string]> = {
  '169.254.169.254': ['metadata', "the cloud's metadata service"],
  'fd00:ec2::254': ['metadata', "the cloud's metadata service"],
  '169.254.170.2': ['metadata', "the cloud's credentials service"],
  '169.254.170.23': ['metadata', "the cloud's Pod identity service"],
  '169.254.20.10': ['dns', 'the node-local DNS cache'],
  '169.254.25.10': ['dns', 'the node-local DNS cache'],
};

const ipv6 = new LRUCache<string, AddressRange>({ max: 4096 });

/** `address` is canonical. */
export function scopeOf(address: string): Scope {
  const range = rangeOf(address);
  const special = range === 'public' ? undefined : known[address];
  if (special) return { range: 'link-local', role: special[0], note: special[1] };
  return { range, role: undefined, note: notes[range] };
}

export function rangeOf(address: string): AddressRange {
  const value = ipv4Number(address);
  if (value !== undefined) return ipv4Range(value);
  let range = ipv6.get(address);
  if (range === undefined) ipv6.set(address, (range = ourRange(ipaddr.process(address).range())));
  return range;
}

const notes: Record<AddressRange, string | undefined> = {
  multicast: 'a multicast group',
  broadcast: 'broadcast',
  'link-local': 'a link-local address',
  loopback: 'loopback',
  unspecified: 'no address yet',
  private: 'not a Pod, node or Service of this cluster',
  public: 'outside the cluster',
};

/** ipaddr.js knows the IANA special-purpose registries; only what differs for a drop is kept apart. */
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
