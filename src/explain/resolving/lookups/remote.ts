import type { Endpoint, Ends } from '../../../base/model/endpoint.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { isName } from '../../../base/platform/address.ts';
import { type MemoryBudget, unlimitedMemory } from '../../../base/platform/memory-budget.ts';
import type { Bytes } from '../../../base/platform/weight.ts';
import { weightOfPod } from '../object-weights.ts';
import { createLookup, type Lookup, type LookupCounts, type Owners } from './lookup.ts';
import type { Pod } from '../objects.ts';

export interface RemoteOptions {
  findPods: ((address: string, asker: string) => Promise<Owners>) | undefined;
  findHostName: ((address: string) => Promise<string | undefined>) | undefined;
  /** All Pods of the cluster are listed, so nothing has to be looked up. Default: false. */
  hasAllPods?: boolean;
  onChange: (address: string) => void;
  now: () => Millis;
  /** Weighs answers about Pods, because a tenant may have thousands of Pods that had one address. */
  memory?: MemoryBudget;
}

/** Limits the look-ups of one node by all ways together (`LookupOptions`). Expensive ways also have budgets of their own. */
const podPolicy = {
  budget: { rate: 12 / 60, burst: 30, each: 4 },
  concurrency: { all: 3, each: 2 },
  ages: { hit: 300_000, miss: 60_000, failed: 10_000 },
};

const namePolicy = {
  budget: { rate: 0.5, burst: 20, each: 2 },
  concurrency: { all: 5, each: 4 },
  ages: { hit: 3_600_000, miss: 600_000, failed: 60_000 },
};

const nothing = { hit: 0, miss: 0, failed: 0, refused: 0, cached: 0 };

export interface RemoteLookups {
  podsOf: (address: string) => readonly Pod[] | undefined;
  nodeOf: (address: string) => string | undefined;
  hostNameOf: (address: string) => string | undefined;
  readonly latestChange: Millis;
  /** Returns whether it is worth waiting for the answers. */
  startLookups(ends: Ends): boolean;
  /** Returns whether the address has no owner only because no look-up has found it yet. */
  readonly isUnsure: (end: Endpoint) => boolean;
  readonly counts: { pods: Readonly<LookupCounts>; hostNames: Readonly<LookupCounts> };
}

export function createRemoteLookups(options: RemoteOptions): RemoteLookups {
  const { findPods, findHostName, hasAllPods = false, onChange, now, memory = unlimitedMemory() } = options;
  let latestChange: Millis = -Infinity;
  const common = { onSettled: onChange, entries: 4096, now };
  const pods: Lookup<Owners> | undefined =
    findPods &&
    createLookup({
      ...common,
      ...podPolicy,
      weighed: { memory, weigh: weightOfOwners, namespaceOf: ({ pods: [pod] }) => pod?.namespace ?? '' },
      find: async (address, asker) => foundIn(await findPods(address, asker), address),
    });
  const hostNames = findHostName && createLookup({ ...common, ...namePolicy, find: findHostName });
  return {
    podsOf: (address: string): readonly Pod[] | undefined => pods?.get(address)?.pods,
    nodeOf: (address: string): string | undefined => pods?.get(address)?.node,
    hostNameOf: (address: string): string | undefined => hostNames?.get(address),
    get latestChange(): Millis {
      return latestChange;
    },
    startLookups({ source, destination, inner }: Ends): boolean {
      // Begin the look-ups of all ends before returning, so that they run at the same time.
      const ofSource = isWorthWaiting(source, askerOf(destination, source));
      const ofDestination = isWorthWaiting(destination, askerOf(source, destination));
      const ofSender = inner !== undefined && isWorthWaiting(inner.source, askerOf(destination, source));
      const ofTarget = inner !== undefined && isWorthWaiting(inner.destination, askerOf(destination, source));
      return ofSource || ofDestination || ofSender || ofTarget;
    },
    isUnsure: ({ kind, range, address }) =>
      kind === 'external' && range === 'private' && !hasAllPods && pods?.isKnown(address) !== true,
    get counts(): { pods: Readonly<LookupCounts>; hostNames: Readonly<LookupCounts> } {
      return { pods: pods?.counts ?? nothing, hostNames: hostNames?.counts ?? nothing };
    },
  };

  function isWorthWaiting(end: Endpoint, asker: string): boolean {
    if (isName(end.address)) return false;
    // An annotation is believed only if the address has no other owner. Other owners are confirmed, because they may have changed.
    if (end.evidence === 'node-annotation') return askForPods(end.address, asker);
    if (end.evidence === 'pod-address' || end.evidence === 'node-address')
      return pods?.get(end.address) !== undefined && askForPods(end.address, asker);
    if (end.object !== undefined || end.role !== undefined) return false;
    // The source of a martian is never looked up, because the owner of the address did not send it.
    if (end.kind === 'external' && end.evidence === 'none') return false;
    if (end.kind === 'unknown' || end.range === 'private') {
      if (askForPods(end.address, asker)) return true;
      return end.kind === 'external' && ask(hostNames, end.address, asker);
    }
    return end.range === 'public' && ask(hostNames, end.address, asker);
  }

  /** Looks up the first address of a known Pod, because some ways find only the first. The answer also confirms the Pod's other addresses. */
  function askForPods(address: string, asker: string): boolean {
    const first = pods?.get(address)?.pods[0]?.addresses[0] ?? address;
    if (first === address) return ask(pods, address, asker);
    const state = pods?.ask(first, asker);
    if (state !== 'known') return state === 'pending';
    const confirmed = pods?.get(first)?.pods.some(({ addresses }) => addresses.includes(address)) ?? false;
    return !confirmed && ask(pods, address, asker);
  }

  function foundIn({ pods: list, node }: Owners, address: string): Owners | undefined {
    const all = list.filter((pod) => !pod.hostNetwork);
    for (const pod of all) {
      // The Pod exists now, even if it seems to begin later because its node's clock is ahead.
      pod.from = Math.min(pod.from, now());
      latestChange = Math.max(latestChange, pod.from, pod.until === Infinity ? -Infinity : pod.until);
    }
    const byAddress = new Map<string, Pod[]>();
    for (const pod of all)
      if (pod.until === Infinity)
        for (const each of pod.addresses) byAddress.set(each, [...(byAddress.get(each) ?? []), pod]);
    byAddress.delete(address);
    for (const [other, owners] of byAddress) pods?.learn(other, { pods: owners });

    const own = all.filter(({ addresses }) => addresses.includes(address));
    if (own.length > 0) return { pods: own };
    const home = node ?? nodeOf(list.filter((pod) => pod.hostNetwork && pod.addresses.includes(address)));
    return home === undefined ? undefined : { pods: [], node: home };
  }
}

function weightOfOwners({ pods }: Owners): Bytes {
  return pods.reduce((sum, pod) => sum + weightOfPod(pod, false), 0);
}

function nodeOf(pods: readonly Pod[]): string | undefined {
  return (pods.find(({ until }) => until === Infinity) ?? pods[0])?.node;
}

/** The Namespace for which an end is looked up: that of the other end, which lost the packet here. */
function askerOf(other: Endpoint, end: Endpoint): string {
  return other.object?.namespace ?? end.object?.namespace ?? '';
}

function ask(lookup: Pick<Lookup<unknown>, 'ask'> | undefined, address: string, asker: string): boolean {
  return lookup?.ask(address, asker) === 'pending';
}
