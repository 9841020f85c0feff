/** Decides what a refusal means for its Event and for others, and when each is tried again. All delays are in one table. */
import type { Series, WriteKind, WriteResult } from '../model/series.ts';
import type { Millis } from '../model/log-line.ts';
import { type BackOff, createBackOff, createCooldown } from '../platform/rates.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-writer.ts';

export const delays = {
  /** The delay of a single Event, by the result of its write. Others are written meanwhile. */
  byResult: {
    conflict: 1000,
    /** After this delay, the missing right may have been granted. */
    forbidden: 30_000,
    /** The server fails (500), mostly because of an admission webhook. */
    failed: 60_000,
    /** A quota, a webhook or a policy refused the Event. With a shorter delay, one namespace could use up the node's budget. */
    denied: 600_000,
  } as Partial<Record<WriteResult, Millis>>,
  /** For a namespace that is being deleted, to which nothing is written. */
  namespaceGone: 600_000,
  /** For an Event that was refused for good. Without this delay, each packet would cause another try. */
  givenUp: 600_000,
  /** For a throttled namespace, and for all writes while the API server does not answer. */
  backOff: { first: 1000, longest: 60_000 },
  /** A write that takes longer than this is slow, so another may begin. */
  slow: 1000,
  /** How long a namespace counts as slow. Such namespaces wait while many writes are slow. */
  wasSlow: 60_000,
  /** How often to check in an outage, while enough writes already probe the API server. */
  lookInOutage: 1000,
} as const;

/** The next step for a series: it is abandoned, or written later with its count at that time. */
export type Consequence =
  | { kind: 'abandon'; reason: WriteResult }
  | { kind: 'retry'; until: Millis }
  /** The refusal is not the series' own fault. With `until` undefined, any other write would be refused, too. */
  | { kind: 'wait'; until: Millis | undefined };

export type Obstacle = 'given up' | 'muted' | { until: Millis };

/** The result of an attempt to write a series. */
export interface Attempt {
  series: Series;
  verb: 'create' | 'update' | 'read';
  result: WriteResult;
  refusal: Refusal | undefined;
  /** The number of newly published packets; 0 if Events of Pods count the same packets. */
  packets: number;
}

/** Keeps track of what must wait: single series, namespaces, or all writes. */
export function createRetries(now: () => Millis, random: () => number) {
  const mutedNamespaces = createCooldown<string>(delays.namespaceGone, now);
  const givenUp = createCooldown<Series>(delays.givenUp, now);
  const throttled = new Map<string, { until: Millis; backOff: BackOff }>();
  /** Namespaces with a refusal since the last success that does not say whether it concerns all writes. */
  const unclear = new Set<string>();
  const backOff = createBackOff(delays.backOff, random);
  let isOut = false;
  let isCatchingUp = false;
  /** The last refusal of all writes since the last `pause`. */
  let refusal: Refusal | undefined;

  return {
    /** Whether an outage lasts: all writes were refused, and no write has been answered since. */
    get isOut(): boolean {
      return isOut;
    },
    /** Returns which budget applies. After an outage all nodes write at once, so first Events use the smaller budget of others for a while. */
    paced: (kind: WriteKind): WriteKind => (kind === 'first' && isCatchingUp ? 'more' : kind),
    /** Whether a refusal of all writes came since the last `pause`. */
    get isRefused(): boolean {
      return refusal !== undefined;
    },
    caughtUp(): void {
      isCatchingUp = isOut;
    },
    /** Returns how long to wait before the next write if all writes are refused; else undefined. */
    pause(): Millis | undefined {
      const latest = refusal;
      refusal = undefined;
      if (latest === undefined) return undefined;
      isOut = true;
      isCatchingUp = true;
      return backOff.next(latest.retryAfter);
    },
    /** Returns why a series cannot be written now. `busyUntil`: when to check its namespace again, if another write to it is under way. */
    obstacleFor(series: Series, busyUntil: Millis | undefined): Obstacle | undefined {
      if (givenUp.has(series)) return 'given up';
      const namespace = namespaceOf(series.finding.regarding);
      if (mutedNamespaces.has(namespace)) return 'muted';
      const until = throttled.get(namespace)?.until ?? -Infinity;
      if (until > now()) return { until };
      return busyUntil === undefined ? undefined : { until: busyUntil };
    },
    /** Decides what follows from an attempt; undefined if it succeeded. `took`: the time until the answer or the time-out. */
    after({ series, result, refusal: answer }: Attempt, took: Millis): Consequence | undefined {
      if (answer !== undefined && isOfAll(result)) return backOffFrom(series, answer, took);
      answered(series);
      if (result === 'ok') return undefined;
      const delay = delays.byResult[result];
      if (delay !== undefined) return { kind: 'retry', until: now() + delay };
      if (result === 'terminating' || result === 'gone') mutedNamespaces.add(namespaceOf(series.finding.regarding));
      else givenUp.add(series);
      return { kind: 'abandon', reason: result };
    },
  };

  function answered({ finding }: Series): void {
    throttled.delete(namespaceOf(finding.regarding));
    unclear.clear();
    isOut = false;
    backOff.reset();
  }

  /** Handles a refusal that other writes would get, too, at least in this namespace. */
  function backOffFrom({ finding }: Series, answer: Refusal, took: Millis): Consequence {
    const scope = refusedScope(answer, took);
    if (scope === 'all') {
      refusal = answer;
      return { kind: 'wait', until: undefined };
    }
    const namespace = namespaceOf(finding.regarding);
    const pauses = throttled.get(namespace)?.backOff ?? createBackOff(delays.backOff, random);
    const until = now() + pauses.next(answer.retryAfter);
    throttled.set(namespace, { until, backOff: pauses });
    if (scope === undefined && unclear.add(namespace).size > 1) refusal = answer;
    return { kind: 'wait', until };
  }
}

