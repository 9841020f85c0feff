import ipaddr from 'ipaddr.js';
import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import {
  onSteadyClock,
  type Owners,
  type Pod,
  type PodFinder,
  type FinderState,
} from '../../explain/resolving/resolving.ts';
import type { Connection } from './connection.ts';
import { at, type Json, list, spelled, text } from '../../base/platform/json.ts';
import { RefusedError } from './http.ts';
import { ifUsable, slimPod } from './slim.ts';
import { isAllowed } from './rights.ts';
import { createSharedAnswers } from '../../base/platform/fresh-values.ts';
import { weightOf } from '../../base/platform/weight.ts';
import { networkOf } from '../../base/platform/address.ts';

/** Calico's datastore keeps blocks as custom resources, newer releases in the second group. Calico's own API server serves none. */
const versions = { 'crd.projectcalico.org': 'v1', 'projectcalico.org': 'v3' } as const;
type Group = keyof typeof versions;

interface Pool {
  network: NonNullable<ReturnType<typeof parseNetwork>>;
  blockSize: number;
}

type Holder = { kind: 'pod'; namespace: string; name: string } | { kind: 'node'; node: string };

/** The holders by their position in the block; undefined if the block does not exist. */
type Block = ReadonlyMap<number, Holder> | undefined;

/** Pools hardly ever change, but a missing right may be granted later. */
const poolsAge: Millis = 600_000;
/** An old block names no wrong Pod, because the Pod itself confirms its address. A node does not. */
const blockAge: Millis = 600_000;
/** How long a block is used to answer that an address has no owner. */
const missAge: Millis = 10_000;

/** The most blocks in memory. One takes about 12 KB, so this is enough for a cluster of 16,000 Pods. */
const blocks = 256;
/** More pools than any cluster has. */
const poolLimit = 256;

const blockSizes = { ipv4: { default: 26, from: 20, to: 32 }, ipv6: { default: 122, from: 116, to: 128 } };

export interface PodListOptions {
  connection: Pick<Connection, 'request'>;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  /** The labels to keep of each Pod; by default none. */
  podLabels?: readonly string[] | undefined;
}

/**
 * Finds the Pod of an address by its block in Calico's IPAM: one GET names the Pods of 64 addresses (libcalico-go,
 * lib/backend/model/block.go). A second GET reads the Pod, because the block has neither uid nor workload, and the Pod may be gone.
 */
export function createCalicoBlockFinder({ connection, clock, podLabels }: PodListOptions): Required<PodFinder> {
  const { now } = clock;
  const pools = createSharedAnswers(() => readPools(connection), { entries: 1, now });
  const blocksRead = createSharedAnswers(
    (path): Promise<Block> => read(path).then((object) => (object === undefined ? undefined : holdersIn(object))),
    { entries: blocks, now, weigh: weightOf },
  );
  let deniedUntil: Millis = -Infinity;

  return { way: 'calico-block', find, look };

  async function find(address: string): Promise<Owners | undefined> {
    if (now() < deniedUntil) return undefined;
    const { value: found } = await pools.get('', poolsAge);
    if (typeof found === 'string') return undefined;
    const pool = found.pools.find(({ network }) => contains(network, address));
    if (pool === undefined) return undefined;
    const { cidr, ordinal } = blockOf(address, pool.blockSize);
    const path = `/apis/${found.group}/${versions[found.group]}/ipamblocks/${nameOf(cidr)}`;
    let exists = false;
    // An old block may name a Pod that is gone. In that case a new block is read.
    for (const age of [blockAge, missAge]) {
      const { value: block, isNew } = await blocksRead.get(path, age);
      exists = block !== undefined;
      const holder = block?.get(ordinal);
      const owners = holder === undefined ? undefined : await ownersOf(holder, address);
      if (owners !== undefined) return owners;
      if (isNew) break;
    }
    // An address in a pool but without a block belongs to another IPAM, such as host-local.
    return exists ? { pods: [] } : undefined;
  }

  async function ownersOf(holder: Holder, address: string): Promise<Owners | undefined> {
    if (holder.kind === 'node') return { pods: [], node: holder.node };
    const pod = await readPod(holder.namespace, holder.name);
    return pod !== undefined && !pod.hostNetwork && pod.addresses.includes(address) ? { pods: [pod] } : undefined;
  }

  async function readPod(namespace: string, name: string): Promise<Pod | undefined> {
    const object = await read(`/api/v1/namespaces/${namespace}/pods/${name}`);
    const pod = object === undefined ? undefined : ifUsable((found) => slimPod(found, podLabels))(object);
    return pod === undefined ? undefined : onSteadyClock(pod, clock.fromWall);
  }

  async function read(path: string): Promise<Json> {
    const answer = await connection.request('GET', path, { query: { resourceVersion: '0' } });
    if (answer.kind === 'answered') return answer.body;
    if (answer.status === 404) return undefined;
    if (answer.status === 403) deniedUntil = now() + poolsAge;
    throw new RefusedError(answer);
  }

  async function look(): Promise<FinderState> {
    try {
      const { value: found } = await pools.get('', poolsAge);
      if (typeof found === 'string') return { usable: false, why: found };
      const [block, pod] = await Promise.all([
        isAllowed(connection, 'get', 'ipamblocks', found.group),
        isAllowed(connection, 'get', 'pods'),
      ]);
      const missing = [block === false ? 'ipamblocks' : '', pod === false ? 'pods' : ''].filter((each) => each !== '');
      if (missing.length > 0)
        return { usable: false, why: `may not get ${missing.join(' and ')}: the component calico-lookups grants it` };
      return { usable: true, why: `${found.pools.length} IPPools of Calico` };
    } catch (error) {
      return { usable: false, why: `IPPools could not be read: ${(error as Error).message}` };
    }
  }
}

