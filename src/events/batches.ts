import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import { createThrottling, jittered, longestBackOff, shortestBackOff } from './throttling.ts';
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

/** A series that is to be written, and a copy of what its Event will say, which is on disk before it is written. */
interface Taken extends Turn {
  copy: Series;
}

/** Writes what is due in batches, within the node's budget: one sync of the disk for each, a few requests at a time. */
export function createBatches(options: BatchesOptions) {
  const { table, keep, onAbandoned, now, random = Math.random } = options;
  const budget = createWriteBudget({ limits: options.limits, nodeCount: options.nodeCount, random });
  const attempts = createAttempts(options);
  const throttling = createThrottling(now, random);
  /** Batches in a row in which the API server refused what it would have refused for any Event. */
  let refusals = 0;
  /** All nodes have waited for the API server: until all is written that is due, first Events are paced as others are. */
  let isCatchingUp = false;

  return {
    /**
     * Writes what is due and within the budget, as long as it `mayGoOn`. Resolves to how long nothing more should be tried where
     * the API server refuses every Event. Never rejects.
     */
    async write(mayGoOn: () => boolean): Promise<Millis | undefined> {
      const batch = take();
      if (batch.length > 0) await keep();
      const refusal = await writeAll(batch, mayGoOn);
      if (refusal === undefined) return undefined;
      isCatchingUp = true;
      return jittered(refusal.retryAfter, Math.min(shortestBackOff * 2 ** refusals++, longestBackOff), random);
    },
  };

  /** As their turns come, as far as the budget goes; one only while it is not known whether the API server accepts anything. */
  function take(): Taken[] {
    const batch: Taken[] = [];
    for (let turn = table.next(now()); turn !== undefined; turn = table.next(now())) {
      const { series } = turn;
      const isFirst = turn.isFirst && !isCatchingUp;
      if (!mayBeWritten(series)) continue;
      if (batch.length > 0 && refusals > 0) return batch;
      if (!budget.take(now(), isFirst)) {
        table.postpone(budget.availableAt(now(), isFirst));
        return batch;
      }
      table.take(series);
      batch.push({ series, isFirst, copy: structuredClone(series) });
    }
    isCatchingUp = refusals > 0;
    return batch;
  }

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

  /** In order, but for those that wait for another of their namespace. Gives the refusal if any other write would be refused, too. */
  async function writeAll(batch: readonly Taken[], mayGoOn: () => boolean): Promise<Refusal | undefined> {
    const waiting = [...batch];
    const inFlight = new Set<string>();
    let refusal: Refusal | undefined;
    await Promise.all(Array.from({ length: maxInFlight }, writeSome));
    for (const taken of waiting) {
      giveBack(taken);
      table.putBack(taken.series, now());
    }
    return refusal;

    async function writeSome(): Promise<void> {
      while (mayGoOn() && refusal === undefined) {
        const index = waiting.findIndex(({ series }) => !inFlight.has(namespaceIn(series)));
        const [taken] = index < 0 ? [] : waiting.splice(index, 1);
        if (taken === undefined) return;
        if (!mayBeWritten(taken.series)) {
          giveBack(taken);
          continue;
        }
        inFlight.add(namespaceIn(taken.series));
        const answer = await writeOne(taken);
        inFlight.delete(namespaceIn(taken.series));
        refusal ??= answer;
      }
    }
  }

  /** No attempt was made: others can be. */
  function giveBack({ isFirst }: Taken): void {
    budget.giveBack(isFirst);
    table.postpone(now());
  }

  async function writeOne({ series, copy }: Taken): Promise<Refusal | undefined> {
    const answer = await attempts.write(series, copy);
    const namespace = namespaceIn(series);
    if (answer === 'done') {
      throttling.answered(namespace);
      refusals = 0;
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
