import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import { createOutage } from './outage.ts';
import { createSelection, type Taken } from './selection.ts';
import { createThrottling } from './throttling.ts';
import { writeApart } from './write-apart.ts';
import { createWriteBudget, type WriteLimits } from './write-budget.ts';

export interface BatchesOptions extends AttemptsOptions {
  /** Resolves when all that has been counted up to the call is kept, so that it survives being killed. Never rejects. */
  keep: () => Promise<void>;
  limits?: WriteLimits;
  /** Nodes of the cluster, as now known; by default 1. */
  nodeCount?: () => number;
  /** At least 0 and less than 1. */
  random?: () => number;
}

/** Requests in flight, each for another namespace: one that is throttled or being deleted then refuses one write, not several. */
const maxInFlight = 4;

/** Writes what is due in batches, within the node's budget: one sync of the disk for each, a few requests at a time. */
export function createBatches(options: BatchesOptions) {
  const { table, keep, onAbandoned, now, random = Math.random } = options;
  const budget = createWriteBudget({ limits: options.limits, nodeCount: options.nodeCount, random });
  const attempts = createAttempts(options);
  const throttling = createThrottling(now, random);
  const outage = createOutage(random);
  const selection = createSelection({ table, budget, outage, mayBeWritten, now });

  return {
    /**
     * Writes what is due and within the budget, as long as it `mayGoOn`. Resolves to how long nothing more should be tried where
     * the API server refuses every Event. Never rejects.
     */
    async write(mayGoOn: () => boolean): Promise<Millis | undefined> {
      const batch = selection.take();
      if (batch.length > 0) await keep();
      const refusal = await writeAll(batch, mayGoOn);
      return refusal && outage.refused(refusal);
    },
  };

  /** If not, it is given up, or tried again later. */
  function mayBeWritten(series: Series): boolean {
    const vain = attempts.isVain(series);
    const throttledUntil = throttling.until(namespaceIn(series));
    if (vain === false && throttledUntil === undefined) return true;
    if (vain === 'muted') onAbandoned('muted');
    if (vain !== false) table.abandon(series);
    else if (throttledUntil !== undefined) table.delay(series, throttledUntil);
    return false;
  }

  /** Gives the refusal if any other write would be refused, too. */
  async function writeAll(batch: readonly Taken[], mayGoOn: () => boolean): Promise<Refusal | undefined> {
    let refusal: Refusal | undefined;
    const left = await writeApart(batch, {
      most: maxInFlight,
      keyOf: ({ series }) => namespaceIn(series),
      mayGoOn: () => mayGoOn() && refusal === undefined,
      async write(taken) {
        if (!mayBeWritten(taken.series)) return selection.giveBack(taken);
        const answer = await writeOne(taken);
        refusal ??= answer;
      },
    });
    for (const taken of left) {
      selection.giveBack(taken);
      table.putBack(taken.series, now());
    }
    return refusal;
  }

  async function writeOne({ series, copy }: Taken): Promise<Refusal | undefined> {
    const answer = await attempts.write(series, copy);
    const namespace = namespaceIn(series);
    if (answer === 'done') {
      throttling.answered(namespace);
      outage.answered();
      return undefined;
    }
    const { until, isOfAll } = answer.status === 429 ? throttling.refused(namespace, answer) : ofAll;
    if (until === undefined) table.putBack(series, now());
    else table.delay(series, until);
    return isOfAll ? answer : undefined;
  }
}

const ofAll = { until: undefined, isOfAll: true };

function namespaceIn({ finding }: Series): string {
  return namespaceOf(finding.regarding);
}
