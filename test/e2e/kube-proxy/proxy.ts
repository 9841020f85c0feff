import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Connection } from '../control-plane/connection.ts';
import type { CriLog } from './cri-log.ts';
import type { NodeNamespace } from './node-namespace.ts';

export interface KubeProxyOptions {
  readonly connection: Connection;
  readonly place: NodeNamespace;
  /** Name of a Node that is there. */
  readonly node: string;
  readonly log: Pick<CriLog, 'write'>;
  readonly mode: 'iptables' | 'nftables';
}

export interface KubeProxy {
  /** All that it has printed. */
  readonly lines: readonly string[];
  /** The number of the first line from `from` on (default: the next one) that matches; rejects after a minute. */
  readonly untilLine: (pattern: RegExp, from?: number, within?: number) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts a real kube-proxy; what it prints becomes the log of a container. Its rules stay when it is stopped. */
export function startKubeProxy(options: KubeProxyOptions): KubeProxy {
  const { connection, place, log } = options;
  const config = place.writeFile('kube-proxy.conf', JSON.stringify(configuration(options)));
  // A program in a container is process 1, which stands in every line; with --kill-child it ends with what is killed here.
  const container = ['--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = place.start('unshare', [...container, connection.kubeProxyPath, `--config=${config}`, '-v=2']);
  const lines: string[] = [];
  const changes = new EventEmitter().setMaxListeners(0);
  if (child.stderr === null) throw new Error('[kube-proxy] it has no standard error');
  createInterface(child.stderr).on('line', (line) => {
    log.write(line);
    lines.push(line);
    changes.emit('change');
  });
  const closed = once(child, 'close').then(() => changes.emit('change'));
  return {
    lines,
    async untilLine(pattern, from = lines.length, within = 60_000) {
      const signal = AbortSignal.timeout(within);
      for (;;) {
        const found = lines.findIndex((line, index) => index >= from && pattern.test(line));
        if (found >= 0) return found;
        if (signal.aborted || child.exitCode !== null)
          throw new Error(`[kube-proxy] no line with ${pattern}. It printed last:\n${lines.slice(-20).join('\n')}`);
        // Rejects only when the time is up.
        await once(changes, 'change', { signal }).catch(() => {});
      }
    },
    async stop() {
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
