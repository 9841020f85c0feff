/** Decides by one table, `rules`, how a series continues after the answer to its write, and which others must wait. */
import { isSummary } from '../../base/model/finding.ts';
import type { Series, TurnEnd, WriteKind, WriteResult } from '../../base/model/series.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { type BackOff, createBackOff, createCooldown } from '../../base/platform/rates.ts';
import { denierOf } from './denial.ts';
import { namespaceOfEvents } from './event.ts';
import type { WriteOutcome, Refusal } from './event-writer.ts';

/** The delays that texts name, after which an Event is tried again. */
export const retryDelays = {
  /** The server fails (500), mostly because of an admission webhook. */
  failed: 60_000,
  /** A quota, a webhook or a policy refused the Event. With a shorter delay, one namespace could use up the node's budget. */
  denied: 600_000,
  /** Abandoned series and muted namespaces. Without this delay, each packet would cause another try. */
  abandoned: 600_000,
} as const;

/** The consequence of the result of a write. A number is the delay after which only this Event is tried again. */
const rules: Readonly<Record<WriteResult, 'publish' | Millis | 'back off' | 'abandon' | 'mute namespace'>> = {
  ok: 'publish',
  conflict: 1000,
  // After this delay, the missing right may have been granted.
  forbidden: 30_000,
  failed: retryDelays.failed,
  denied: retryDelays.denied,
  // Others would also be refused, at least in this namespace. The series is postponed.
  throttled: 'back off',
  unauthorized: 'back off',
  unavailable: 'back off',
  // The Event is refused for good.
  invalid: 'abandon',
  foreign: 'abandon',
  // The namespace is being deleted or gone, so all its series are abandoned.
  terminating: 'mute namespace',
  gone: 'mute namespace',
};

export const delays = {
  /** For a throttled namespace, and for all writes while the API server does not answer. */
  backOff: { first: 1000, longest: 60_000 },
  /** A write that takes longer than this is slow, so another may begin. */
  slow: 1000,
  /** How long a namespace counts as slow. Such namespaces wait while many writes are slow. */
  wasSlow: 60_000,
  /** How often to check in an outage, while enough writes already probe the API server. */
  lookInOutage: 1000,
} as const;

export interface Attempt {
  series: Series;
  verb: 'create' | 'update' | 'read';
  result: WriteResult;
  refusal: Refusal | undefined;
  /** The number of newly published packets; 0 if Events of Pods count the same packets. */
  packets: number;
}

