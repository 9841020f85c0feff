import { installPrograms, restrictPath } from '../programs/install.ts';
import { buildBundle } from './bundle.ts';
import { requireKernelAccess } from './network/kernel-access.ts';

/** Sets up what all projects of the tests need. */
export default async function setup(): Promise<() => void> {
  requireKernelAccess();
  // Installed here, outside the time limit of any test, because a new machine needs packages.
  await installPrograms('e2e');
  const restorePath = restrictPath('e2e');
  await buildBundle();
  return restorePath;
}
