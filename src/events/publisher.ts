import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/schedule.ts';
import { createTokenBucket, nodeBudget } from '../platform/token-bucket.ts';
import { type AttemptsOptions, createAttempts } from './attempts.ts';
import { namespaceOf } from './event.ts';
import { createThrottling, jittered, longestBackOff, shortestBackOff } from './throttling.ts';

export interface PublisherOptions extends AttemptsOptions {
  budget?: { rate: number; burst: number };
  /** Timers of the time that `now` is of; by default the process's. */
  schedule?: Schedule;
  /** At least 0 and less than 1. */
  random?: () => number;
}

export interface Publisher {
  /** Writes what is due, for ever. Resolves after `stop`. */
  run: () => Promise<void>;
  /** Something is due earlier than it was. */
  wake: () => void;
  /** Ends `run`; with what is due now still written, if that takes no longer than `grace`. */
  stop: (grace: Millis) => Promise<void>;
}

/** A timer longer than 2^31 ms fires at once. */
const longestSleep: Millis = 3_600_000;

/** The cold path: one write at a time, within the node's budget, most urgent first, and never given up while there is hope. */
export function createPublisher(options: PublisherOptions): Publisher {
  const { table, onAbandoned, now, schedule = systemSchedule, random = Math.random } = options;
  const bucket = createTokenBucket(options.budget ?? nodeBudget);
  const attempts = createAttempts(options);
  const throttling = createThrottling(now, random);
  const [untilDue, backOff] = [createPause(schedule), createPause(schedule)];
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
    while (!stopping.signal.aborted) {
      const wait = table.nextDue() - now();
      if (wait > 0) await untilDue.wait(Math.min(wait, longestSleep));
      else await publishDue();
    }
  }

  async function publishDue(): Promise<void> {
    for (const series of table.due(now())) {
      if (stopping.signal.aborted) return;
      const vain = attempts.isVain(series);
      if (vain !== false) {
        table.abandon(series);
        if (vain === 'muted') onAbandoned('muted');
        continue;
      }
      const throttledUntil = throttling.until(namespaceOf(series.finding.regarding));
      if (throttledUntil !== undefined) table.retry(series, throttledUntil);
      else if (bucket.take(now())) await publish(series);
      else return table.postpone(bucket.availableAt(now()));
    }
  }

  /** Tries until the server has answered with something that trying again would not change, or has refused the namespace. */
  async function publish(series: Series): Promise<void> {
    const namespace = namespaceOf(series.finding.regarding);
    for (let longest = shortestBackOff; !stopping.signal.aborted; longest = Math.min(longest * 2, longestBackOff)) {
      const refusal = await attempts.write(series);
      if (refusal === 'done') return throttling.answered(namespace);
      if (stopping.signal.aborted) return;
      if (refusal.status === 429) {
        table.retry(series, throttling.refused(namespace, refusal.retryAfter));
        if (throttling.refusedNamespaces > 1)
          await backOff.wait(jittered(refusal.retryAfter, longestOfAll(throttling.refusedNamespaces), random));
        return;
      }
      await backOff.wait(jittered(refusal.retryAfter, longest, random));
    }
  }

  /** What is due at the end is written once, without waiting for a server that is away. */
  async function flush(deadline: Millis): Promise<void> {
    if (now() >= deadline) return;
    for (const series of table.due(now()).filter(mayBeWritten)) {
      if (now() >= deadline || !bucket.take(now())) return;
      if ((await attempts.write(series)) !== 'done') return;
    }
  }

  function mayBeWritten(series: Series): boolean {
    return attempts.isVain(series) === false && throttling.until(namespaceOf(series.finding.regarding)) === undefined;
  }
}

/** Longest wait of all namespaces: the more of them were refused in a row, the longer. */
function longestOfAll(refusedNamespaces: number): Millis {
  return Math.min(shortestBackOff * 2 ** Math.min(refusedNamespaces, 6), longestBackOff);
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
