import type { Millis } from '../model/log-line.ts';
import { type BackOff, createBackOff } from '../platform/back-off.ts';
import type { Refusal } from './event-store.ts';
import { slowAfter } from './writes-in-flight.ts';

/** Of one namespace, and of all writes. */
export const backOffLimits = { first: 1000, longest: 60_000 };

/** Whom a refusal means: one namespace, or all writes. Undefined: it does not say. */
type Scope = 'namespace' | 'all' | undefined;

/** Back-off of namespaces whose writes are refused. */
export function createThrottling(now: () => Millis, random: () => number) {
  const backOffs = new Map<string, { until: Millis; backOff: BackOff }>();
  /** By an answer that does not say whom it means, since anything was accepted. */
  const refused = new Set<string>();

  return {
    /** When a namespace may be written to again; undefined: now. */
    until(namespace: string): Millis | undefined {
      const until = backOffs.get(namespace)?.until;
      return until === undefined || until <= now() ? undefined : until;
    },
    /** A write to it was refused. `until`: when the namespace may be tried again. `isOfAll`: any other write would be refused, too. */
    refused(namespace: string, refusal: Refusal, scope: Scope): { until: Millis | undefined; isOfAll: boolean } {
      if (scope === 'all') return { until: undefined, isOfAll: true };
      const backOff = backOffs.get(namespace)?.backOff ?? createBackOff(backOffLimits, random);
      const until = now() + backOff.next(refusal.retryAfter);
      backOffs.set(namespace, { until, backOff });
      return { until, isOfAll: scope === undefined && refused.add(namespace).size > 1 };
    },
    /** A write to it was answered otherwise. */
    answered(namespace: string): void {
      backOffs.delete(namespace);
      refused.clear();
    },
  };
}

/** `took`: how long the answer, or its time-out, was waited for. */
export function refusedScope(refusal: Refusal, took: Millis): Scope {
  if (refusal.status === 429) return throttledScope(refusal);
  // A namespace whose admission hangs looks as a server that hangs: what others are answered shows which it is.
  return refusal.status !== 401 && took >= slowAfter ? undefined : 'all';
}

/**
 * Whom a 429 means. The admission plugin EventRateLimit names the types of the limits that were
 * reached, API Priority and Fairness answers with a text of its own (Kubernetes 1.36, unchanged since 1.18). What
 * stands in front of an API server does not say.
 */
export function throttledScope({ message }: Pick<Refusal, 'message'>): Scope {
  if (message.startsWith('Too many requests, please try again later.')) return 'all';
  const [first, ...more] = message.matchAll(/(?:^Too many requests: \[?|, )limit reached on type (\w{1,20}) for key /g);
  if (first?.index !== 0) return undefined;
  const isOfOne = [first, ...more].every(([, type]) => type === 'Namespace' || type === 'SourceAndObject');
  return isOfOne ? 'namespace' : 'all';
}
