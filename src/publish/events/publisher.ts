import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import type { Series, Turn, TurnEnd, WriteKind, WriteResult } from '../../base/model/series.ts';
import { type Schedule, schedule as systemSchedule } from '../../base/platform/timer.ts';
import { namespaceOfEvents } from './event.ts';
import type { WriteOutcome } from './event-writer.ts';
import { type Attempt, attemptOf, createRetries, delays } from './retry.ts';
import type { WriteBudget } from './write-budget.ts';
import { createWriter } from './writer.ts';

export interface Publishable {
  /** `availableAt`: when the budget allows a write of this kind. */
  next: (now: Millis, availableAt: (kind: WriteKind) => Millis) => Turn | undefined;
  begin: (series: Series) => void;
  nextDue: () => Millis;
  end: (series: Series, ended: TurnEnd) => void;
  /** Notes that no ready series may be written before `until`. */
  hold: (until: Millis) => void;
}

export interface PublishingReport {
  attempted: (attempt: Attempt) => void;
  /** Called if a series is given up. `muted`: an earlier write showed that its namespace is being deleted. */
  abandoned: (reason: WriteResult | 'muted') => void;
}

export interface PublisherOptions {
  table: Publishable;
  /** Its tokens that were taken are on disk before the Event is written. */
  budget: WriteBudget;
  /** Resolves when all counts up to the call are on disk. Never rejects. */
  keep: () => Promise<void>;
  write: (series: Series) => Promise<WriteOutcome>;
  report: PublishingReport;
  now: () => Millis;
  random?: () => number;
  /** Sets timers on the clock that `now` reads; by default the process's timers. */
  schedule?: Schedule;
}

export interface Publisher {
  /** Writes due series until `stop` is called, and then resolves. */
  run: () => Promise<void>;
  wake: () => void;
  /** Ends `run`. First writes the series that are due now, for at most `grace`. */
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

/** The most series in a row that an obstacle concerns before other work gets its turn: a Namespace may have thousands. */
const mostObstacles = 256;

/**
 * Publishes series as Events. The next ones are begun within the budget, the state is saved once for all of them, and then their Events are
 * written. `end` ends each turn, whatever the reason:
 *
 *     next ──▶ begin ──▶ saved on disk ──▶ written ── answer ──▶ `endAfter`: published, refused, postponed, abandoned
 *       │                    └── its batch has ended ──▶ postponed, and its token is given back
 *       └── `obstacleFor`, here and before the write ──▶ postponed, abandoned
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const { table, now, schedule = systemSchedule } = options;
  const [untilDue, backOff] = [createPause(schedule), createPause(schedule)];
  const batches = createBatches(options);
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

  /** Writes series that are due when `run` has ended, and gives up at the first refusal that concerns all writes. */
  async function flush(deadline: Millis): Promise<void> {
    const mayGoOn = (): boolean => now() < deadline;
    while (mayGoOn() && table.nextDue() <= now()) if ((await batches.write(mayGoOn)) !== undefined) break;
    await batches.settled();
  }

  function isStopping(): boolean {
    return stopping.signal.aborted;
  }
}

function createBatches(options: PublisherOptions) {
  const { table, budget, keep, report, now, schedule = systemSchedule, random = Math.random } = options;
  const retries = createRetries(now, random);
  const writer = createWriter({ write: writeOne, now, schedule });
  return { write: writeBatch, settled: writer.settled };

  /** Resolves to how long nothing should be tried, if every Event is refused. It does not wait for slow writes, and never rejects. */
  async function writeBatch(mayGoOn: () => boolean): Promise<Millis | undefined> {
    const { batch, isCut } = beginBatch();
    if (batch.length > 0) await keep();
    else if (isCut) await nextTurn();
    const left = await writer.writeAll(batch, () => mayGoOn() && !retries.isRefused);
    for (const each of left) endUntried(each, { kind: 'postponed' });
    return retries.pause();
  }

  /** Begins only one series while it is unknown whether the API server accepts anything. */
  function beginBatch(): { batch: Begun[]; isCut: boolean } {
    const batch: Begun[] = [];
    let obstacles = 0;
    let isWithinBudget = true;
    const at = now();
    const availableAt = (kind: WriteKind): Millis => {
      const available = budget.availableAt(at, retries.paced(kind));
      if (available > at) isWithinBudget = false;
      return available;
    };
    for (let turn = table.next(at, availableAt); turn !== undefined; turn = table.next(at, availableAt)) {
      const { series } = turn;
      const namespace = namespaceOfEvents(series.finding.regarding);
      const obstacle = retries.obstacleFor(series, writer.busyUntil(namespace));
      if (obstacle !== undefined) {
        end(series, obstacle);
        if (++obstacles === mostObstacles) return { batch, isCut: true };
        continue;
      }
      if (retries.isOut && batch.length > 0) return { batch, isCut: false };
      if (retries.isOut && writer.size >= mostInOutage) {
        table.hold(at + delays.lookInOutage);
        return { batch, isCut: false };
      }
      const kind = retries.paced(turn.kind);
      budget.spend(at, kind);
      table.begin(series);
      batch.push({ series, kind, namespace, copy: structuredClone(series) });
    }
    if (isWithinBudget) retries.caughtUp();
    return { batch, isCut: false };
  }

  async function writeOne(begun: Begun): Promise<void> {
    const { series, copy } = begun;
    // Other Events of its batch may have been refused since it was begun.
    const obstacle = retries.obstacleFor(series);
    if (obstacle !== undefined) return endUntried(begun, obstacle);
    const began = now();
    const outcome = await options.write(copy).catch(failedByItself);
    report.attempted(attemptOf(series, outcome));
    end(series, retries.endAfter(series, outcome, now() - began));
  }

  /** Ends a turn without a write. Its token may be used at once. */
  function endUntried({ series, kind }: Begun, ended: TurnEnd): void {
    budget.refund(kind);
    table.hold(now());
    end(series, ended);
  }

  function end(series: Series, ended: TurnEnd): void {
    table.end(series, ended);
    if (ended.kind === 'abandoned' && ended.reason !== undefined) report.abandoned(ended.reason);
  }
}

/** An error in this program may delay one Event, but must not stop all others. */
function failedByItself(error: unknown): WriteOutcome {
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
