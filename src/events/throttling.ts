import type { Millis } from '../model/log-line.ts';

/** Back-off after 429, of one namespace (EventRateLimit) or all (API Priority and Fairness): the answer does not say which. */
export interface Throttling {
  /** When a namespace may be written to again; undefined: now. */
  until: (namespace: string) => Millis | undefined;
  /** A write to it was refused. `retryAfter`: what the answer asked for. Returns when it may be tried again. */
  refused: (namespace: string, retryAfter: Millis | undefined) => Millis;
  /** A write to it was answered otherwise. */
  answered: (namespace: string) => void;
  /** Namespaces that were refused since anything was accepted: more than one means all. */
  readonly refusedNamespaces: number;
}

const shortestBackOff: Millis = 1000;
const longestBackOff: Millis = 60_000;

export function createThrottling(now: () => Millis): Throttling {
  const backOffs = new Map<string, { until: Millis; longest: Millis }>();
  const refused = new Set<string>();

  return {
    until(namespace) {
      const until = backOffs.get(namespace)?.until;
      return until === undefined || until <= now() ? undefined : until;
    },
    refused(namespace, retryAfter) {
      const before = backOffs.get(namespace)?.longest ?? 0;
      const longest = Math.min(Math.max(shortestBackOff, before * 2), longestBackOff);
      const until = now() + jittered(retryAfter, longest);
      backOffs.set(namespace, { until, longest });
      refused.add(namespace);
      return until;
    },
    answered(namespace) {
      backOffs.delete(namespace);
      refused.clear();
    },
    get refusedNamespaces() {
      return refused.size;
    },
  };
}

/** Agents that were refused together must not come again together. */
export function jittered(retryAfter: Millis | undefined, longest: Millis): Millis {
  return (retryAfter ?? 0) + Math.random() * longest;
}
