import { readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { type Cluster, type ClusterData, startCluster } from './cluster.ts';
import { buildAgentImage } from './images.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: ClusterData;
  }
}

/** The names under which the tests of the cluster know the images of the Dockerfile. */
export const AGENT_IMAGE = {
  plain: 'localhost/kube-netfilter-tailer:plain',
  journal: 'localhost/kube-netfilter-tailer:journal',
};

/**
 * Starts one cluster for all test files, with the images of this checkout on its nodes. CLUSTER: a file with the data
 * of a running cluster.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = process.env['CLUSTER'];
  if (running !== undefined) {
    project.provide('cluster', JSON.parse(readFileSync(running, 'utf8')) as ClusterData);
    return async () => {};
  }
  const { cluster, end } = await startCluster(['node-a', 'node-b']);
  try {
    await loadAgentImages(cluster);
    project.provide('cluster', cluster.data);
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}

export async function loadAgentImages(cluster: Cluster): Promise<void> {
  for (const [target, reference] of Object.entries(AGENT_IMAGE)) {
    await buildAgentImage(target, reference);
    await cluster.load(reference);
  }
}
