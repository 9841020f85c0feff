import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { unpackedFile } from '../../programs/install.ts';
import { CONTROL_ADDRESS, type Lan } from '../cluster/lan.ts';
import { startService } from '../cluster/node.ts';
import type { Connection } from '../control-plane/connection.ts';
import { lastLines } from '../control-plane/running.ts';
import { startGuestMachine } from '../guest-node/guest-machine.ts';
import { prober } from '../network/sending.ts';
import type { Probe } from '../network/prober.ts';
import { outcomeWith } from '../outcome.ts';
import { until } from '../until.ts';

/** Where Antrea writes what policies deny. */
const LOG = '/var/log/antrea/networkpolicy/np.log';
/** Only something that hangs takes so long: the guest's processor is emulated. */
const WITHIN_MS = 300_000;
const controllerPort = 10_349;

/** A machine with a kernel of its own, in a network with the API server, and an address of each family. */
export async function startAntreaMachine(name: string, lan: Lan, folder: string) {
  const [own, containers] = [join(folder, name), join(folder, 'containers')];
  mkdirSync(own);
  mkdirSync(containers);
  const { machine, address, end } = await startGuestMachine(name, lan, { version: '6.12', folder: own, containers });
  const [program = '', ...args] = machine.enter;
  const run = async (command: readonly string[], input = ''): Promise<string> => {
    const child = spawn(program, [...args, ...command], { stdio: 'pipe' });
    const { code, stdout, stderr } = await outcomeWith(child, input);
    if (code !== 0) throw new Error(`[antrea] ${command.join(' ')}: ${code} ${stdout}${stderr}`);
    return stdout;
  };
  return { machine, network: lan.control, addresses: [address, 'fd00:2::10'] as const, run, end };
}

type AntreaMachine = Awaited<ReturnType<typeof startAntreaMachine>>;

/** Installs Antrea's CustomResourceDefinitions, and what its controller needs to recognize the administrator. */
export async function installAntrea(connection: Connection, checkout: string): Promise<void> {
  await connection.succeed(['apply', '--server-side', '-f', join(checkout, 'build/yamls/antrea-crds.yml')]);
  await connection.succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  await connection.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'kube-system', name: 'extension-apiserver-authentication' },
    data: {
      'client-ca-file': connection.certificateAuthority,
      'requestheader-client-ca-file': connection.certificateAuthority,
      ...Object.fromEntries(
        Object.entries(requestHeaders).map(([name, values]) => [`requestheader-${name}`, JSON.stringify(values)]),
      ),
    },
  });
}

const requestHeaders = {
  'allowed-names': [],
  'extra-headers-prefix': ['X-Remote-Extra-'],
  'group-headers': ['X-Remote-Group'],
  'username-headers': ['X-Remote-User'],
};

interface AntreaOptions {
  readonly connection: Connection;
  /** A checkout of Antrea with its programs in `bin`. */
  readonly checkout: string;
  /** The address at which the machine reaches the API server. */
  readonly server: string;
  /** The machine's Node has ranges for its Pods. */
  readonly machine: AntreaMachine;
  /** These Pods exist; their status gets the addresses that Antrea gives them. */
  readonly pods: readonly { readonly namespace: string; readonly name: string }[];
  /** A file for a copy of what Antrea logs. */
  readonly log: string;
}

export type Antrea = Awaited<ReturnType<typeof startAntrea>>;

