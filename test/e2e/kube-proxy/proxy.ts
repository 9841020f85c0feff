import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Connection } from '../control-plane/connection.ts';
import { until } from '../until.ts';
import type { NodeNamespace } from './node-namespace.ts';

export interface KubeProxyOptions {
  readonly connection: Connection;
  readonly place: NodeNamespace;
  /** Name of a Node that is there. */
  readonly node: string;
  readonly mode: 'iptables' | 'nftables';
}

export type KubeProxy = ReturnType<typeof startKubeProxy>;

/** Starts a real kube-proxy. Its rules stay when it is stopped. */
export function startKubeProxy(options: KubeProxyOptions) {
  const { connection, place } = options;
  const config = place.writeFile('kube-proxy.conf', JSON.stringify(configuration(options)));
  // A program in a container is process 1, which stands in every line; with --kill-child it ends with what is killed here.
  const container = ['--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = place.start('unshare', [...container, connection.kubeProxyPath, `--config=${config}`, '-v=2']);
  const lines: string[] = [];
  if (child.stderr === null) throw new Error('[kube-proxy] it has no standard error');
  createInterface(child.stderr).on('line', (line) => lines.push(line));
  const closed = once(child, 'close');
  return {
    /** All that it has printed. */
    lines,
    /** The number of the first line from `from` on (default: the next one) that matches; rejects after a minute. */
    untilLine: (pattern: RegExp, from = lines.length): Promise<number> =>
      until(
        () => {
          const found = lines.findIndex((line, index) => index >= from && pattern.test(line));
          return found >= 0 && found;
        },
        () => `[kube-proxy] no line with ${pattern}. It printed last:\n${lines.slice(-20).join('\n')}`,
      ),
    async stop(): Promise<void> {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Makes a file of kubeproxy.config.k8s.io/v1alpha1; there are no flags for the periods of nftables. */
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
    // One limit for the whole machine: left as it is.
    conntrack: { maxPerCore: 0 },
  };
}
