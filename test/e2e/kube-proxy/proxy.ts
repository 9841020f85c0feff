import type { Connection } from '../control-plane/connection.ts';
import { followErrors } from './follow-output.ts';
import type { NodeNamespace } from './node-namespace.ts';

export interface KubeProxyOptions {
  readonly connection: Connection;
  readonly place: NodeNamespace;
  /** The name of an existing Node. */
  readonly node: string;
  readonly mode: 'iptables' | 'nftables';
}

export type KubeProxy = ReturnType<typeof startKubeProxy>;

/** Starts a real kube-proxy. Its rules stay when it is stopped. */
export function startKubeProxy(options: KubeProxyOptions) {
  const { connection, place } = options;
  const config = place.writeFile('kube-proxy.conf', JSON.stringify(configuration(options)));
  // A program in a container is process 1, and every line has that number. With --kill-child the program ends with the
  // process that is killed here.
  const container = ['--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = place.start('unshare', [...container, connection.kubeProxyPath, `--config=${config}`, '-v=2']);
  return followErrors('kube-proxy', child);
}

/** Makes a file of kubeproxy.config.k8s.io/v1alpha1, because there are no flags for the periods of nftables. */
function configuration({ connection, node, mode }: KubeProxyOptions): object {
  const periods = { syncPeriod: '5s', minSyncPeriod: '100ms' };
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: connection.adminKubeconfig },
    hostnameOverride: node,
    mode,
    iptables: periods,
    nftables: periods,
    // This limit is for the whole machine, so it is left alone.
    conntrack: { maxPerCore: 0 },
  };
}