export function resultOf(refusal: Refusal, verb: Attempt['verb']): WriteResult {
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

function isOfAll(result: WriteResult): boolean {
  return result === 'unauthorized' || result === 'throttled' || result === 'unavailable';
}

/** Who refuses an Event that the agent has the right to write. `admission`: another admission plug-in. */
export type Denier = 'webhook' | 'policy' | 'quota' | 'admission';

/**
 * Returns who denied a write that rights allow; undefined for other refusals. The message decides, because the HTTP status is not enough: a
 * missing right and a quota both have 403, a ValidatingAdmissionPolicy has 401, 403, 413 or 422, and a webhook may have any. The texts are those
 * of Kubernetes 1.36, unchanged since 1.9 (webhook) and 1.26 (policy).
 */
export function denierOf({ status, reason, message }: Omit<Refusal, 'kind' | 'retryAfter'>): Denier | undefined {
  if (status === 0 || reason === 'NamespaceTerminating') return undefined;
  if (/^admission webhook "[^"]{1,300}" denied the request/.test(message)) return 'webhook';
  const why = /^[a-z.]{1,100}(?: "[^"]{0,300}")? is forbidden: (.{1,60})/.exec(message)?.[1];
  if (why === undefined || why.startsWith('User "')) return undefined;
  if (why.startsWith('ValidatingAdmissionPolicy ')) return 'policy';
  return /^(?:exceeded|failed|insufficient|status unknown for) quota/.test(why) ? 'quota' : 'admission';
}

/** Whether a refusal concerns one namespace or all writes; undefined if it does not say. */
type Scope = 'namespace' | 'all' | undefined;

export function refusedScope(refusal: Refusal, took: Millis): Scope {
  if (refusal.status === 429) return throttledScope(refusal);
  // A slow answer may come from a hanging server, or from a hanging admission of one namespace. Other writes show which.
  return refusal.status !== 401 && took >= delays.slow ? undefined : 'all';
}

/**
 * Returns what a 429 concerns. EventRateLimit names the limits that were reached, API Priority and Fairness has its own text (Kubernetes
 * 1.36, unchanged since 1.18), and proxies do not say.
 */
export function throttledScope({ message }: Pick<Refusal, 'message'>): Scope {
  if (message.startsWith('Too many requests, please try again later.')) return 'all';
  const [first, ...more] = message.matchAll(/(?:^Too many requests: \[?|, )limit reached on type (\w{1,20}) for key /g);
  if (first?.index !== 0) return undefined;
  const isOfOne = [first, ...more].every(([, type]) => type === 'Namespace' || type === 'SourceAndObject');
  return isOfOne ? 'namespace' : 'all';
}
