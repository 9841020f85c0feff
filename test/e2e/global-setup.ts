import type { TestProject } from 'vitest/node';
import { buildBundle } from './bundle.ts';
import type { Address } from './control-plane/connection.ts';
import { startControlPlane } from './control-plane/control-plane.ts';
import { withLock } from './control-plane/lock.ts';
import { ensureTools } from './network/tools.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    controlPlane: Address;
  }
}

/** One control plane for all test files; each takes its own namespaces. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Here, where no test's time runs: on a new machine packages have to be installed, by one process at a time.
  await withLock('kube-netfilter-tailer-tools', () => {}, ensureTools);
  await buildBundle();
  const { address, stop } = await startControlPlane();
  // Functions do not cross to the workers: a test file calls connect(inject('controlPlane')).
  project.provide('controlPlane', address);
  return stop;
}