/** Tracks which writes must wait: single series, namespaces, or all. */
export function createRetries(now: () => Millis, random: () => number) {
  const mutedNamespaces = createCooldown<string>(retryDelays.abandoned, now);
  const abandoned = createCooldown<Series>(retryDelays.abandoned, now);
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
    get isRefused(): boolean {
      return refusal !== undefined;
    },
    caughtUp(): void {
      isCatchingUp = isOut;
    },
    /** Returns how long to wait before the next write if all writes are refused; otherwise undefined. */
    pause(): Millis | undefined {
      const latest = refusal;
      refusal = undefined;
      if (latest === undefined) return undefined;
      isOut = true;
      isCatchingUp = true;
      return backOff.next(latest.retryAfter);
    },
    /** `busyUntil`: when to check the namespace of the series again, if others keep it busy. */
    obstacleFor(series: Series, busyUntil?: Millis): TurnEnd | undefined {
      if (abandoned.has(series)) return { kind: 'abandoned' };
      const namespace = namespaceOfEvents(series.finding.regarding);
      if (mutedNamespaces.has(namespace)) return { kind: 'abandoned', reason: 'muted' };
      const until = throttled.get(namespace)?.until ?? -Infinity;
      if (until > now()) return { kind: 'postponed', until };
      return busyUntil === undefined ? undefined : { kind: 'postponed', until: busyUntil };
    },
    /** `took`: the time until the answer or the time-out. */
    endAfter(series: Series, outcome: WriteOutcome, took: Millis): TurnEnd {
      const result = resultOf(outcome);
      const rule = rules[result];
      if (rule === 'back off' && outcome.kind === 'refused') return backOffFrom(series, outcome.refusal, took);
      answered(series);
      if (outcome.kind === 'written') return { kind: 'published', published: outcome.published };
      if (typeof rule === 'number') return { kind: 'refused', until: now() + rule };
      if (rule === 'mute namespace') mutedNamespaces.add(namespaceOfEvents(series.finding.regarding));
      else abandoned.add(series);
      return { kind: 'abandoned', reason: result };
    },
  };

  function answered({ finding }: Series): void {
    throttled.delete(namespaceOfEvents(finding.regarding));
    unclear.clear();
    isOut = false;
    backOff.reset();
  }

  /** Handles a refusal that other writes would also get, at least in this namespace. */
  function backOffFrom({ finding }: Series, answer: Refusal, took: Millis): TurnEnd {
    const scope = refusedScope(answer, took);
    if (scope === 'all') {
      refusal = answer;
      return { kind: 'postponed' };
    }
    const namespace = namespaceOfEvents(finding.regarding);
    const pauses = throttled.get(namespace)?.backOff ?? createBackOff(delays.backOff, random);
    const until = now() + pauses.next(answer.retryAfter);
    throttled.set(namespace, { until, backOff: pauses });
    if (scope === undefined && unclear.add(namespace).size > 1) refusal = answer;
    return { kind: 'postponed', until };
  }
}

export function attemptOf(series: Series, outcome: WriteOutcome): Attempt {
  const packets = outcome.kind === 'written' && !isSummary(series.finding) ? outcome.packets : 0;
  const refusal = outcome.kind === 'refused' ? outcome.refusal : undefined;
  const verb = outcome.kind === 'foreign' ? 'read' : outcome.verb;
  return { series, verb, result: resultOf(outcome), refusal, packets };
}

function resultOf(outcome: WriteOutcome): WriteResult {
  if (outcome.kind !== 'refused') return outcome.kind === 'written' ? 'ok' : 'foreign';
  const { verb, refusal } = outcome;
  const { status, reason } = refusal;
  if (denierOf(refusal) !== undefined) return 'denied';
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'throttled';
  if (status === 500) return 'failed';
  if (status === 0 || status === 408 || status >= 500) return 'unavailable';
  if (status === 403) return reason === 'NamespaceTerminating' ? 'terminating' : 'forbidden';
  if (status === 404 && verb === 'create') return reason === 'NamespaceNotFound' ? 'gone' : 'unavailable';
  if (status === 404 || status === 409) return 'conflict';
  return [400, 413, 422].includes(status) ? 'invalid' : 'unavailable';
}

/** Whether a refusal concerns one namespace or all writes; undefined if it does not say. */
type Scope = 'namespace' | 'all' | undefined;

export function refusedScope(refusal: Refusal, took: Millis): Scope {
  if (refusal.status === 429) return throttledScope(refusal);
  // A slow answer may come from a hanging server, or from a hanging admission of one namespace. Other writes show which.
  return refusal.status !== 401 && took >= delays.slow ? undefined : 'all';
}

/** EventRateLimit names limits, API Priority and Fairness has its own text (Kubernetes 1.36, the same since 1.18), proxies do not say. */
export function throttledScope({ message }: Pick<Refusal, 'message'>): Scope {
  if (message.startsWith('Too many requests, please try again later.')) return 'all';
  const [first, ...more] = message.matchAll(/(?:^Too many requests: \[?|, )limit reached on type (\w{1,20}) for key /g);
  if (first?.index !== 0) return undefined;
  const isOfOne = [first, ...more].every(([, type]) => type === 'Namespace' || type === 'SourceAndObject');
  return isOfOne ? 'namespace' : 'all';
}
