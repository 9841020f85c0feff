/** Reads warnings in the kernel's log. */
import type {
  ConntrackFull,
  IpvsNoDestination,
  Martian,
  NeighbourOverflow,
  Suppressed,
  Unparsable,
} from '../../base/model/observation.ts';
import { canonicalAddress, copy } from '../../base/platform/address.ts';
import { unparsable } from './policy-loggers/record.ts';

/** Reads `nf_conntrack: table full, dropping packet`, also with `in netns N` (Linux nf_conntrack_core.c). */
export function parseConntrackFull(text: string): ConntrackFull | undefined {
  const found = /^(?:nf_conntrack: ){1,2}table full(?: in netns (\d{1,10}))?, dropping packet/.exec(text);
  if (!found) return undefined;
  return { kind: 'conntrack-full', netns: found[1] === undefined ? undefined : Number(found[1]) };
}

/** Reads `neighbour: arp_cache: neighbor table overflow!`, `IPv6: Neighbour table overflow` (Linux net/core/neighbour.c, route.c). */
export function parseNeighbourOverflow(text: string): NeighbourOverflow | undefined {
  const found = /^(?:neighbour: )?(?:(arp_cache|ndisc_cache|IPv6|ipv6|IPv4|ipv4): )?[Nn]eighbou?r table overflow/.exec(
    text,
  );
  if (!found) return undefined;
  const table = found[1]?.toLowerCase();
  return {
    kind: 'neighbour-overflow',
    family: table === undefined ? undefined : table === 'arp_cache' || table === 'ipv4' ? 'IPv4' : 'IPv6',
  };
}

/** Reads `IPVS: rr: TCP 10.96.0.10:53 - no destination available`, `[fd00::a]:53`, `FWM 7 0x00000007` (Linux ip_vs_sched.c). */
export function parseIpvs(text: string): IpvsNoDestination | Unparsable | undefined {
  const found =
    /^IPVS: \w{1,15}: (?:(FWM \d{1,10}) 0x[\dA-F]{8}|([A-Z]{2,7}) \[?([\da-fA-F.:]{2,45}?)\]?:(\d{1,5})) - no destination available(: all destinations are overloaded)?/.exec(
      text,
    );
  if (!found) return undefined;
  const [, mark, protocol, named = '', port, overloaded] = found;
  const address = canonicalAddress(named);
  if (mark === undefined && address === '') return unparsable('ipvs', `${named} is not an address`);
  const isIpv6 = address.includes(':');
  return {
    kind: 'ipvs-no-destination',
    family: mark !== undefined ? undefined : isIpv6 ? 'IPv6' : 'IPv4',
    service: mark === undefined ? `${isIpv6 ? `[${address}]` : address}:${port}/${protocol}` : copy(mark),
    isOverloaded: overloaded !== undefined,
  };
}

/** Reads `IPv4: martian source 10.0.0.2 from 10.0.0.1, on dev eth0` (Linux net/ipv4/route.c). The first address is the *destination*. */
export function parseMartian(text: string): Martian | Unparsable | undefined {
  const found = /^(?:IPv4: )?martian (source|destination) (\S{1,60}) from (\S{1,60}?),? (?:on )?dev (\S{1,15})/.exec(
    text,
  );
  if (!found) return undefined;
  const [, impossible, destination = '', source = '', device = ''] = found;
  const addresses = { source: canonicalAddress(source), destination: canonicalAddress(destination) };
  const wrong = addresses.source === '' ? source : addresses.destination === '' ? destination : undefined;
  if (wrong !== undefined) return unparsable('martian', `${wrong} is not an address`);
  return {
    kind: 'martian',
    impossible: impossible === 'source' ? 'source' : 'destination',
    ...addresses,
    device: copy(device),
  };
}

/** Reads the report of the rate limiter, `net_ratelimit: 23807 callbacks suppressed` (Linux lib/ratelimit.c). */
export function parseSuppressed(text: string): Suppressed | undefined {
  const found = /^([A-Za-z_]\w{0,63}): (\d{1,15}) callbacks suppressed/.exec(text);
  if (!found) return undefined;
  const [, by = '', count] = found;
  const affects = networkLimiters.test(by) ? 'kernel-warnings' : 'nothing';
  return { kind: 'suppressed', by: copy(by), count: Number(count), affects };
}

/** Reads journald's reports of records that it has lost or dropped (systemd src/journal/journald-kmsg.c, journald-server.c). */
export function parseJournald(text: string): Suppressed | undefined {
  const lost = { kind: 'suppressed', by: 'journald' } as const;
  const missed = /^Missed (\d{1,15}) kernel messages/.exec(text);
  if (missed) return { ...lost, count: Number(missed[1]), affects: 'everything' };
  if (text.startsWith('/dev/kmsg buffer overrun, some messages lost'))
    return { ...lost, count: undefined, affects: 'everything' };
  const [, count, unit = ''] = /^Suppressed (\d{1,15}) messages from (\S+)/.exec(text) ?? [];
  if (count === undefined) return undefined;
  return { ...lost, count: Number(count), affects: /kernel|kmsg/.test(unit) ? 'everything' : 'nothing' };
}

/** Matches functions whose rate limit may suppress the warnings that are read. LOG rules have no such limit. */
const networkLimiters = /^(?:net_ratelimit|(?:__)?nf_conntrack\w*|neigh\w*|ip_handle_martian\w*|dst_alloc|ip6_dst\w*)$/;
