import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Access } from './http.ts';

/** The kubelet keeps the token and the certificate authority of a Pod here, and replaces them from time to time. */
const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Reads how to reach the API server: by `kubeconfig`, else the Pod's ServiceAccount, else as kubectl does. It throws with the
 * path of a file that cannot be used. In a Pod the client library is not loaded (docs/decisions.md).
 */
export async function findAccess(kubeconfig: string | undefined): Promise<() => Access> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (kubeconfig === undefined && host !== undefined && existsSync(join(account, 'token'))) {
    const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return () => serviceAccount(server);
  }
  const { readKubeconfig } = await import('./kubeconfig.ts');
  return () => readKubeconfig(kubeconfig);
}

function serviceAccount(server: string): Access {
  const ca = readFileSync(join(account, 'ca.crt'));
  return {
    server,
    // Its file is in memory, and the token in it lasts for an hour.
    authenticate: async () => ({
      ca,
      headers: { authorization: `Bearer ${readFileSync(join(account, 'token'), 'latin1').trim()}` },
    }),
  };
}
