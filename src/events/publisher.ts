import { backOff } from 'exponential-backoff';
import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { createTokenBucket, nodeBudget } from '../platform/token-bucket.ts';
import { denierOf } from './denial.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import type { Outcome } from './event-writer.ts';
import type { Publishable } from './recorder.ts';
import { createCooldown } from '../platform/cooldown.ts';

/** What publishing to an API server, which may refuse it, needs of a table of series. */
export interface PublisherTable extends Publishable {
  retry: (series: Series, at: Millis) => void;
  abandon: (series: Series) => void;
}

/** How a write ended, as metrics and logs name it. */
export type Result =
  | 'ok'
  | 'conflict'
  | 'forbidden'
  | 'denied'
  | 'terminating'
  | 'gone'
  | 'invalid'
  | 'foreign'
  | 'throttled'
  | 'unauthorized'
  | 'failed'
  | 'unavailable';

export interface PublisherOptions {
  table: PublisherTable;
  write: (series: Series) => Promise<Outcome>;
  /** Told of each attempt. */
  onResult: (verb: 'create' | 'update' | 'read', result: Result, series: Series, refusal: Refusal | undefined) => void;
  onWritten: (packets: number) => void;
  /** Nothing more is tried for a series. `muted`: its namespace was being deleted a moment ago. */
  onAbandoned: (reason: Result | 'muted') => void;
  /** The API server does not believe our token: load it anew. */
  onUnauthorized: () => void;
  now: () => Millis;
  budget?: { rate: number; burst: number };
}

export interface Publisher {
  /** Writes what is due, for ever. Resolves after `stop`. */
  run: () => Promise<void>;
  /** Something is due earlier than it was. */
  wake: () => void;
  /** Ends `run`; with what is due now still written, if that takes no longer than `grace`. */
  stop: (grace: Millis) => Promise<void>;
  /** Namespaces whose objects nobody can be told of, because they are being deleted. */
  readonly muted: number;
}

/** How long a namespace that is being deleted is left alone. */
const mutedFor: Millis = 600_000;
/** How long an Event that was refused for good is left alone: each packet that comes would have it refused again. */
const givenUpFor: Millis = 600_000;
/** How long until it is seen whether a missing right has been granted. */
const forbiddenFor: Millis = 30_000;
/**
 * How long until a quota, a webhook or a policy is asked again. Half a minute for each of a namespace's problems would take the
 * whole of the node's budget from the others.
 */
const deniedFor: Millis = 600_000;
/** How long an Event that the server fails on (500: an admission webhook, mostly) is left alone, while others are written. */
const brokenFor: Millis = 60_000;

const backOffOptions = {
  jitter: 'full',
  startingDelay: 1000,
  maxDelay: 60_000,
  numOfAttempts: Number.MAX_SAFE_INTEGER,
} as const;

