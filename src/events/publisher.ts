import { isSummary } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind, WriteResult, Written } from '../model/series.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { namespaceOf } from './event.ts';
import type { Outcome } from './event-writer.ts';
import { type Attempt, createRetries, delays, resultOf } from './retry.ts';
import type { WriteBudget } from './write-budget.ts';
import { createWriter } from './writer.ts';

/** What the publisher needs from a table of series. */
export interface Publishable {
  /** `availableAt`: when the budget allows a write of this kind. */
  next: (now: Millis, availableAt: (kind: WriteKind) => Millis) => Turn | undefined;
  begin: (series: Series) => void;
  nextDue: () => Millis;
  published: (series: Series, published: Written) => void;
}

/** What it also needs if the API server may refuse writes. */
export interface PublisherTable extends Publishable {
  giveBack: (series: Series, now: Millis) => void;
  delay: (series: Series, at: Millis) => void;
  retry: (series: Series, at: Millis) => void;
  abandon: (series: Series) => void;
  hold: (until: Millis) => void;
}

export interface PublishingReport {
  attempted: (attempt: Attempt) => void;
  /** Called if a series is given up. `muted`: an earlier write showed that its namespace is being deleted. */
  abandoned: (reason: WriteResult | 'muted') => void;
}

export interface PublisherOptions {
  table: PublisherTable;
  /** Its tokens that were taken are on disk before the Event is written. */
  budget: WriteBudget;
  /** Resolves when all counts up to the call are on disk. Never rejects. */
  keep: () => Promise<void>;
  /** Writes the series with its present counts. */
  write: (series: Series) => Promise<Outcome>;
  report: PublishingReport;
  now: () => Millis;
  random?: () => number;
  /** Sets timers on the clock that `now` reads; by default the process's timers. */
  schedule?: Schedule;
}

export interface Publisher {
  /** Writes what is due until `stop` is called, and then resolves. */
  run: () => Promise<void>;
  wake: () => void;
  /** Ends `run`. Also writes what is due now, if that takes no longer than `grace`. */
  stop: (grace: Millis) => Promise<void>;
}

/** A series that is being written. The copy has the content of its Event, and is on disk before it. */
interface Begun extends Pick<Turn, 'series' | 'kind'> {
  copy: Series;
  namespace: string;
}

/** Timers longer than 2^31 ms would fire at once. */
const longestSleep: Millis = 3_600_000;

/** The most writes at the same time during an outage: a second one, in case the first hangs because of its namespace. */
const mostInOutage = 2;

/**
 * How an Event is published: the next series are begun within the budget, the state is saved once for all of them, and then their Events
 * are written. Refused ones are tried again if that may help (`retry.ts`).
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const { table, now, schedule = systemSchedule } = options;
  const [untilDue, backOff] = [createPause(schedule), createPause(schedule)];
  const batches = createBatches(options, untilDue.end);
  const stopping = new AbortController();
  let finished: Promise<void> = Promise.resolve();

  return {
    run: () => (finished = run()),
    wake: untilDue.end,
    async stop(grace) {
      const deadline = now() + grace;
      stopping.abort();
      untilDue.end();
      backOff.end();
      const timeOut = Promise.withResolvers<void>();
      const cancel = schedule(timeOut.resolve, grace);
      await Promise.race([finished.then(() => flush(deadline)), timeOut.promise]);
      cancel();
    },
  };

  async function run(): Promise<void> {
    while (!isStopping()) {
      const wait = table.nextDue() - now();
      if (wait > 0) {
        await untilDue.wait(Math.min(wait, longestSleep));
        continue;
      }
      const refusedFor = await batches.write(() => !isStopping());
      if (refusedFor !== undefined && !isStopping()) await backOff.wait(refusedFor);
    }
  }

  /** Writes what is due when `run` has ended, and gives up at the first refusal that concerns all writes. */
  async function flush(deadline: Millis): Promise<void> {
    const mayGoOn = (): boolean => now() < deadline;
    while (mayGoOn() && table.nextDue() <= now()) if ((await batches.write(mayGoOn)) !== undefined) break;
    await batches.settled();
  }

  function isStopping(): boolean {
    return stopping.signal.aborted;
  }
}

