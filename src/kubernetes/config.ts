import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { reasonOf } from '../platform/system-error.ts';

/** The library makes a connection pool, so a TLS handshake, for each request: this keeps the first while the config lives. */
class PooledConfig extends KubeConfig {
  #dispatcher: ReturnType<RequestContext['getDispatcher']>;

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.#dispatcher ??= context.getDispatcher();
    if (this.#dispatcher !== undefined) context.setDispatcher(this.#dispatcher);
  }
}

/** By `kubeconfig`, else the Pod's ServiceAccount, else as kubectl does. Throws with the path of a file that cannot be used. */
export function loadConfig(kubeconfig: string | undefined): KubeConfig {
  const config = new PooledConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    const { path = 'the kubeconfig' } = error as NodeJS.ErrnoException;
    // What is no YAML is quoted in the lines below the first.
    throw new Error(`${kubeconfig ?? path}: cannot be used: ${reasonOf(error).split('\n', 1)[0]}`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`${kubeconfig ?? 'kubeconfig'}: its current context names no cluster`);
  if (kubeconfig === undefined && cluster.server === 'http://localhost:8080')
    throw new Error(
      'no API server is known: this is no Pod with a ServiceAccount, and there is no kubeconfig (set KUBECONFIG)',
    );
  return config;
}
