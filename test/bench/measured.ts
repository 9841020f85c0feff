/** What `npm run bench:agent` has measured of an agent on a node with 110 Pods; the manifests request by it. Memory in MB (RSS). */
export const measured = { memory: 104 } as const;

/** What `npm run bench:memory` looks for, and the limit (MiB) that each is to hold in. */
export const aims = {
  idle: { what: 'idle, no Pods on the node', aim: 80 },
  pods: { what: 'idle, 110 Pods on the node', aim: 80 },
  replay: { what: 'replay of 1 GB', aim: 104 },
  storm: { what: 'storm: 1 M distinct drops in 60 s on 390 Pods', aim: 160 },
  nodeCache: { what: 'idle, 20,000 Pods in the cluster', aim: 80 },
  clusterCache: { what: 'idle, POD_CACHE=cluster, 20,000 Pods', aim: 104 },
} as const;
