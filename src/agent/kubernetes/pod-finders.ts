import type { LookupWay } from '../../base/model/choices.ts';
import { onSteadyClock, OverBudget, type Pod, type PodFinder, weightOfPod } from '../../explain/resolving/resolving.ts';
import { createCalicoBlockFinder, type PodListOptions } from './calico-block.ts';
import { countAll, listAll } from './list-watch.ts';
import { ifUsable, slimPod } from './slim.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createSharedAnswers } from '../../base/platform/fresh-values.ts';
import { createSharedBucket, type SharedBucket } from '../../base/platform/shares.ts';

export function createPodFinders(
  ways: readonly LookupWay[],
  directory: PodFinder,
  options: PodListOptions & { ranges: PodRanges },
): PodFinder[] {
  const make: Readonly<Record<LookupWay, () => PodFinder>> = {
    'calico-block': () => createCalicoBlockFinder(options),
    'pod-cidr': () => createPodCidrFinder(options),
    directory: () => directory,
    'field-selector': () => createFieldSelectorFinder(options),
  };
  return ways.map((way) => make[way]());
}

export interface PodRanges {
  /** Returns the node whose Pod range contains the address. */
  homeOf: (address: string) => string | undefined;
  /** Whether Pods of this node have addresses of these ranges; undefined while they are not listed yet. */
  followed: () => boolean | undefined;
}

/** How long a list is used, also to answer that no Pod has the address. */
const listAge: Millis = 30_000;

const lists = 16;

/**
 * Finds the Pod of an address by its node: lists the Pods of the node whose range (`spec.podCIDRs`) contains the address, which the API
 * server has an index for. Network plug-ins with their own ranges (Calico's IPAM, AWS, Azure) are recognized by the Pods of this node.
 */
export function createPodCidrFinder(options: PodListOptions & { ranges: PodRanges }): PodFinder {
  const { ranges, clock } = options;
  const podsOn = createSharedAnswers<readonly Pod[]>((node) => listPods(options, `spec.nodeName=${node}`), {
    entries: lists,
    now: clock.now,
    weigh: (pods) => pods.reduce((sum, pod) => sum + weightOfPod(pod, false), 0),
  });

  return {
    way: 'pod-cidr',
    async find(address) {
      const home = ranges.followed() === false ? undefined : ranges.homeOf(address);
      if (home === undefined) return undefined;
      const { value } = await podsOn.get(home, listAge);
      const pods = value.filter(({ hostNetwork }) => !hostNetwork);
      // The network plug-in may ignore these ranges, so another way may find the Pod.
      if (!pods.some(({ addresses }) => addresses.includes(address))) return undefined;
      // Callers set `from` of these Pods. `structuredClone` takes 85 ms for 5,000 Pods, in one step; this 3 ms.
      return { pods: pods.map((pod) => Object.assign({}, pod)) };
    },
  };
}

/** CPU seconds of the API server for each Pod of the cluster and look-up, because it has no index of addresses (docs/lookups.md). */
const costOfPod = 1.7e-6;

/** The part of one core that the look-ups of all nodes together may take. */
const share = 0.05;

/** Look-ups a second of one node. Below `least` they are of no use. */
const rates = { most: 6 / 60, least: 1 / 60 };

const mostAtOnce = 10;

/** Core-seconds that the look-ups of all nodes may use in one burst. */
const burstShare = 2;

const sizeAge: Millis = 3_600_000;

export interface ClusterSize {
  pods: number;
  nodes: number;
}

export function selectorBudget({ pods, nodes }: ClusterSize): { rate: number; burst: number } | undefined {
  const cost = Math.max(1, pods) * costOfPod * Math.max(1, nodes);
  const rate = Math.min(rates.most, share / cost);
  if (rate < rates.least) return undefined;
  return { rate, burst: Math.max(1, Math.min(mostAtOnce, Math.floor(burstShare / cost))) };
}

/** The API server looks through all Pods, hence the budget. It finds a Pod only by its first address, including a Pod on its node's network. */
export function createFieldSelectorFinder(options: PodListOptions): Required<PodFinder> {
  const { connection, clock } = options;
  const { now } = clock;
  let bucket: { rate: number; tokens: SharedBucket } | undefined;
  const size = createSharedAnswers<ClusterSize>(
    async () => ({
      pods: await countAll(connection, '/api/v1/pods'),
      nodes: await countAll(connection, '/api/v1/nodes'),
    }),
    { entries: 1, now },
  );

  return {
    way: 'field-selector',
    async find(address, asker) {
      const budget = selectorBudget((await size.get('', sizeAge)).value);
      if (budget === undefined) return undefined;
      if (bucket?.rate !== budget.rate) bucket = { rate: budget.rate, tokens: createSharedBucket(budget) };
      if (!bucket.tokens.take(asker, now())) throw new OverBudget();
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

export async function listPods(
  { connection, clock, podLabels }: PodListOptions,
  fieldSelector: string,
): Promise<Pod[]> {
  const options = { fieldSelector, pageSize: undefined };
  const slim = ifUsable((object) => slimPod(object, podLabels));
  const { items } = await listAll(connection, '/api/v1/pods', options, slim);
  return items.map((pod) => onSteadyClock(pod, clock.fromWall));
}
