import { join } from 'node:path';
import { setFelixConfiguration } from '../cluster/felix.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import type { Connection } from '../control-plane/connection.ts';
import { followErrors } from '../kube-proxy/follow-output.ts';
import { createNodeNamespace } from '../kube-proxy/node-namespace.ts';
import { joinPod, prepareNode } from '../network/topology.ts';

/** Fields of the FelixConfiguration that make Felix use this data plane. */
const settingsOf = {
  'iptables-nft': { iptablesBackend: 'NFT' },
  'iptables-legacy': { iptablesBackend: 'Legacy' },
  nftables: { nftablesMode: 'Enabled' },
  // The last two settings concern the machine, not the node under test.
  eBPF: { bpfEnabled: true, bpfConnectTimeLoadBalancing: 'Disabled', bpfDisableUnprivileged: false },
} as const;

export type DataPlane = keyof typeof settingsOf;

export interface FelixPod {
  readonly name: string;
  /** The name that Calico gives the Pod's device on the node. */
  readonly device: string;
  readonly addresses: readonly string[];
}

export interface FelixOptions {
  /** Its API server has the kinds of Calico. */
  readonly connection: Connection;
  readonly dataPlane: DataPlane;
  /** The checkout in which `make -C felix build` was run; without it, the Go module is built. */
  readonly checkout: string | undefined;
  /** The name of an existing Node, whose Pods and policies also exist. */
  readonly node: string;
  readonly nodeAddresses: readonly string[];
  readonly pods: readonly FelixPod[];
}

export type Felix = Awaited<ReturnType<typeof startFelix>>;

/** A real Felix on a node of network namespaces, whose rules are in place. */
export async function startFelix(options: FelixOptions) {
  const { connection, dataPlane, checkout, node, nodeAddresses, pods } = options;
  await setFelixConfiguration(connection, settingsOf[dataPlane], `node.${node}`);
  const place = await createNodeNamespace(connection.server, dataPlane === 'iptables-legacy' ? 'legacy' : 'nft');
  await prepareNode(place.namespace);
  for (const address of nodeAddresses) await place.run('ip', ['address', 'add', address, 'dev', 'lo']);
  const namespaces = new Map<string, string>();
  for (const { name, device, addresses } of pods) {
    const namespace = await place.addNamespace(name);
    namespaces.set(name, namespace);
    await joinPod(place.namespace, namespace, device, addresses);
  }
  const built = checkout === undefined ? undefined : join(checkout, 'felix/bin');
  const path =
    built === undefined
      ? (await ensurePrograms(['calico-felix']))['calico-felix']
      : join(built, `calico-felix-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`);
  const settings = {
    DATASTORETYPE: 'kubernetes',
    FELIXHOSTNAME: node,
    IPV6SUPPORT: 'true',
    XDPENABLED: 'false',
    USAGEREPORTINGENABLED: 'false',
    LOGFILEPATH: 'none',
    LOGSEVERITYFILE: 'none',
    LOGSEVERITYSYS: 'none',
  };
  const env = Object.entries(settings).map(([name, value]) => `FELIX_${name}=${value}`);
  // It keeps files in folders with fixed names, so the node gets folders of its own. It logs on standard output.
  const own = ['mount -t tmpfs tmpfs /var/lib', ...(built === undefined ? [] : eBpfFolders(built))];
  const script = [...own, 'exec env "$@" 1>&2'].join(' && ');
  const command = [...env, `KUBECONFIG=${connection.adminKubeconfig}`, path];
  const felix = followErrors('calico-felix', place.start('sh', ['-c', script, 'sh', ...command]));
  await felix.untilLine(/Completed first update to dataplane/, 0);

  return {
    place,
    felix,
    namespaceOf: (pod: string): string => namespaces.get(pod) ?? '',
    async stop(): Promise<void> {
      await felix.stop();
      await place.destroy();
    },
  };
}

/** Gives the node a folder for loaded programs, and one with the built programs, where Felix looks for them. */
function eBpfFolders(built: string): readonly string[] {
  return [
    'mkdir -p /run/calico /var/lib/over/calico',
    'mount -t tmpfs tmpfs /run/calico',
    'mount -t bpf bpf /sys/fs/bpf',
    `ln -s ${join(built, 'bpf')} /var/lib/over/calico/bpf`,
    'mount -t overlay -o lowerdir=/var/lib/over:/usr/lib overlay /usr/lib',
  ];
}