/** A real antrea-controller, antrea-agent and Open vSwitch on that machine. The CNI plug-in of Antrea joins the Pods. */
export async function startAntrea({ connection, checkout, server, machine, pods, log }: AntreaOptions) {
  const { run, addresses: nodeAddresses } = machine;
  const { folder, enter } = machine.machine;
  const kubeconfig = await connection.writeKubeconfig('antrea', connection.adminToken, server);
  await run(['bash', '-ec', prepare(nodeAddresses[1])]);
  const controller = startPrograms(machine, checkout, kubeconfig);
  const logs = (): string =>
    ['antrea-controller', 'antrea-agent'].map((name) => lastLines(join(folder, `${name}.log`), 30)).join('\n');
  const end = once(controller, 'exit').then(() =>
    Promise.reject(new Error(`[antrea] the controller ended:\n${logs()}`)),
  );
  // Only what waits for it has to know.
  end.catch(() => {});
  const addresses = new Map<string, readonly string[]>();
  for (const pod of pods) {
    const joined = joinPod(machine, checkout, pod).catch((cause: unknown) => {
      throw new Error(`[antrea] no network for ${pod.name}:\n${logs()}`, { cause });
    });
    const ips = await Promise.race([joined, end]);
    addresses.set(pod.name, ips);
    const body = { status: { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } };
    await connection.request('PATCH', `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/status`, { body });
  }
  const tail = startHere([...enter, 'tail', '--lines=+1', '-F', LOG], log, 'ignore');

  return {
    addressesOf: (pod: string): readonly string[] => addresses.get(pod) ?? [],
    async send(pod: string, probes: readonly Probe[]): Promise<void> {
      await run(['ip', 'netns', 'exec', pod, process.execPath, prober], JSON.stringify(probes));
    },
    /** Sends packets until one of them is in the log. */
    async untilDenied(from: string, to: string, sendOne: () => Promise<void>): Promise<void> {
      const [source, destination] = [from, to].map((pod) => addresses.get(pod) ?? []);
      const isDenied = (line: string): boolean => {
        const words = new Set(line.split(' '));
        return [source, destination].every((ends) => ends?.some((address) => words.has(address)));
      };
      await until(
        async () => {
          await sendOne();
          return readFileSync(log, 'utf8').split('\n').some(isDenied);
        },
        () => `[antrea] no packet from ${from} to ${to} is denied:\n${logs()}`,
        WITHIN_MS,
      );
    },
    /** Resolves when all agents have the rules of all policies of Antrea. */
    async untilRealized(): Promise<void> {
      for (const kind of ['networkpolicies', 'clusternetworkpolicies'])
        await connection.succeed([
          'wait',
          `${kind}.crd.antrea.io`,
          '--all',
          '-A',
          '--for=jsonpath={.status.phase}=Realized',
          `--timeout=${WITHIN_MS / 1000}s`,
        ]);
    },
    stop(): void {
      for (const child of [tail, controller]) child.kill('SIGKILL');
    },
  };
}

/** Starts a program on this machine that ends with this process at the latest; its output goes to a file. */
function startHere(command: readonly string[], output: string, errors: 'ignore' | 'output'): ChildProcess {
  const log = openSync(output, 'a');
  const stdio = ['ignore', log, errors === 'ignore' ? 'ignore' : log] as const;
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], { stdio: [...stdio] });
  closeSync(log);
  return child;
}

/** As in the images of Antrea and Open vSwitch. Antrea's agent looks for the node's files below /host. */
const prepare = (address: string): string => `
# Open vSwitch waits for the kernel's grace periods, which last for seconds on an emulated processor.
echo 1 > /sys/kernel/rcu_expedited
mkdir -p /run/antrea /run/openvswitch /var/log/antrea/networkpolicy
ln -sfn /run /var/run
ln -sfn / /host
ip address add ${address}/64 dev "$(basename /sys/class/net/e*)" nodad
modprobe -a openvswitch geneve
cd /run/openvswitch
ovsdb-tool create conf.db ${unpackedFile('openvswitch-switch', 'usr/share/openvswitch/vswitch.ovsschema')}
ovsdb-server conf.db --remote=punix:/run/openvswitch/db.sock --pidfile --detach --no-chdir --log-file=/run/openvswitch/ovsdb-server.log -vconsole:off
ovs-vsctl --no-wait init
version=$(ovs-vsctl --version | sed -n '1s/.* //p')
ovs-vsctl --no-wait set open_vswitch . other_config:flow-restore-wait=true ovs-version="$version"
ovs-vswitchd unix:/run/openvswitch/db.sock --pidfile --detach --no-chdir --log-file=/run/openvswitch/ovs-vswitchd.log -vconsole:off
`;

/**
 * The agent waits five seconds for Open vSwitch and then exits. An emulated processor may take longer; a kubelet would
 * start the agent again.
 */
const restarting = 'while :; do "$@"; sleep 1; done';