/** The cold path: one write at a time, within the node's budget, most urgent first, and never given up while there is hope. */
export function createPublisher(options: PublisherOptions): Publisher {
  const { table, write, onResult, now } = options;
  const bucket = createTokenBucket(options.budget ?? nodeBudget);
  /** Namespaces. */
  const muted = createCooldown<string>(mutedFor, now);
  const givenUp = createCooldown<Series>(givenUpFor, now);
  let stopping = false;
  let wakeUp: (() => void) | undefined;
  /** Ends what is being waited for. Not a promise that lives as long as the program: each wait would leave something on it. */
  let interrupt: (() => void) | undefined;
  let endSleep: (() => void) | undefined;
  let inFlight: Promise<unknown> = Promise.resolve();
  let finished: Promise<void> = Promise.resolve();

  return {
    get muted() {
      return muted.size;
    },
    run: () => (finished = run()),
    wake: () => wakeUp?.(),
    async stop(grace) {
      const deadline = now() + grace;
      stopping = true;
      interrupt?.();
      endSleep?.();
      const timeOut = Promise.withResolvers<void>();
      const timer = setTimeout(timeOut.resolve, grace);
      await Promise.race([finished.then(() => flush(deadline)), timeOut.promise]);
      clearTimeout(timer);
    },
  };

  async function run(): Promise<void> {
    for (;;) {
      if (stopping) return;
      const at = table.nextDue();
      if (at > now()) {
        await sleepUntil(at);
        continue;
      }
      for (const series of table.due(now())) {
        if (stopping) return;
        if (givenUp.has(series)) {
          table.abandon(series);
          continue;
        }
        if (isMuted(series)) {
          abandon(series, 'muted');
          continue;
        }
        if (!bucket.take(now())) {
          table.postpone(bucket.availableAt(now()));
          break;
        }
        await unlessStopped(publish(series));
      }
    }
  }

  /** What is due at the end is written once, without waiting for a server that is away. */
  async function flush(deadline: Millis): Promise<void> {
    if (now() >= deadline) return;
    await inFlight;
    for (const series of table.due(now()).filter((each) => !isMuted(each) && !givenUp.has(each))) {
      if (now() >= deadline || !bucket.take(now())) return;
      if ((await attempt(series)) !== 'done') return;
    }
  }

  /** Tries until the server has answered with something that trying again would not change. */
  async function publish(series: Series): Promise<void> {
    await backOff(
      async () => {
        // The wait before this cannot be cut short by `stop`.
        if (stopping) throw new Unavailable(undefined);
        const result = await attempt(series);
        if (result !== 'done') throw new Unavailable(result.retryAfter);
      },
      { ...backOffOptions, retry: waitAsAsked },
    ).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error;
    });
  }

  async function waitAsAsked(error: Unavailable): Promise<boolean> {
    if (error.retryAfter !== undefined && !stopping) await sleep(error.retryAfter);
    return !stopping;
  }

  function attempt(series: Series): Promise<'done' | Refusal> {
    const attempted = attemptNow(series);
    inFlight = attempted;
    return attempted;
  }

  async function attemptNow(series: Series): Promise<'done' | Refusal> {
    const outcome = await write(series).catch(failedByItself);
    if (outcome.kind === 'written') {
      table.published(series, outcome.published);
      options.onWritten(outcome.packets);
      onResult(outcome.verb, 'ok', series, undefined);
      return 'done';
    }
    if (outcome.kind === 'foreign') {
      onResult('read', 'foreign', series, undefined);
      giveUp(series, 'foreign');
      return 'done';
    }
    const { refusal, verb } = outcome;
    const result = resultOf(refusal, verb);
    onResult(verb, result, series, refusal);
    switch (result) {
      case 'unauthorized':
        options.onUnauthorized();
        return refusal;
      case 'throttled':
      case 'unavailable':
        return refusal;
      case 'failed':
        table.retry(series, now() + brokenFor);
        return 'done';
      case 'conflict':
        table.retry(series, now() + 1000);
        return 'done';
      case 'forbidden':
        table.retry(series, now() + forbiddenFor);
        return 'done';
      case 'denied':
        table.retry(series, now() + deniedFor);
        return 'done';
      case 'terminating':
      case 'gone':
        muted.add(namespaceOf(series.finding.regarding));
        abandon(series, result);
        return 'done';
      default:
        giveUp(series, result);
        return 'done';
    }
  }

  function giveUp(series: Series, reason: Result): void {
    givenUp.add(series);
    abandon(series, reason);
  }

  function abandon(series: Series, reason: Result | 'muted'): void {
    table.abandon(series);
    options.onAbandoned(reason);
  }

  function isMuted(series: Series): boolean {
    return muted.has(namespaceOf(series.finding.regarding));
  }

  async function sleepUntil(at: Millis): Promise<void> {
    // A timer longer than 2^31 ms fires at once.
    const slept = sleep(Math.min(at - now(), 3_600_000));
    wakeUp = endSleep;
    await slept;
    wakeUp = undefined;
  }

  async function sleep(duration: Millis): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, duration);
    endSleep = resolve;
    await promise;
    endSleep = undefined;
    clearTimeout(timer);
  }

  async function unlessStopped(work: Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    interrupt = resolve;
    work.then(resolve, reject);
    await promise;
    interrupt = undefined;
  }
}

class Unavailable extends Error {
  readonly retryAfter: Millis | undefined;

  constructor(retryAfter: Millis | undefined) {
    super('the API server cannot be written to');
    this.retryAfter = retryAfter;
  }
}

/** A fault of this program must cost one Event for a while, not all of them for good. */
function failedByItself(error: unknown): Outcome {
  const refusal = { kind: 'refused', status: 500, reason: '', message: String(error), retryAfter: undefined } as const;
  return { kind: 'refused', verb: 'create', refusal };
}

function resultOf(refusal: Refusal, verb: 'create' | 'update' | 'read'): Result {
  const { status, reason } = refusal;
  if (denierOf(refusal) !== undefined) return 'denied';
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'throttled';
  if (status === 500) return 'failed';
  if (status === 0 || status === 408 || status >= 500) return 'unavailable';
  if (status === 403) return reason === 'NamespaceTerminating' ? 'terminating' : 'forbidden';
  if (status === 404) return verb === 'create' ? 'gone' : 'conflict';
  return status === 409 ? 'conflict' : 'invalid';
}
