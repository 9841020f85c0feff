import { isSummary } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind, WriteResult, Written } from '../model/series.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { namespaceOf } from './event.ts';
import type { Outcome } from './event-writer.ts';
import { type Attempt, createRetries, delays, resultOf } from './retry.ts';
import type { WriteBudget } from './write-budget.ts';
import { createWriter } from './writer.ts';

/** What publishing needs of a table of series. */
export interface Publishable {
  /** `availableAt`: when the budget allows a write of a kind. */
  next: (now: Millis, availableAt: (kind: WriteKind) => Millis) => Turn | undefined;
  begin: (series: Series) => void;
  nextDue: () => Millis;
  published: (series: Series, published: Written) => void;
}

/** What an API server needs that may refuse. */
export interface PublisherTable extends Publishable {
  giveBack: (series: Series, now: Millis) => void;
  delay: (series: Series, at: Millis) => void;
  retry: (series: Series, at: Millis) => void;
  abandon: (series: Series) => void;
  hold: (until: Millis) => void;
}

export interface PublishingReport {
  attempted: (attempt: Attempt) => void;
  /** Nothing more is tried for a series. `muted`: its namespace was being deleted a moment ago. */
  abandoned: (reason: WriteResult | 'muted') => void;
}

export interface PublisherOptions {
  table: PublisherTable;
  /** Tokens that were taken are on disk before the Event is written. */
  budget: WriteBudget;
  /** Resolves when all counts up to the call are on disk. Never rejects. */
  keep: () => Promise<void>;
  /** Writes the series as it is now. */
  write: (series: Series) => Promise<Outcome>;
  report: PublishingReport;
  now: () => Millis;
  random?: () => number;
  /** Timers of the time that `now` is of; by default the process's. */
  schedule?: Schedule;
}

export interface Publisher {
  /** Writes what is due, for ever. Resolves after `stop`. */
  run: () => Promise<void>;
  wake: () => void;
  /** Ends `run`; with what is due now still written, if that takes no longer than `grace`. */
  stop: (grace: Millis) => Promise<void>;
}

/** A series that is being written, and a copy of what its Event will say, which is on disk first. */
interface Begun extends Pick<Turn, 'series' | 'kind'> {
  copy: Series;
  namespace: string;
}

/** A timer longer than 2^31 ms fires at once. */
const longestSleep: Millis = 3_600_000;

/** Writes in flight while the API server accepts nothing: a second one, in case the first hangs because of its namespace. */
const mostInOutage = 2;

/**
 * The way of an Event: series whose turns come are begun within the budget, the state is written once for all of them, and then their Events.
 * Refused ones are tried again as long as there is hope (`retry.ts`).
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

  /** Writes once what is due at the end, without waiting for a server that is away. */
  async function flush(deadline: Millis): Promise<void> {
    const mayGoOn = (): boolean => now() < deadline;
    while (mayGoOn() && table.nextDue() <= now()) if ((await batches.write(mayGoOn)) !== undefined) break;
    await batches.settled();
  }

  function isStopping(): boolean {
    return stopping.signal.aborted;
  }
}

/** `onSlowEnded`: a write has ended that its batch did not wait for. */
function createBatches(options: PublisherOptions, onSlowEnded: () => void) {
  const { table, budget, keep, report, now, schedule = systemSchedule, random = Math.random } = options;
  const retries = createRetries(now, random);
  const writer = createWriter({ write: writeOne, onSlowEnded, now, schedule });
  return { write: writeBatch, settled: writer.settled };

  /**
   * Writes what is due and within the budget, while it `mayGoOn`. Resolves to how long nothing should be tried, if every Event is refused.
   * Does not wait for slow writes, and never rejects.
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

  /** Begins only one while it is not known whether the API server accepts anything. */
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

  /** Gives it up, or delays it, if it may not be written now. */
  function mayBeWritten(series: Series, busyUntil?: Millis): boolean {
    const obstacle = retries.obstacleFor(series, busyUntil);
    if (obstacle === undefined) return true;
    if (obstacle === 'muted') report.abandoned('muted');
    if (typeof obstacle === 'string') table.abandon(series);
    else table.delay(series, obstacle.until);
    return false;
  }

  async function writeOne({ series, copy, kind }: Begun): Promise<void> {
    // Others of its batch may have been refused since it was begun.
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

/** A fault of this program may cost one Event for a while, but not all. */
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