/**
 * Starts the programs with the configuration of Antrea's manifest, and with kubeconfigs, because they are not in a Pod.
 * Returns the controller.
 */
function startPrograms({ machine, network }: AntreaMachine, checkout: string, kubeconfig: string): ChildProcess {
  const { folder, name } = machine;
  const manifest = loadAll(readFileSync(join(checkout, 'build/yamls/antrea.yml'), 'utf8')) as {
    readonly metadata: { readonly name: string };
    readonly data?: Readonly<Record<string, string>>;
  }[];
  const files = manifest.find(({ metadata }) => metadata.name === 'antrea-config')?.data ?? {};
  const toController = join(folder, 'to-controller.kubeconfig');
  writeFileSync(toController, controllerKubeconfig(kubeconfig));
  const configure = (program: string, settings: object): string => {
    const path = join(folder, `${program}.conf`);
    writeFileSync(path, JSON.stringify({ ...(load(files[`${program}.conf`] ?? '') as object), ...settings }));
    return path;
  };
  const commandOf = (program: string, settings: object): string[] => [
    'env',
    `NODE_NAME=${name}`,
    `POD_NAME=${program}`,
    'POD_NAMESPACE=kube-system',
    join(checkout, 'bin', program),
    '--config',
    configure(program, settings),
    '--logtostderr=true',
  ];
  // The controller runs where the API server does. It keeps its certificate in /var/run/antrea.
  const clientConnection = { kubeconfig };
  const controller = commandOf('antrea-controller', { clientConnection });
  const inside = ['nsenter', `--net=/run/netns/${network}`, 'unshare', '--mount', 'sh', '-c', ownRun, 'sh'];
  const agent = commandOf('antrea-agent', { clientConnection, antreaClientConnection: { kubeconfig: toController } });
  startService({ machine, path: process.env['PATH'] ?? '' }, 'antrea-agent', ['sh', '-c', restarting, 'sh', ...agent]);
  return startHere([...inside, ...controller], join(folder, 'antrea-controller.log'), 'output');
}

const ownRun = 'mount -t tmpfs tmpfs /run && exec "$@"';

/** The controller has a certificate of its own. */
function controllerKubeconfig(kubeconfig: string): string {
  const given = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { clusters: readonly { name: string }[] };
  const cluster = { server: `https://${CONTROL_ADDRESS}:${controllerPort}`, 'insecure-skip-tls-verify': true };
  return JSON.stringify({ ...given, clusters: given.clusters.map(({ name }) => ({ name, cluster })) });
}

/** Returns its addresses, IPv4 first. */
async function joinPod(
  { run }: AntreaMachine,
  checkout: string,
  { namespace, name }: AntreaOptions['pods'][number],
): Promise<readonly string[]> {
  await until(
    () =>
      run(['test', '-S', '/run/antrea/cni.sock']).then(
        () => true,
        () => false,
      ),
    () => '[antrea] the agent serves no plug-in',
    WITHIN_MS,
  );
  await run(['ip', 'netns', 'add', name]);
  await run(['ip', '-n', name, 'link', 'set', 'lo', 'up']);
  const variables = {
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: createHash('sha256').update(name).digest('hex'),
    CNI_NETNS: `/run/netns/${name}`,
    CNI_IFNAME: 'eth0',
    CNI_PATH: '/usr/lib/cni',
    CNI_ARGS: `K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_INFRA_CONTAINER_ID=${name}`,
  };
  const words = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
  let refusal: unknown;
  // The plug-in also waits five seconds for Open vSwitch, and a kubelet would try again.
  const result = await until(
    () =>
      run(['env', ...words, join(checkout, 'bin/antrea-cni')], cniConfiguration).catch(
        (error: unknown) => void (refusal = error),
      ),
    () => `[antrea] no network for ${name}: ${String(refusal)}`,
    WITHIN_MS,
  );
  const { ips } = JSON.parse(result) as { ips: readonly { address: string }[] };
  return ips.map(({ address }) => address.replace(/\/.*/, '')).toSorted((one, other) => isIP(one) - isIP(other));
}

const cniConfiguration = JSON.stringify({
  cniVersion: '0.3.0',
  name: 'antrea',
  type: 'antrea',
  ipam: { type: 'host-local' },
});
