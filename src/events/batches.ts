import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { createTokenBucket, nodeBudget } from '../platform/token-bucket.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import { createThrottling, jittered, longestBackOff, shortestBackOff } from './throttling.ts';

export interface BatchesOptions extends AttemptsOptions {
  /** Resolves when all that has been counted up to the call is kept, so that it survives being killed. Never rejects. */
  keep: () => Promise<void>;
  budget?: { rate: number; burst: number };
  /** At least 0 and less than 1. */
  random?: () => number;
}

/** Requests in flight, each for another namespace: one that is throttled or being deleted then refuses one write, not several. */
const maxInFlight = 4;

/** A series that is to be written, and a copy of what its Event will say, which is on disk before it is written. */
interface Taken {
  series: Series;
  copy: Series;
}

/** Writes what is due in batches, within the node's budget: one sync of the disk for each, a few requests at a time. */
export function createBatches(options: BatchesOptions) {
  const { table, keep, onAbandoned, now, random = Math.random } = options;
  const bucket = createTokenBucket(options.budget ?? nodeBudget);
  const attempts = createAttempts(options);
  const throttling = createThrottling(now, random);
  /** Batches in a row in which the API server refused what it would have refused for any Event. */
  let refusals = 0;

  return {
    /**
     * Writes what is due and within the budget, as long as it `mayGoOn`. Resolves to how long nothing more should be tried where
     * the API server refuses every Event. Never rejects.
     */
    async write(mayGoOn: () => boolean): Promise<Millis | undefined> {
      const { batch, isAll } = take();
      if (batch.length > 0) await keep();
      const { isLeft, refusal } = await writeAll(batch, mayGoOn);
      if (!isAll || isLeft) table.postpone(bucket.availableAt(now()));
      if (refusal === undefined) return undefined;
      return jittered(refusal.retryAfter, Math.min(shortestBackOff * 2 ** refusals++, longestBackOff), random);
    },
  };

  /** Most urgent first, as far as the budget goes; one only while it is not known whether the API server accepts anything. */
  function take(): { batch: Taken[]; isAll: boolean } {
    const room = Math.min(bucket.available(now()), refusals > 0 ? 1 : Infinity);
    const batch: Taken[] = [];
    for (const series of table.due(now())) {
      if (!mayBeWritten(series)) continue;
      if (batch.length >= room) return { batch, isAll: false };
      batch.push({ series, copy: structuredClone(series) });
    }
    return { batch, isAll: true };
  }

  /** If not, it is given up, or tried again later. */
  function mayBeWritten(series: Series): boolean {
    const vain = attempts.isVain(series);
    const throttledUntil = throttling.until(namespaceIn(series));
    if (vain === false && throttledUntil === undefined) return true;
    if (vain === 'muted') onAbandoned('muted');
    if (vain !== false) table.abandon(series);
    else if (throttledUntil !== undefined) table.retry(series, throttledUntil);
    return false;
  }

  /** In order, but for those that wait for another of their namespace. `isLeft`: some of them are still to be written. */
  async function writeAll(batch: readonly Taken[], mayGoOn: () => boolean) {
    const waiting = [...batch];
    const inFlight = new Set<string>();
    let refusal: Refusal | undefined;
    await Promise.all(Array.from({ length: maxInFlight }, writeSome));
    return { isLeft: waiting.length > 0 || refusal !== undefined, refusal };

    async function writeSome(): Promise<void> {
      while (mayGoOn() && refusal === undefined) {
        const index = waiting.findIndex(({ series }) => !inFlight.has(namespaceIn(series)));
        const [taken] = index < 0 ? [] : waiting.splice(index, 1);
        if (taken === undefined) return;
        if (!mayBeWritten(taken.series)) continue;
        inFlight.add(namespaceIn(taken.series));
        const answer = await writeOne(taken);
        inFlight.delete(namespaceIn(taken.series));
        refusal ??= answer;
      }
    }
  }

  /** Gives the refusal if any other write would be refused, too. */
  async function writeOne({ series, copy }: Taken): Promise<Refusal | undefined> {
    bucket.take(now());
    const answer = await attempts.write(series, copy);
    const namespace = namespaceIn(series);
    if (answer === 'done') {
      throttling.answered(namespace);
      refusals = 0;
      return undefined;
    }
    if (answer.status !== 429) return answer;
    table.retry(series, throttling.refused(namespace, answer.retryAfter));
    return throttling.refusedNamespaces > 1 ? answer : undefined;
  }
}

function namespaceIn({ finding }: Series): string {
  return namespaceOf(finding.regarding);
}