async function readPools({
  request,
}: Pick<Connection, 'request'>): Promise<{ group: Group; pools: readonly Pool[] } | string> {
  let why = 'no IPPools of Calico';
  for (const group of Object.keys(versions) as Group[]) {
    const query = { limit: poolLimit };
    const answer = await request('GET', `/apis/${group}/${versions[group]}/ippools`, { query });
    if (answer.kind === 'answered') {
      const found = list(at(answer.body, 'items')).flatMap(poolIn);
      if (found.length > 0) return { group, pools: found };
    } else if (answer.status === 403)
      why = 'may not list ippools: the component calico-lookups grants it, where this is Calico';
    else if (answer.status !== 404) throw new RefusedError(answer);
  }
  return why;
}

/** Names the block of a network: `10.244.1.0/26` → `10-244-1-0-26` (libcalico-go, lib/names, CIDRToName). */
function nameOf(cidr: string): string {
  return cidr.replaceAll(/[.:/]/g, '-');
}

function poolIn(object: Json): Pool[] {
  const network = parseNetwork(at(object, 'spec', 'cidr'));
  if (network === undefined) return [];
  const sizes = blockSizes[network[0].kind()];
  const given = at(object, 'spec', 'blockSize');
  const isSize = typeof given === 'number' && Number.isInteger(given) && given >= sizes.from && given <= sizes.to;
  return [{ network, blockSize: isSize ? given : sizes.default }];
}

/** Reserved addresses have no holder. */
function holdersIn(object: Json): ReadonlyMap<number, Holder> {
  const holders = list(at(object, 'spec', 'attributes')).map(holderIn);
  const found = new Map<number, Holder>();
  for (const [ordinal, index] of list(at(object, 'spec', 'allocations'))
    .slice(0, largestBlock)
    .entries()) {
    const holder = typeof index === 'number' ? holders[index] : undefined;
    if (holder !== undefined) found.set(ordinal, holder);
  }
  return found;
}

const largestBlock = 4096;

function holderIn(attribute: Json): Holder | undefined {
  const secondary = at(attribute, 'secondary');
  const namespace = spelled(at(secondary, 'namespace'), isLabel);
  const name = spelled(at(secondary, 'pod'), isSubdomain);
  if (namespace !== undefined && name !== undefined) return { kind: 'pod', namespace, name };
  const node = spelled(at(secondary, 'node'), isSubdomain);
  const isTunnel = /^(?:ipip|vxlan|vxlanV6|wireguard|wireguardV6)TunnelAddress$/.test(
    text(at(secondary, 'type')) ?? '',
  );
  return isTunnel && node !== undefined ? { kind: 'node', node } : undefined;
}

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

function parseNetwork(cidr: unknown): Network | undefined {
  return typeof cidr === 'string' && cidr.length < 50 && ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined;
}

function contains(network: Network, address: string): boolean {
  const ip = ipaddr.parse(address);
  return ip.kind() === network[0].kind() && (ip as ipaddr.IPv4).match(network);
}

/** `address` is canonical; the block has `2^(width - length)` addresses. */
function blockOf(address: string, length: number): { cidr: string; ordinal: number } {
  const bytes = ipaddr.parse(address).toByteArray();
  const [high = 0, low = 0] = bytes.slice(-2);
  const ordinal = (high * 256 + low) % 2 ** (bytes.length * 8 - length);
  return { cidr: networkOf(address, { ipv4: length, ipv6: length }), ordinal };
}
