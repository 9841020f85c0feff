import type { Millis } from '../../model/log-line.ts';
import { createTokenBucket, type TokenBucket } from '../../platform/token-bucket.ts';
import { OverBudget, type PodFinder } from '../../resolving/lookups/pod-finder.ts';
import { countAll } from '../paged-list.ts';
import { listPods, type PodListOptions } from './pod-list.ts';
import { createSharedAnswers } from './shared-answers.ts';

/**
 * CPU of the API server for each Pod of the cluster that one look-up takes, in seconds: it has no index of addresses
 * (docs/lookups.md has the measurement).
 */
const costOfPod = 1.7e-6;

/** Of one core of the API server, for the look-ups of all nodes together. */
const share = 0.05;

/** Look-ups a second of one node; what is less than the least is of no use. */
const rates = { most: 6 / 60, least: 1 / 60 };

/** At once, where it is cheap. */
const mostAtOnce = 10;

/** Core-seconds that all nodes together may take at once. */
const burstShare = 2;

/** A cluster does not grow ten times as large in an hour. */
const sizeAge: Millis = 3_600_000;

export interface ClusterSize {
  pods: number;
  nodes: number;
}

/** What one node may ask so that all of them together stay within the share; undefined: nothing. */
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
