/** What `npm run bench:agent` has measured of an agent on a node with 110 Pods; the manifests request by it. Memory in MB (RSS). */
export const measured = { memory: 104 } as const;
