import type { Millis } from '../model/log-line.ts';

/**
 * Where the API server wants fewer writes (429). A limit may be one namespace's (the admission plugin EventRateLimit) or meant for
 * all that this agent writes (API Priority and Fairness), and the answer does not say which. So the namespace is in back-off, and
 * others are tried; if a second one is refused before anything is accepted, all are.
 */
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
