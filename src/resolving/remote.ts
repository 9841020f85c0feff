import type { Endpoint, Ends, Millis } from '../model.ts';
import type { Remote } from './directory.ts';
import { createLookup, type Lookup, type LookupCounts } from './lookup.ts';
import type { Pod } from './objects.ts';

export interface RemoteOptions {
  /** Pods anywhere in the cluster that use an address, those on the host's network too. Undefined: not to be asked. */
  findPods: ((address: string) => Promise<readonly Pod[]>) | undefined;
  /** Host name of an address. Undefined: not to be asked. */
  findHostName: ((address: string) => Promise<string | undefined>) | undefined;
  /** What is known has changed. */
  onChange: (address: string) => void;
  now: () => Millis;
}

/** Finds out about addresses that no list of this node has. */
export interface RemoteLookups extends Remote {
  /** Begins what look-ups the ends of a packet call for. True if their answers are worth waiting for. */
  investigate: (ends: Ends) => boolean;
  readonly counts: { pods: Readonly<LookupCounts>; hostNames: Readonly<LookupCounts> };
}

/** The API server is everybody's: it goes through all Pods of the cluster for each such question. */
const podBudget = { rate: 6 / 60, burst: 10 };
const podAges = { hit: 300_000, miss: 60_000, failed: 10_000 };

const nameBudget = { rate: 0.5, burst: 20 };
const nameAges = { hit: 3_600_000, miss: 600_000, failed: 60_000 };

const nothing = { hit: 0, miss: 0, failed: 0, refused: 0, cached: 0 };

interface Found {
  pods: readonly Pod[];
  /** Node whose address it is. */
  node: string | undefined;
}

export function createRemoteLookups({ findPods, findHostName, onChange, now }: RemoteOptions): RemoteLookups {
  const pods: Lookup<Found> | undefined =
    findPods &&
    createLookup<Found>({
      find: async (address) => foundIn(await findPods(address), address),
      onSettled: onChange,
      budget: podBudget,
      concurrency: 2,
      entries: 4096,
      ages: podAges,
      now,
    });
  const hostNames: Lookup<string> | undefined =
    findHostName &&
    createLookup<string>({
      find: findHostName,
      onSettled: onChange,
      budget: nameBudget,
      concurrency: 4,
      entries: 4096,
      ages: nameAges,
      now,
    });

  return {
    podsOf: (address) => pods?.get(address)?.pods,
    nodeOf: (address) => pods?.get(address)?.node,
    hostNameOf: (address) => hostNames?.get(address),
    investigate({ source, destination, inner }) {
      // Each of them has to be asked: they are looked up at the same time.
      const answers = [source, destination, inner?.source, inner?.destination].map(
        (end) => end !== undefined && isWorthWaiting(end),
      );
      return answers.includes(true);
    },
    get counts() {
      return { pods: pods?.counts ?? nothing, hostNames: hostNames?.counts ?? nothing };
    },
  };

  function isWorthWaiting(end: Endpoint): boolean {
    // A Pod that was found by a look-up has to be confirmed now and then: its address may be another's by now.
    if (end.kind === 'pod') return end.evidence === 'pod-address' && isRemembered(end) && ask(pods, end);
    if (end.object !== undefined || end.role !== undefined) return false;
    if (end.kind === 'unknown' || end.range === 'private') {
      if (ask(pods, end)) return true;
      return end.kind === 'external' && ask(hostNames, end);
    }
    return end.range === 'public' && ask(hostNames, end);
  }

  function isRemembered({ address }: Endpoint): boolean {
    return pods?.get(address) !== undefined;
  }

  /** A Pod's other addresses cannot be looked up, but come along with its first. */
  function foundIn(list: readonly Pod[], address: string): Found | undefined {
    const own = list.filter((pod) => !pod.hostNetwork);
    if (own.length === 0) {
      const node = list.find((pod) => pod.hostNetwork)?.node;
      return node === undefined ? undefined : { pods: [], node };
    }
    const others = new Set(own.flatMap(({ addresses }) => addresses));
    others.delete(address);
    for (const other of others)
      pods?.learn(other, { pods: own.filter(({ addresses }) => addresses.includes(other)), node: undefined });
    return { pods: own, node: undefined };
  }
}

function ask(lookup: Pick<Lookup<unknown>, 'ask'> | undefined, { address }: Endpoint): boolean {
  return lookup?.ask(address) === 'pending';
}
