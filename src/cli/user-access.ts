import { type Access, findAccess } from '../agent/kubernetes/kubernetes.ts';
import { type AccessOptions, givenFlags } from './options/cluster-options.ts';

/** In a Pod, its ServiceAccount asks, unless an option says who. Throws an error that says what cannot be used. */
export async function accessWith({ flags }: AccessOptions): Promise<Access> {
  const isChosen = givenFlags({ flags: { ...flags, kubeconfig: undefined }, timeout: undefined }).length > 0;
  if (!isChosen) return await findAccess(flags.kubeconfig);
  // Loaded on demand, because in a Pod the client library is not needed.
  const { readUserAccess } = await import('../agent/kubernetes/kubeconfig.ts');
  return readUserAccess(flags);
}
