import type { LookupWay } from '../model/choices.ts';
import { OverBudget, type PodFinder } from '../resolving/lookups/pod-finder.ts';
import { createCalicoBlockFinder } from './calico-block.ts';
import { countAll, listPods, type PodListOptions } from './paged-list.ts';
import type { Millis } from '../model/log-line.ts';
import type { Pod } from '../resolving/objects.ts';
import { createSharedAnswers } from '../platform/fresh-values.ts';
import { createTokenBucket, type TokenBucket } from '../platform/token-bucket.ts';

export interface PodFindersOptions extends PodListOptions {
  /** The ways are tried in this order. */
  ways: readonly LookupWay[];
  ranges: PodRanges;
  directory: PodFinder;
}

export function createPodFinders({ ways, directory, ...options }: PodFindersOptions): PodFinder[] {
  const make: Readonly<Record<LookupWay, () => PodFinder>> = {
    'calico-block': () => createCalicoBlockFinder(options),
    'pod-cidr': () => createPodCidrFinder(options),
    directory: () => directory,
    'field-selector': () => createFieldSelectorFinder(options),
  };
  return ways.map((way) => make[way]());
}

export interface PodRanges {
  /** The node in whose Pod range an address lies. */
  homeOf: (address: string) => string | undefined;
  /** Undefined while the Pods of this node are not listed yet. */
  followed: () => boolean | undefined;
  /** Why they are of use here, or not. For a person. */
  describe: () => string;
}

/** A list of a node's Pods answers so long for addresses that it does not have. */
const listAge: Millis = 30_000;

/** Nodes whose list is shared; what was found stays known with the look-ups. */
const lists = 16;

/**
 * Finds the Pod of an address among those of the node in whose Pod range (`spec.podCIDRs`) the address lies: the API server has
 * an index of Pods by node. One list gives all Pods of that node. Several network plugins give addresses of other ranges
 * (Calico's own IPAM, AWS, Azure), which the Pods of this node show.
 */
export function createPodCidrFinder(options: PodListOptions & { ranges: PodRanges }): PodFinder {
  const { ranges, clock } = options;
  const podsOn = createSharedAnswers<readonly Pod[]>((node) => listPods(options, `spec.nodeName=${node}`), {
    entries: lists,
    now: clock.now,
  });

  return {
    way: 'pod-cidr',
    async find(address) {
      const home = ranges.followed() === false ? undefined : ranges.homeOf(address);
      if (home === undefined) return undefined;
      const { value } = await podsOn.get(home, listAge);
      const pods = value.filter(({ hostNetwork }) => !hostNetwork);
      // The range of a node is a promise of the control plane, which the network plugin may not keep: another way may know.
      return pods.some(({ addresses }) => addresses.includes(address)) ? { pods: structuredClone(pods) } : undefined;
    },
    look: () => Promise.resolve({ usable: ranges.followed() === true, why: ranges.describe() }),
  };
}

/**
 * CPU of the API server for each Pod of the cluster that one look-up takes, in seconds: it has no index of addresses
 * (docs/lookups.md has the measurement).
 */
const costOfPod = 1.7e-6;

/** The look-ups of all nodes together may take this part of one core of the API server. */
const share = 0.05;

/** Look-ups a second of one node; what is less than the least is of no use. */
const rates = { most: 6 / 60, least: 1 / 60 };

/** Answers at once if that is cheap. */
const mostAtOnce = 10;

/** Core-seconds that all nodes together may take at once. */
const burstShare = 2;

/** A cluster does not grow ten times as large in an hour. */
const sizeAge: Millis = 3_600_000;

export interface ClusterSize {
  pods: number;
  nodes: number;
}

/** The budget of one node, so that all of them together stay within the share; undefined: none. */
export function selectorBudget({ pods, nodes }: ClusterSize): { rate: number; burst: number } | undefined {
  const cost = Math.max(1, pods) * costOfPod * Math.max(1, nodes);
  const rate = Math.min(rates.most, share / cost);
  if (rate < rates.least) return undefined;
  return { rate, burst: Math.max(1, Math.min(mostAtOnce, Math.floor(burstShare / cost))) };
}

/**
 * Finds Pods by `status.podIP`, for which the API server goes through all Pods of the cluster: only in small clusters, and
 * within a budget that follows from how large they are. It finds Pods on the host's network too, and only the first address
 * of a Pod.
 */
export function createFieldSelectorFinder(options: PodListOptions): PodFinder {
  const { connection, clock } = options;
  const { now } = clock;
  let bucket: { rate: number; tokens: TokenBucket } | undefined;
  const size = createSharedAnswers<ClusterSize>(
    async () => ({
      pods: await countAll(connection, '/api/v1/pods'),
      nodes: await countAll(connection, '/api/v1/nodes'),
    }),
    { entries: 1, now },
  );

  return {
    way: 'field-selector',
    async find(address) {
      const budget = selectorBudget((await size.get('', sizeAge)).value);
      if (budget === undefined) return undefined;
      if (bucket?.rate !== budget.rate) bucket = { rate: budget.rate, tokens: createTokenBucket(budget) };
      if (!bucket.tokens.take(now())) throw new OverBudget();
      return { pods: await listPods(options, `status.podIP=${address}`) };
    },
    async look() {
      try {
        const { value } = await size.get('', sizeAge);
        const budget = selectorBudget(value);
        const cluster = `${value.pods} Pods, ${value.nodes} Nodes`;
        return budget === undefined
          ? { usable: false, why: `too expensive for the API server with ${cluster}` }
          : { usable: true, why: `at most ${(budget.rate * 60).toFixed(1)} a minute with ${cluster}` };
      } catch (error) {
        return { usable: false, why: `the cluster's size is not known: ${(error as Error).message}` };
      }
    },
  };
}
