interface Situation {
  what: string;
  /** In MiB, like the limit. */
  aim: number;
  /** The smallest limit under which it worked. */
  limit: number;
}

/**
 * The situations of `npm run bench -- memory`, and the smallest limit of memory that it has found for each. The manifests request and limit
 * by it, and docs/performance.md has the table.
 */
export const memoryLimits = {
  idle: { what: 'idle, no Pods on the node', aim: 80, limit: 48 },
  pods: { what: 'idle, 110 Pods on the node', aim: 80, limit: 56 },
  replay: { what: '`replay` of 1 GB', aim: 104, limit: 80 },
  storm: { what: 'storm: 1 M distinct drops in 60 s on 390 Pods', aim: 160, limit: 144 },
  clusterCache: { what: 'idle, `POD_CACHE=cluster`, 20,000 Pods', aim: 104, limit: 80 },
} as const satisfies Record<string, Situation>;
