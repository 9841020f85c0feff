import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackedFile } from '../../programs/install.ts';
import { run } from '../network/command.ts';
import type { NamespaceGroup } from '../network/namespaces.ts';
import { until } from '../until.ts';

/** A Pod is a port of the only switch. Its name is unique, and at most 11 characters long. */
export interface OvnPod {
  readonly name: string;
  /** One address of each family. */
  readonly addresses: readonly [string, string];
}

/** What a Pod needs to use a port that is in the northbound database. */
export interface PodNetwork {
  readonly mac: string;
  /** Addresses with their prefix lengths. */
  readonly addresses: readonly string[];
  /** Gateways through which the Pod reaches other addresses. */
  readonly gateways: readonly string[];
  /** The address of a gateway that does not answer. */
  readonly gatewayMac?: string;
  /** ovn-controller uses these to find out whose interface it is. */
  readonly ids: Readonly<Record<string, string>>;
}

/** The paths of two schema files. */
export interface Schemas {
  readonly northbound: string;
  readonly southbound: string;
}

export interface OvnOptions {
  /** The name of the node. */
  readonly chassis?: string;
  /** Schemas of newer databases, which a controller expects. Default: those of Debian's OVN. */
  readonly schemas?: Schemas;
}

export type Ovn = Awaited<ReturnType<typeof startOvn>>;

/** Without it, a new IPv6 address waits for a second before it is used. */
const withoutDad =
  'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad';

/**
 * A real OVN of one node: its databases, ovn-northd, ovn-controller and ovs-vswitchd, which forwards packets in its own
 * process, so that no kernel module is needed. Its Pods are in network namespaces of `group`. What is started ends with
 * this process at the latest.
 */
