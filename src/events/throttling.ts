import type { Millis } from '../model/log-line.ts';
import { type BackOff, createBackOff } from '../platform/back-off.ts';
import type { Refusal } from './event-store.ts';

/** Of one namespace, and of all writes. */
export const backOffLimits = { first: 1000, longest: 60_000 };

/** Back-off of namespaces after 429. */
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
    refused(namespace: string, refusal: Refusal): { until: Millis | undefined; isOfAll: boolean } {
      const scope = throttledScope(refusal);
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

/**
 * Whom a 429 means: one namespace, or all writes. The admission plugin EventRateLimit names the types of the limits that were
 * reached, API Priority and Fairness answers with a text of its own (Kubernetes 1.36, unchanged since 1.18). Undefined: it does
 * not say, as what stands in front of an API server.
 */
export function throttledScope({ message }: Pick<Refusal, 'message'>): 'namespace' | 'all' | undefined {
  if (message.startsWith('Too many requests, please try again later.')) return 'all';
  const [first, ...more] = message.matchAll(/(?:^Too many requests: \[?|, )limit reached on type (\w{1,20}) for key /g);
  if (first?.index !== 0) return undefined;
  const isOfOne = [first, ...more].every(([, type]) => type === 'Namespace' || type === 'SourceAndObject');
  return isOfOne ? 'namespace' : 'all';
}
