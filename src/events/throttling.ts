import type { Millis } from '../model/log-line.ts';

export const shortestBackOff: Millis = 1000;
export const longestBackOff: Millis = 60_000;

/** Back-off after 429, of one namespace (EventRateLimit) or all (API Priority and Fairness): the answer does not say which. */
export function createThrottling(now: () => Millis, random: () => number) {
  const backOffs = new Map<string, { until: Millis; longest: Millis }>();
  const refused = new Set<string>();

  return {
    /** When a namespace may be written to again; undefined: now. */
    until(namespace: string): Millis | undefined {
      const until = backOffs.get(namespace)?.until;
      return until === undefined || until <= now() ? undefined : until;
    },
    /** A write to it was refused. `retryAfter`: what the answer asked for. Returns when it may be tried again. */
    refused(namespace: string, retryAfter: Millis | undefined): Millis {
      const before = backOffs.get(namespace)?.longest ?? 0;
      const longest = Math.min(Math.max(shortestBackOff, before * 2), longestBackOff);
      const until = now() + jittered(retryAfter, longest, random);
      backOffs.set(namespace, { until, longest });
      refused.add(namespace);
      return until;
    },
    /** A write to it was answered otherwise. */
    answered(namespace: string): void {
      backOffs.delete(namespace);
      refused.clear();
    },
    /** Namespaces that were refused since anything was accepted: more than one means all. */
    get refusedNamespaces(): number {
      return refused.size;
    },
  };
}

/** Agents that were refused together must not come again together. */
export function jittered(retryAfter: Millis | undefined, longest: Millis, random: () => number): Millis {
  return (retryAfter ?? 0) + random() * longest;
}
