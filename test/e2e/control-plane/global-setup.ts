import type { TestProject } from 'vitest/node';
import type { Address } from './connection.ts';
import { startControlPlane } from './control-plane.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    controlPlane: Address;
  }
}

/** One control plane for all test files of a project; each takes its own namespaces. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { address, stop } = await startControlPlane();
  // Functions do not cross to the workers: a test file calls connect(inject('controlPlane')).
  project.provide('controlPlane', address);
  return stop;
}