export async function startOvn(
  group: NamespaceGroup,
  folder: string,
  { chassis = 'node-a', schemas: newer }: OvnOptions = {},
) {
  const node = await group.add('node');
  const names = ['RUNDIR', 'LOGDIR', 'DBDIR', 'SYSCONFDIR'].flatMap((name) => [`OVS_${name}`, `OVN_${name}`]);
  const database = `unix:${join(folder, 'db.sock')}`;
  const variables = [...names.map((name) => `${name}=${folder}`), `OVN_NB_DB=${database}`, `OVN_SB_DB=${database}`];
  const inside = (words: readonly string[]): string[] => ['netns', 'exec', node, 'env', ...variables, ...words];
  const execute = async (...words: string[]): Promise<string> => (await run('ip', inside(words))).stdout;
  const daemons: ChildProcess[] = [];
  const ends: string[] = [];
  const start = (program: string, ...args: string[]): ChildProcess => {
    const log = join(folder, `${program}.log`);
    const command = [program, ...args, '--no-chdir', `--log-file=${log}`, '-vconsole:off'];
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'ip', ...inside(command)], { stdio: 'ignore' });
    child.on('exit', (code, signal) => ends.push(`${program} has ended with ${signal ?? code}.`));
    daemons.push(child);
    return child;
  };
  const aclLog = join(folder, 'ovn-controller.log');
  const schemas = [
    ['conf', unpackedFile('openvswitch-switch', 'usr/share/openvswitch/vswitch.ovsschema')],
    ['nb', newer?.northbound ?? unpackedFile('ovn-central', 'usr/share/ovn/ovn-nb.ovsschema')],
    ['sb', newer?.southbound ?? unpackedFile('ovn-central', 'usr/share/ovn/ovn-sb.ovsschema')],
  ] as const;

  await run('ip', ['-n', node, 'link', 'set', 'lo', 'up']);
  for (const [name, schema] of schemas) await execute('ovsdb-tool', 'create', join(folder, `${name}.db`), schema);
  // One server has all databases; the last two sockets have their usual names.
  const sockets = ['db', 'ovnnb_db', 'ovnsb_db'].map((name) => `--remote=punix:${join(folder, `${name}.sock`)}`);
  start('ovsdb-server', ...sockets, ...schemas.map(([name]) => join(folder, `${name}.db`)));
  await until(
    () => existsSync(join(folder, 'db.sock')),
    () => `[ovn] no database: ${readText(join(folder, 'ovsdb-server.log'))}`,
  );
  const switches = (...words: string[]): Promise<string> => execute('ovs-vsctl', `--db=${database}`, ...words);
  await switches('--no-wait', 'init');
  start('ovs-vswitchd', database, '--disable-system');
  await switches('add-br', 'br-int', '--', 'set', 'bridge', 'br-int', 'datapath_type=netdev', 'fail-mode=secure');
  const tunnels = { remote: database, 'encap-type': 'geneve', 'encap-ip': '127.0.0.1' };
  const ids = Object.entries(tunnels).map(([name, value]) => `external_ids:ovn-${name}=${value}`);
  await switches(
    'set',
    'open',
    '.',
    ...ids,
    ...['system-id', 'hostname'].map((name) => `external_ids:${name}=${chassis}`),
  );
  start('ovn-northd', `--ovnnb-db=${database}`, `--ovnsb-db=${database}`);
  const controller = start('ovn-controller', database);

  const nbctl = (...words: string[]): Promise<string> => execute('ovn-nbctl', '--timeout=150', ...words);
  const namespaces = new Map<string, string>();
  const joinTo = async (name: string, network: PodNetwork): Promise<void> => {
    const namespace = await group.add(name);
    namespaces.set(name, namespace);
    await joinPod(node, namespace, name, network);
    const known = Object.entries(network.ids).map(([key, value]) => `external_ids:${key}=${value}`);
    await switches('add-port', 'br-int', `p-${name}`, '--', 'set', 'interface', `p-${name}`, ...known);
  };

  return {
    /** The log of ovn-controller. */
    aclLog,
    nbctl,
    /** The variables that make programs of OVN and Open vSwitch use this instance. */
    variables,
    /** Gives a Pod an interface, which uses a port. The name of the Pod is unique, and at most 11 characters long. */
    join: joinTo,
    /** Adds a switch that has these Pods. */
    async addSwitch(pods: readonly OvnPod[]): Promise<void> {
      await nbctl('ls-add', 'pods');
      for (const [index, { name, addresses }] of pods.entries()) {
        const mac = `0a:58:0a:42:01:${(index + 16).toString(16)}`;
        await nbctl('lsp-add', 'pods', name, '--', 'lsp-set-addresses', name, [mac, ...addresses].join(' '));
        await joinTo(name, {
          ...elsewhere,
          mac,
          addresses: [`${addresses[0]}/16`, `${addresses[1]}/64`],
          ids: { 'iface-id': name },
        });
      }
    },
    /** Resolves when what was written with nbctl is in force. */
    async untilInForce(): Promise<void> {
      // An ovn-controller that was started at the same time as its databases has sometimes claimed no port for minutes,
      // without logging why. A restarted one does at once.
      await execute('ovn-nbctl', '--timeout=30', '--wait=hv', 'sync').catch(async () => {
        await end(controller);
        start('ovn-controller', database);
        await nbctl('--wait=hv', 'sync');
      });
    },
    namespaceOf: (pod: string): string => namespaces.get(pod) ?? '',
    /** The lines with this name of an ACL, as soon as there is one. */
    linesOf: (name: string): Promise<readonly string[]> =>
      until(
        () => {
          const lines = readText(aclLog).split('\n').slice(0, -1);
          const found = lines.filter((line) => line.includes('acl_log') && line.includes(`name="${name}"`));
          return found.length > 0 && found;
        },
        () => `[ovn] no line of ${name}. ${ends.join(' ')} ovn-controller.log:\n${readText(aclLog)}`,
      ),
    async stop(): Promise<void> {
      for (const child of daemons.toReversed()) await end(child);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'close') : undefined;
  child.kill('SIGKILL');
  await ended;
}

/** Nobody answers at these addresses. */
const elsewhere = { gateways: ['10.66.255.254', 'fd00:66::ffff'], gatewayMac: '0a:58:00:00:00:01' } as const;

async function joinPod(node: string, namespace: string, name: string, network: PodNetwork): Promise<void> {
  const { mac, addresses, gateways, gatewayMac } = network;
  await run('ip', ['netns', 'exec', namespace, 'sh', '-c', withoutDad]);
  await run(
    'ip',
    ['-n', node, '-batch', '-'],
    `link add p-${name} type veth peer name eth0 netns ${namespace}\nlink set p-${name} up\n`,
  );
  const lines = [
    `link set eth0 address ${mac}`,
    'link set lo up',
    'link set eth0 up',
    ...addresses.map((address) => `address add ${address} dev eth0${address.includes(':') ? ' nodad' : ''}`),
    ...gateways
      .filter(() => gatewayMac !== undefined)
      .map((address) => `neighbour add ${address} lladdr ${gatewayMac} dev eth0 nud permanent`),
    ...gateways.map((address) => `route add default via ${address} dev eth0`),
  ];
  await run('ip', ['-n', namespace, '-batch', '-'], `${lines.join('\n')}\n`);
  // Otherwise the kernel leaves checksums to a device that does not exist, and OVN's connection tracking takes the
  // packets for broken.
  await run('ip', ['netns', 'exec', namespace, 'ethtool', '-K', 'eth0', 'tx', 'off']);
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
