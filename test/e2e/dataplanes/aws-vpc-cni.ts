import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { libraries } from '../../programs/table.ts';
import { RECIPES } from '../control-plane/binaries.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import type { Connection } from '../control-plane/connection.ts';
import { followErrors } from '../kube-proxy/follow-output.ts';
import { createNodeNamespace } from '../kube-proxy/node-namespace.ts';
import { run } from '../network/command.ts';
import { prepareNode } from '../network/topology.ts';
import { type Outcome, outcomeWith } from '../outcome.ts';
import { createOwnFolder } from '../own-folder.ts';
import { until } from '../until.ts';
import { fetchModule } from '../vendors/modules.ts';

export interface AwsNodeOptions {
  readonly connection: Connection;
  /** The name of an existing Node. All addresses are of one family, as in an EKS cluster. */
  readonly node: string;
  readonly nodeAddress: string;
  readonly pods: readonly AwsPod[];
}

export interface AwsPod {
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  /** On EKS all Pods have the same mode. Default: standard. */
  readonly mode?: 'standard' | 'strict';
}

export type AwsNode = Awaited<ReturnType<typeof startAwsNode>>;

const log = 'var/log/aws-routed-eni/network-policy-agent.log';
const socket = 'var/run/aws-node/npa.sock';

/**
 * The folders that the DaemonSet mounts into the container of the network policy agent, and those that every container
 * has.
 */
const folders = ['host/opt/cni/bin', 'var/run/aws-node', 'var/log/aws-routed-eni', 'proc', 'sys', 'run/netns'];

/** Enters the container's root, `$0`, which has a BPF file system of its own. */
const enter = [
  'mount --bind /proc "$0/proc"',
  'mount --rbind /sys "$0/sys"',
  'mount -t bpf bpf "$0/sys/fs/bpf"',
  'mount --rbind /run/netns "$0/run/netns"',
  'exec chroot "$0" "$@"',
].join(' && ');

/**
 * A real network policy agent of the AWS VPC CNI on a node of network namespaces, with its BPF programs in the kernel.
 * The real plug-in joins the Pods to the node, by devices that have its names. ipamd and the metadata service of EC2
 * are stand-ins.
 */
