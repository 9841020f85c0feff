import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';

export interface PodName {
  namespace: string;
  name: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether this process is in a Pod with a ServiceAccount. */
export function isInPod(): boolean {
  return existsSync(accountFolder);
}

/** By POD_NAME and POD_NAMESPACE, else by the host's name, which differs only with hostNetwork. Undefined outside of Pods. */
export function ownPod(env: NodeJS.ProcessEnv): PodName | undefined {
  const name = env['POD_NAME'] || (isInPod() ? hostname() : undefined);
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
