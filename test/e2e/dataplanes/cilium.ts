import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { CILIUM_VERSION } from '../control-plane/binaries.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import type { Connection } from '../control-plane/connection.ts';
import { followErrors } from '../kube-proxy/follow-output.ts';
import { createNodeNamespace } from '../kube-proxy/node-namespace.ts';
import { run } from '../network/command.ts';
import { createOwnFolder } from '../own-folder.ts';
import { fetchModule } from '../vendors/modules.ts';

export interface CiliumOptions {
  readonly connection: Connection;
  /** The name of a Node that has ranges for its Pods. Its Pods and their policies exist. */
  readonly node: string;
  readonly pods: readonly { readonly namespace: string; readonly name: string }[];
  readonly settings: Readonly<Record<string, string>>;
}

/** The address of the node, and that of a host outside of the cluster, which is its gateway. */
export const ciliumNode = { address: '192.168.69.1', outside: '192.168.69.254' } as const;

export type Cilium = Awaited<ReturnType<typeof startCilium>>;

const module = 'github.com/cilium/cilium';

/** Installs Cilium's custom resource definitions. */
export async function installCilium({ succeed }: Connection): Promise<void> {
  const definitions = join(await fetchModule(module, CILIUM_VERSION), 'pkg/k8s/apis/cilium.io/client/crds');
  await succeed(['apply', '--server-side', '--recursive', '--filename', definitions]);
  await succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
}

/**
 * Whatever its settings, some of its sockets and its mount of cgroups are in /run/cilium. If it can, it sets values for
 * the whole kernel (unprivileged_bpf_disabled, timer_migration).
 */
const boot = `
mkdir -p /run/cilium && mount -t tmpfs tmpfs /run/cilium
mount --bind /proc/sys/kernel /proc/sys/kernel && mount -o remount,bind,ro /proc/sys/kernel
exec env "$@" >&2
`;

/**
 * A real cilium-agent, which compiles and loads its BPF programs, on a node of network namespaces. Its real CNI plug-in
 * joins the Pods, whose status gets the addresses that the plug-in gives them. There is no operator: the agent itself
 * makes identities. On two cores it is ready after ten seconds, and compiles for ten more.
 */
export async function startCilium({ connection, node, pods, settings }: CiliumOptions) {
  const programs = await ensurePrograms(['cilium-agent', 'cilium-cni']);
  const source = await fetchModule(module, CILIUM_VERSION);
  const folder = createOwnFolder('cilium');
  cpSync(join(source, 'bpf'), join(folder, 'lib/bpf'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  symlinkSync('/usr/bin/clang-19', join(folder, 'bin/clang'));
  const place = await createNodeNamespace(connection.server, 'nft');
  const outside = await place.addNamespace('outside');
  await joinOutside(place.namespace, outside);
  const socket = join(folder, 'cilium.sock');
  const flags = Object.entries({ ...flagsOf(connection, folder, socket), ...settings });
  const path = `PATH=${join(folder, 'bin')}:${process.env['PATH']}`;
  const command = [path, `K8S_NODE_NAME=${node}`, programs['cilium-agent']];
  const shellWords = ['-ec', boot, 'sh', ...command, ...flags.map((each) => `--${each.join('=')}`)];
  const agent = followErrors('cilium-agent', place.start('sh', shellWords));
  await agent.untilLine(/Daemon initialization completed/, 0);

  const namespaces = new Map<string, string>();
  const addresses = new Map<string, readonly string[]>();
  for (const pod of pods) {
    const netns = await place.addNamespace(pod.name);
    namespaces.set(pod.name, netns);
    const variables = Object.entries({ CILIUM_SOCK: socket, ...cniVariables(pod, netns) });
    const words = variables.map(([name, value]) => `${name}=${value}`);
    const problem = (why: string): string =>
      `[cilium] no network for ${pod.name}: ${why}\n${agent.lines.slice(-30).join('\n')}`;
    const { code, stdout, stderr } = await place
      .run('env', [...words, programs['cilium-cni']], cniConfiguration)
      .catch((cause: unknown) => {
        throw new Error(problem('the plug-in hangs'), { cause });
      });
    if (code !== 0) throw new Error(problem(`${stdout}${stderr}`));
    const ips = addressesIn(stdout);
    addresses.set(pod.name, ips);
    const body = { status: { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } };
    await connection.request('PATCH', `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/status`, { body });
  }

  return {
    place,
    agent,
    namespaceOf: (pod: string): string => namespaces.get(pod) ?? '',
    addressesOf: (pod: string): readonly string[] => addresses.get(pod) ?? [],
    async stop(): Promise<void> {
      await agent.stop();
      await place.destroy();
    },
  };
}

const cniConfiguration = JSON.stringify({ cniVersion: '1.0.0', name: 'cilium', type: 'cilium-cni' });

function cniVariables({ namespace, name }: CiliumOptions['pods'][number], netns: string): Record<string, string> {
  return {
    CNI_COMMAND: 'ADD',
    // The plug-in names devices by the first letters of this id, so it has to be as long as a runtime's.
    CNI_CONTAINERID: createHash('sha256').update(name).digest('hex'),
    CNI_NETNS: `/run/netns/${netns}`,
    CNI_IFNAME: 'eth0',
    CNI_PATH: '/',
    CNI_ARGS: `K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name}`,
  };
}

/** IPv4 first, whatever the plug-in's order is. */
function addressesIn(result: string): readonly string[] {
  const { ips } = JSON.parse(result) as { ips: readonly { address: string }[] };
  return ips.map(({ address }) => address.replace(/\/.*/, '')).toSorted((one, other) => isIP(one) - isIP(other));
}

function flagsOf({ adminKubeconfig }: Connection, folder: string, socket: string): Readonly<Record<string, string>> {
  return {
    'k8s-kubeconfig-path': adminKubeconfig,
    'socket-path': socket,
    'lib-dir': join(folder, 'lib'),
    'state-dir': join(folder, 'state'),
    'hubble-socket-path': join(folder, 'hubble.sock'),
    ipam: 'kubernetes',
    'routing-mode': 'native',
    'enable-ipv6': 'true',
    'enable-ipv4-masquerade': 'false',
    'enable-ipv6-masquerade': 'false',
    'kube-proxy-replacement': 'false',
    'enable-l7-proxy': 'false',
    'enable-health-checking': 'false',
    'enable-endpoint-health-checking': 'false',
    'identity-allocation-mode': 'crd',
    'enable-hubble': 'true',
  };
}

async function joinOutside(node: string, outside: string): Promise<void> {
  await run(
    'ip',
    ['-n', node, '-batch', '-'],
    [
      `link add uplink type veth peer name eth0 netns ${outside}`,
      `address add ${ciliumNode.address}/24 dev uplink`,
      'link set uplink up',
      '',
    ].join('\n'),
  );
  await run(
    'ip',
    ['-n', outside, '-batch', '-'],
    [`address add ${ciliumNode.outside}/24 dev eth0`, 'link set lo up', 'link set eth0 up', ''].join('\n'),
  );
  await run('ip', ['-n', node, 'route', 'add', 'default', 'via', ciliumNode.outside]);
}