export async function startAwsNode({ connection, node, nodeAddress, pods }: AwsNodeOptions) {
  const programs = await ensurePrograms(['aws-network-policy-agent', 'aws-routed-eni-cni-plugin', 'aws-node']);
  const root = createOwnFolder('aws-node');
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  await compilePrograms(root);
  for (const [name, path] of Object.entries(programs)) copyFileSync(path, join(root, name));
  copyFileSync(connection.adminKubeconfig, join(root, 'kubeconfig'));

  const place = await createNodeNamespace(connection.server);
  await prepareNode(place.namespace);
  for (const address of [nodeAddress, metadataAddress]) await place.run('ip', ['address', 'add', address, 'dev', 'lo']);
  const namespaces = new Map<string, string>();
  for (const pod of pods) {
    const namespace = await place.addNamespace(pod.name);
    // Otherwise a new IPv6 address waits for a second before it is used.
    await run('ip', ['netns', 'exec', namespace, 'sh', '-c', withoutDad]);
    namespaces.set(pod.name, namespace);
  }
  /** The environment is empty, because a user's variables tell programs of AWS where their services are. */
  const start = (program: string, args: readonly string[], variables: readonly string[] = []) => {
    const inside = ['sh', '-c', enter, root, `/${program}`, ...args];
    return place.start('env', ['-i', `PATH=${process.env['PATH']}`, ...variables, ...inside]);
  };

  const beginning = start('aws-node', []);
  const surroundings = followErrors('aws-node', beginning);
  const isFamily6 = nodeAddress.includes(':');
  const metadata = { [isFamily6 ? 'ipv6' : 'local-ipv4']: nodeAddress };
  const given = pods.map(({ namespace, name, address, mode = 'standard' }) => {
    return [`${namespace}/${name}`, { Address: address, Mode: mode }];
  });
  beginning.stdin?.end(JSON.stringify({ Metadata: metadata, Pods: Object.fromEntries(given) as object }));
  await surroundings.untilLine(/ready$/, 0);
  const agent = followErrors(
    'aws-network-policy-agent',
    start('aws-network-policy-agent', [...settings, `--enable-ipv6=${isFamily6}`], [`MY_NODE_NAME=${node}`]),
  );
  const lines = (): readonly string[] => readText(join(root, log)).split('\n').slice(0, -1);
  const problem = (what: string) => (): string =>
    `[aws] ${what}; its log ends with:\n${[...lines().slice(-20), ...agent.lines.slice(-20)].join('\n')}`;
  await until(() => existsSync(join(root, socket)), problem('the network policy agent does not listen'));
  for (const pod of pods) {
    const { code, stdout } = await outcomeWith(
      start('aws-routed-eni-cni-plugin', [], variablesOf(pod, namespaces.get(pod.name) ?? '')),
      JSON.stringify({ cniVersion: '1.0.0', name: 'aws-cni', type: 'aws-cni', pluginLogFile: 'stderr' }),
      JOINS_WITHIN_MS,
    ).catch((cause: unknown) => {
      throw new Error(problem(`the plug-in hangs, of ${pod.name}`)(), { cause });
    });
    if (code !== 0) throw new Error(problem(`the plug-in does not join ${pod.name} to the node: ${stdout}`)());
  }
  const metric = async (name: string, labels = ''): Promise<number> => {
    const { stdout } = await place.run('curl', ['--silent', 'http://127.0.0.1:8162/metrics']);
    const rows = stdout.split('\n').filter((row) => row.startsWith(`${name}{`) && row.includes(labels));
    return rows.reduce((sum, row) => sum + Number(row.split(' ').at(-1)), 0);
  };

  return {
    /** The agent's log. */
    log: join(root, log),
    /** Runs a program on the node. */
    run: (command: string, args: readonly string[]): Promise<Outcome> => place.run(command, args),
    namespaceOf: (pod: string): string => namespaces.get(pod) ?? '',
    /** A figure of the agent's metrics: the sum of the series whose labels contain this text; 0 if there is none. */
    metric,
    /** Resolves when the agent has put this many PolicyEndpoints and ClusterPolicyEndpoints into force. */
    untilInForce: (policies: number, clusterPolicies: number): Promise<unknown> =>
      until(async () => {
        const done = await Promise.all(
          ['policyendpoint', 'clusterpolicyendpoint'].map((name) =>
            metric('controller_runtime_reconcile_total', `controller="${name}",result="success"`),
          ),
        );
        return (done[0] ?? 0) >= policies && (done[1] ?? 0) >= clusterPolicies;
      }, problem('policies are not in force')),
    /** The first lines of the log that contain all these texts, as soon as there are `count` of them. */
    untilLines: (count: number, ...texts: readonly string[]): Promise<readonly string[]> =>
      until(
        () => {
          const found = lines().filter((line) => texts.every((text) => line.includes(text)));
          return found.length >= count && found;
        },
        problem(`no ${count} lines with ${texts.join(', ')}`),
      ),
    async stop(): Promise<void> {
      await agent.stop();
      await surroundings.stop();
      await place.destroy();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The agent loads its BPF programs then, which took 15 s on a loaded machine. */
const JOINS_WITHIN_MS = 180_000;

const metadataAddress = '169.254.169.254';
const withoutDad =
  'echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad';

/**
 * As the VPC CNI's chart sets them with enableNetworkPolicy and enablePolicyEventLogs, except for the size of a map.
 */
const settings = [
  '--kubeconfig=/kubeconfig',
  '--enable-network-policy=true',
  '--enable-policy-event-logs=true',
  '--log-level=debug',
  '--conntrack-cache-table-size=32768',
];

function variablesOf({ namespace, name }: AwsPod, networkNamespace: string): readonly string[] {
  return [
    'CNI_COMMAND=ADD',
    `CNI_CONTAINERID=${name}`,
    `CNI_NETNS=/run/netns/${networkNamespace}`,
    'CNI_IFNAME=eth0',
    'CNI_PATH=/',
    `CNI_ARGS=K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name}`,
  ];
}

/** Compiles the agent's BPF programs as its Makefile does, into a folder. */
async function compilePrograms(folder: string): Promise<void> {
  const module = await fetchModule(
    'github.com/aws/aws-network-policy-agent',
    RECIPES['aws-network-policy-agent'].version,
  );
  const sources = join(module, 'pkg/ebpf/c');
  const includes = [`-I${join(import.meta.dirname, 'headers')}`, `-I/usr/include/${basename(libraries)}`];
  const flags = ['-g', '-O2', '-fpie', '-target', 'bpf', '-DCORE', '-D__BPF_TRACING__', ...includes];
  for (const name of readdirSync(sources).filter((each) => each.endsWith('.bpf.c')))
    await run('clang-19', [...flags, '-c', join(sources, name), '-o', join(folder, name.replace(/c$/, 'o'))]);
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
