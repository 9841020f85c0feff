import { readShipped } from '../logging/node-shell.ts';
import { startUlogd } from '../logging/ulogd.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import type { Connection } from '../control-plane/connection.ts';
import { followErrors } from '../kube-proxy/follow-output.ts';
import { type Backend, createNodeNamespace } from '../kube-proxy/node-namespace.ts';
import { joinPod, prepareNode } from '../network/topology.ts';

export interface KubeRouterOptions {
  readonly connection: Connection;
  /** kube-router itself, or the one within k3s. */
  readonly program: 'kube-router' | 'k3s-kube-router';
  readonly backend: Backend;
  /** The name of an existing Node, whose Pods and policies also exist. */
  readonly node: string;
  readonly nodeAddresses: readonly string[];
  readonly pods: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  /** A configuration of ulogd in deploy/logging. */
  readonly ulogd: string;
}

export type KubeRouter = Awaited<ReturnType<typeof startKubeRouter>>;

/** A real kube-router that only enforces policies, together with a real ulogd, on a node of network namespaces. */
export async function startKubeRouter(options: KubeRouterOptions) {
  const { connection, program, backend, node, nodeAddresses, pods } = options;
  const { [program]: path } = await ensurePrograms([program]);
  const place = await createNodeNamespace(connection.server, backend);
  await prepareNode(place.namespace);
  for (const address of nodeAddresses) await place.run('ip', ['address', 'add', address, 'dev', 'lo']);
  const namespaces = new Map<string, string>();
  for (const { name, addresses } of pods) {
    const namespace = await place.addNamespace(name);
    namespaces.set(name, namespace);
    await joinPod(place.namespace, namespace, `veth-${name}`, addresses);
  }
  const ulogd = await startUlogd(place.namespace, await readShipped(options.ulogd));
  const parts = ['--run-firewall=true', '--run-router=false', '--run-service-proxy=false'];
  const where = [`--kubeconfig=${connection.adminKubeconfig}`, `--hostname-override=${node}`, '--enable-ipv6=true'];
  const router = followErrors(program, place.start(path, [...parts, ...where, '-v=1']));
  await router.untilLine(/sync iptables took/, 0);

  return {
    place,
    router,
    ulogd,
    namespaceOf: (pod: string): string => namespaces.get(pod) ?? '',
    async stop(): Promise<void> {
      await router.stop();
      await ulogd.stop();
      await place.destroy();
    },
  };
}