/** `onSlowEnded`: called when a slow write has ended that its batch did not wait for. */
function createBatches(options: PublisherOptions, onSlowEnded: () => void) {
  const { table, budget, keep, report, now, schedule = systemSchedule, random = Math.random } = options;
  const retries = createRetries(now, random);
  const writer = createWriter({ write: writeOne, onSlowEnded, now, schedule });
  return { write: writeBatch, settled: writer.settled };

  /**
   * Writes what is due and within the budget, while `mayGoOn` returns true. Resolves to how long nothing should be tried, if every Event is
   * refused. It does not wait for slow writes, and never rejects.
   */
  async function writeBatch(mayGoOn: () => boolean): Promise<Millis | undefined> {
    const batch = beginBatch();
    if (batch.length > 0) await keep();
    const left = await writer.writeAll(batch, () => mayGoOn() && !retries.isRefused);
    for (const { series, kind } of left) {
      budget.giveBack(kind);
      table.giveBack(series, now());
    }
    return retries.pause();
  }

  /** Begins only one series while it is unknown whether the API server accepts anything. */
  function beginBatch(): Begun[] {
    const batch: Begun[] = [];
    let isWithinBudget = true;
    const at = now();
    const availableAt = (kind: WriteKind): Millis => {
      const available = budget.availableAt(at, retries.paced(kind));
      if (available > at) isWithinBudget = false;
      return available;
    };
    for (let turn = table.next(at, availableAt); turn !== undefined; turn = table.next(at, availableAt)) {
      const { series } = turn;
      const namespace = namespaceOf(series.finding.regarding);
      if (!mayBeWritten(series, writer.busyUntil(namespace))) continue;
      if (retries.isOut && batch.length > 0) return batch;
      if (retries.isOut && writer.size >= mostInOutage) {
        table.hold(at + delays.lookInOutage);
        return batch;
      }
      const kind = retries.paced(turn.kind);
      budget.spend(at, kind);
      table.begin(series);
      batch.push({ series, kind, namespace, copy: structuredClone(series) });
    }
    if (isWithinBudget) retries.caughtUp();
    return batch;
  }

  /** Returns whether a series may be written now. If not, gives it up or delays it. */
  function mayBeWritten(series: Series, busyUntil?: Millis): boolean {
    const obstacle = retries.obstacleFor(series, busyUntil);
    if (obstacle === undefined) return true;
    if (obstacle === 'muted') report.abandoned('muted');
    if (typeof obstacle === 'string') table.abandon(series);
    else table.delay(series, obstacle.until);
    return false;
  }

  async function writeOne({ series, copy, kind }: Begun): Promise<void> {
    // Since it was begun, others of its batch may have been refused.
    if (!mayBeWritten(series)) {
      budget.giveBack(kind);
      return table.hold(now());
    }
    const began = now();
    const outcome = await options.write(copy).catch(failedByItself);
    if (outcome.kind === 'written') table.published(series, outcome.published);
    const attempt = attemptOf(series, outcome);
    report.attempted(attempt);
    const next = retries.after(attempt, now() - began);
    if (next?.kind === 'abandon') {
      table.abandon(series);
      report.abandoned(next.reason);
    } else if (next?.kind === 'retry') table.retry(series, next.until);
    else if (next?.until !== undefined) table.delay(series, next.until);
    else if (next !== undefined) table.giveBack(series, now());
  }
}

function attemptOf(series: Series, outcome: Outcome): Attempt {
  if (outcome.kind === 'foreign') return { series, verb: 'read', result: 'foreign', refusal: undefined, packets: 0 };
  const { verb } = outcome;
  if (outcome.kind === 'refused')
    return { series, verb, result: resultOf(outcome.refusal, verb), refusal: outcome.refusal, packets: 0 };
  const packets = isSummary(series.finding) ? 0 : outcome.packets;
  return { series, verb, result: 'ok', refusal: undefined, packets };
}

/** An error in this program may delay one Event, but must not stop all others. */
function failedByItself(error: unknown): Outcome {
  const answer = { status: 500, reason: 'InternalError', message: String(error), retryAfter: undefined } as const;
  return { kind: 'refused', verb: 'create', refusal: { kind: 'refused', ...answer } };
}

function createPause(schedule: Schedule): { wait: (duration: Millis) => Promise<void>; end: () => void } {
  let resolve: (() => void) | undefined;
  return {
    async wait(duration) {
      const ended = Promise.withResolvers<void>();
      resolve = ended.resolve;
      const cancel = schedule(ended.resolve, duration);
      await ended.promise;
      cancel();
    },
    end: () => resolve?.(),
  };
}
