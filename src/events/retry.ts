/** Decides what a refusal means for its Event and for others, and when each is tried again. All delays stand in one table. */
import type { Series, WriteKind, WriteResult } from '../model/series.ts';
import type { Millis } from '../model/log-line.ts';
import { type BackOff, createBackOff, createCooldown } from '../platform/back-off.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-writer.ts';

export const delays = {
  /** One Event, by the result of its write; others are written meanwhile. */
  byResult: {
    conflict: 1000,
    /** The missing right may have been granted until then. */
    forbidden: 30_000,
    /** The server fails (500): an admission webhook, mostly. */
    failed: 60_000,
    /** A quota, a webhook or a policy. A shorter delay would let one namespace use up the budget of the node. */
    denied: 600_000,
  } as Partial<Record<WriteResult, Millis>>,
  /** Nothing is written to a namespace that is being deleted. */
  namespaceGone: 600_000,
  /** An Event that was refused for good. Without this each packet would try it again. */
  givenUp: 600_000,
  /** For a throttled namespace, and for all writes while the API server is away. */
  backOff: { first: 1000, longest: 60_000 },
  /** A write that takes longer is slow: another may begin. */
  slow: 1000,
  /** While many writes are slow, namespaces that were slow so lately wait. */
  wasSlow: 60_000,
  /** While the API server accepts nothing and enough writes probe it. */
  lookInOutage: 1000,
} as const;

/** What follows for a series: it is written later, as it is counted by then, or never. */
export type Consequence =
  | { kind: 'abandon'; reason: WriteResult }
  | { kind: 'retry'; until: Millis }
  /** The reason is not its own; `until` undefined: any other write would be refused, too. */
  | { kind: 'wait'; until: Millis | undefined };

export type Obstacle = 'given up' | 'muted' | { until: Millis };

/** The outcome of an attempt to write a series. */
export interface Attempt {
  series: Series;
  verb: 'create' | 'update' | 'read';
  result: WriteResult;
  refusal: Refusal | undefined;
  /** Packets that are newly published; 0 if Events of Pods count the same. */
  packets: number;
}

/** Knows which series and namespaces, or whether all writes, have to wait. */
export function createRetries(now: () => Millis, random: () => number) {
  const mutedNamespaces = createCooldown<string>(delays.namespaceGone, now);
  const givenUp = createCooldown<Series>(delays.givenUp, now);
  const throttled = new Map<string, { until: Millis; backOff: BackOff }>();
  /** Namespaces refused by an answer that does not say whom it means, since anything was accepted. */
  const unclear = new Set<string>();
  const backOff = createBackOff(delays.backOff, random);
  let isOut = false;
  let isCatchingUp = false;
  /** The latest answer that means all writes. */
  let refusal: Refusal | undefined;

  return {
    /** The last Event was refused as any would have been. */
    get isOut(): boolean {
      return isOut;
    },
    /** After an outage all nodes have waited for the API server, so first Events are paced like others until all that was due is written. */
    paced: (kind: WriteKind): WriteKind => (kind === 'first' && isCatchingUp ? 'more' : kind),
    /** All writes were refused since the last `pause`. */
    get isRefused(): boolean {
      return refusal !== undefined;
    },
    caughtUp(): void {
      isCatchingUp = isOut;
    },
    /** How long nothing should be tried, if every Event is refused. */
    pause(): Millis | undefined {
      const latest = refusal;
      refusal = undefined;
      if (latest === undefined) return undefined;
      isOut = true;
      isCatchingUp = true;
      return backOff.next(latest.retryAfter);
    },
    /** `busyUntil`: when to look again at its namespace, which is being written to. */
    obstacleFor(series: Series, busyUntil: Millis | undefined): Obstacle | undefined {
      if (givenUp.has(series)) return 'given up';
      const namespace = namespaceOf(series.finding.regarding);
      if (mutedNamespaces.has(namespace)) return 'muted';
      const until = throttled.get(namespace)?.until ?? -Infinity;
      if (until > now()) return { until };
      return busyUntil === undefined ? undefined : { until: busyUntil };
    },
    /** Undefined: it was written. `took`: the wait for the answer or its time-out. */
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

  /** Any other write would be refused as well, at least in its namespace. */
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

/** Names what refuses an Event that the agent has the right to write; `admission`: another program that the API server asks. */
export type Denier = 'webhook' | 'policy' | 'quota' | 'admission';

/**
 * Says who denied a write that rights allow; undefined for other refusals. The HTTP status does not show it: a missing right and a quota are
 * both 403, a ValidatingAdmissionPolicy has 403, 413 or 422, and a webhook any. The texts are those of Kubernetes 1.36, unchanged since 1.9
 * (webhook) and 1.26 (policy).
 */
export function denierOf({ status, reason, message }: Omit<Refusal, 'kind' | 'retryAfter'>): Denier | undefined {
  if (status === 0 || reason === 'NamespaceTerminating') return undefined;
  if (/^admission webhook "[^"]{1,300}" denied the request/.test(message)) return 'webhook';
  const why = /^[a-z.]{1,100}(?: "[^"]{0,300}")? is forbidden: (.{1,60})/.exec(message)?.[1];
  if (why === undefined || why.startsWith('User "')) return undefined;
  if (why.startsWith('ValidatingAdmissionPolicy ')) return 'policy';
  return /^(?:exceeded|failed|insufficient|status unknown for) quota/.test(why) ? 'quota' : 'admission';
}

/** A refusal means one namespace or all writes; undefined if it does not say. */
type Scope = 'namespace' | 'all' | undefined;

export function refusedScope(refusal: Refusal, took: Millis): Scope {
  if (refusal.status === 429) return throttledScope(refusal);
  // If admission of a namespace hangs, it looks as if the server did; other writes show which it is.
  return refusal.status !== 401 && took >= delays.slow ? undefined : 'all';
}

/**
 * Says whom a 429 means. EventRateLimit names the limits that were reached, API Priority and Fairness has its own text (Kubernetes 1.36,
 * unchanged since 1.18), and proxies do not say.
 */
export function throttledScope({ message }: Pick<Refusal, 'message'>): Scope {
  if (message.startsWith('Too many requests, please try again later.')) return 'all';
  const [first, ...more] = message.matchAll(/(?:^Too many requests: \[?|, )limit reached on type (\w{1,20}) for key /g);
  if (first?.index !== 0) return undefined;
  const isOfOne = [first, ...more].every(([, type]) => type === 'Namespace' || type === 'SourceAndObject');
  return isOfOne ? 'namespace' : 'all';
}
