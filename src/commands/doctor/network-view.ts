import { hostProcess, namespaceOf } from '../../platform/proc.ts';

/** `initial`: the kernel's first namespace; `node`: of a node that is a container; `pod`: a Pod's, without the node's rules. */
export type NetworkView = 'initial' | 'node' | 'pod';

export interface NetworkViewOptions {
  /** The host's /proc, or the own one. */
  procRoot: string;
  /** Whether this is a Pod, and one with hostNetwork. */
  isPod: boolean;
  hostNetwork: () => Promise<boolean | undefined>;
}

/** Never rejects. */
export async function lookAtNetwork({ procRoot, isPod, hostNetwork }: NetworkViewOptions): Promise<NetworkView> {
  if ((await hostProcess('/proc')) === 'self') return 'initial';
  if (!isPod) return 'node';
  if (procRoot !== '/proc') {
    const [own, first] = await Promise.all([namespaceOf('/proc', 'self'), namespaceOf(procRoot, '1')]);
    if (own !== undefined && own === first) return 'node';
  }
  return (await hostNetwork()) === true ? 'node' : 'pod';
}
