import { KubeConfig } from '@kubernetes/client-node';
import { reasonOf } from '../platform/system-error.ts';
import type { Access, Credentials } from './http.ts';

/** By the file at `path`, else as kubectl does. Throws with the path of a file that cannot be used. */
export function readKubeconfig(path: string | undefined): Access {
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
  } catch (error) {
    const { path: file = 'the kubeconfig' } = error as NodeJS.ErrnoException;
    // What is no YAML is quoted in the lines below the first.
    throw new Error(`${path ?? file}: cannot be used: ${reasonOf(error).split('\n', 1)[0]}`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`${path ?? 'kubeconfig'}: its current context names no cluster`);
  if (path === undefined && cluster.server === 'http://localhost:8080')
    throw new Error(
      'no API server is known: this is no Pod with a ServiceAccount, and there is no kubeconfig (set KUBECONFIG)',
    );
  return {
    server: cluster.server,
    async authenticate() {
      const options: Credentials = {};
      await config.applyToHTTPSOptions(options);
      const { agent, ...rest } = options;
      // Only that of a proxy: the library's own keeps no connections.
      return cluster.proxyUrl === undefined ? rest : { ...rest, agent };
    },
  };
}
