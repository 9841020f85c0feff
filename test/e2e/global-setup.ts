import type { TestProject } from 'vitest/node';
import { installPrograms } from '../programs/install.ts';
import { restrictPath } from '../programs/path.ts';
import { buildBundle } from './bundle.ts';
import type { Address } from './control-plane/connection.ts';
import { startControlPlane } from './control-plane/control-plane.ts';
import { requireKernelAccess } from './network/kernel-access.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    controlPlane: Address;
  }
}

/** One control plane for all test files; each takes its own namespaces. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  requireKernelAccess();
  // Here, where no test's time runs: on a new machine packages have to be installed.
  await installPrograms('e2e');
  const restorePath = restrictPath('e2e');
  await buildBundle();
  const { address, stop } = await startControlPlane();
  // Functions do not cross to the workers: a test file calls connect(inject('controlPlane')).
  project.provide('controlPlane', address);
  return async () => {
    await stop();
    restorePath();
  };
}
