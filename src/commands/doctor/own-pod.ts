/** Finds out in which Pod, and in whose network, this process runs. */
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { hostProcess, namespaceOf } from '../../platform/proc.ts';

export interface PodName {
  namespace: string;
  name: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Goes by POD_NAME and POD_NAMESPACE, else by the host's name, which differs only with hostNetwork. Undefined outside of Pods. */
export function ownPod(env: NodeJS.ProcessEnv): PodName | undefined {
  const name = env['POD_NAME'] || (existsSync(accountFolder) ? hostname() : undefined);
  const namespace = env['POD_NAMESPACE'] || accountNamespace();
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

function accountNamespace(): string | undefined {
  try {
    return readFileSync(`${accountFolder}/namespace`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** `initial`: the kernel's first namespace; `node`: of a node that is a container; `pod`: a Pod's, without the node's rules. */
export type NetworkView = 'initial' | 'node' | 'pod';

/** `procRoot`: the host's /proc, or the own one. Undefined in a Pod that may or may not have hostNetwork. Never rejects. */
export async function lookAtNetwork(procRoot: string): Promise<'initial' | 'node' | undefined> {
  if ((await hostProcess('/proc')) === 'self') return 'initial';
  if (!existsSync(accountFolder)) return 'node';
  if (procRoot === '/proc') return undefined;
  const [own, first] = await Promise.all([namespaceOf('/proc', 'self'), namespaceOf(procRoot, '1')]);
  return own !== undefined && own === first ? 'node' : undefined;
}
