import { installPrograms, restrictPath } from '../programs/install.ts';
import { buildBundle } from './bundle.ts';
import { requireKernelAccess } from './network/kernel-access.ts';

/** Sets up the parts that all projects need. */
export default async function setup(): Promise<() => void> {
  requireKernelAccess();
  // Here, where no test's time runs: on a new machine packages have to be installed.
  await installPrograms('e2e');
  const restorePath = restrictPath('e2e');
  await buildBundle();
  return restorePath;
}
