import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import { createOutage } from './outage.ts';
import { createSelection, type Taken } from './selection.ts';
import { createThrottling, refusedScope } from './throttling.ts';
import type { WriteBudget } from './write-budget.ts';
import { createWritesInFlight } from './writes-in-flight.ts';

export interface BatchesOptions extends AttemptsOptions {
  /** Resolves when all that has been counted up to the call is kept, so that it survives being killed. Never rejects. */
  keep: () => Promise<void>;
  /** What is taken of it is kept before it is written. */
  budget: WriteBudget;
  /** At least 0 and less than 1. */
  random?: () => number;
  /** Timers of the time that `now` is of; by default the process's. */
  schedule?: Schedule;
}

/**
 * Writes what is due in batches, within the node's budget: one sync of the disk for each. A few requests are in flight, each for another
 * namespace: one that is throttled or being deleted then refuses one write, not several. `onSlowEnded`: a write has ended that
 * its batch did not wait for.
 */
export function createBatches(options: BatchesOptions, onSlowEnded: () => void) {
  const { table, budget, keep, onAbandoned, now, schedule = systemSchedule, random = Math.random } = options;
  const attempts = createAttempts(options);
  const throttling = createThrottling(now, random);
  const outage = createOutage(random);
  const inFlight = createWritesInFlight({
    keyOf: ({ series }: Taken) => namespaceIn(series),
    async write(taken) {
      if (mayBeWritten(taken.series)) await writeOne(taken);
      else selection.giveBack(taken);
    },
    onSlowEnded,
    now,
    schedule,
  });
  const selection = createSelection({
    table,
    budget,
    outage,
    inFlight,
    mayBeWritten: (series) => mayBeWritten(series, inFlight.busyUntil(namespaceIn(series))),
    now,
  });
  /** Of the latest write that was refused as any other would have been. */
  let refusal: Refusal | undefined;

  return {
    /**
     * Writes what is due and within the budget, as long as it `mayGoOn`, and does not wait for what is slow. Resolves to how long
     * nothing more should be tried where the API server refuses every Event. Never rejects.
     */
    async write(mayGoOn: () => boolean): Promise<Millis | undefined> {
      const batch = selection.take();
      if (batch.length > 0) await keep();
      const left = await inFlight.writeAll(batch, () => mayGoOn() && refusal === undefined);
      for (const taken of left) {
        selection.giveBack(taken);
        table.putBack(taken.series, now());
      }
      return waitAfterRefusal();
    },
    /** Resolves when nothing is in flight. */
    settled: inFlight.settled,
  };

  function waitAfterRefusal(): Millis | undefined {
    const latest = refusal;
    refusal = undefined;
    return latest && outage.refused(latest);
  }

  /** If not, it is given up, or tried again later: `busyUntil`, if no other reason is there. */
  function mayBeWritten(series: Series, busyUntil?: Millis): boolean {
    const vain = attempts.isVain(series);
    const delayedUntil = throttling.until(namespaceIn(series)) ?? busyUntil;
    if (vain === false && delayedUntil === undefined) return true;
    if (vain === 'muted') onAbandoned('muted');
    if (vain !== false) table.abandon(series);
    else if (delayedUntil !== undefined) table.delay(series, delayedUntil);
    return false;
  }

  async function writeOne({ series, copy }: Taken): Promise<void> {
    const began = now();
    const answer = await attempts.write(series, copy);
    const namespace = namespaceIn(series);
    if (answer === 'done') {
      throttling.answered(namespace);
      outage.answered();
      return;
    }
    const { until, isOfAll } = throttling.refused(namespace, answer, refusedScope(answer, now() - began));
    if (until === undefined) table.putBack(series, now());
    else table.delay(series, until);
    if (isOfAll) refusal = answer;
  }
}

function namespaceIn({ finding }: Series): string {
  return namespaceOf(finding.regarding);
}
