import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { unpackedFile } from '../../programs/install.ts';
import type { Connection } from '../control-plane/connection.ts';
import { type Server, startServers } from '../control-plane/running.ts';
import { createOwnFolder } from '../own-folder.ts';
import { until } from '../until.ts';
import { defineKind } from './definitions.ts';
import type { Ovn, PodNetwork, Schemas } from './ovn.ts';

/** Only something that hangs takes so long. */
const WITHIN_MS = 120_000;

interface ControllerOptions {
  readonly connection: Connection;
  /** A checkout of the project with its program and the schemas of its OVN in `bin`. */
  readonly checkout: string;
  /** The folder with the sockets of the databases. */
  readonly folder: string;
  readonly node: string;
}

type Annotations = Readonly<Record<string, string>>;

interface PodOnServer {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Annotations;
  };
}

/** A project whose controller makes a northbound database from the cluster's objects. */
export interface OvnProject {
  /** Resolves when the API server serves the project's kinds. */
  readonly define: (options: Pick<ControllerOptions, 'connection' | 'checkout'>) => Promise<void>;
  /** The annotations that the project's program on the node would set on the Node. */
  readonly nodeAnnotations: (node: string) => Annotations;
  readonly servers: (options: ControllerOptions) => readonly Server[];
  /** Reads what the controller tells the plug-in about the port of a Pod; undefined until it does. */
  readonly networkOf: (pod: PodOnServer) => PodNetwork | undefined;
}

/** Debian's OVN 23.03 has fewer columns than these projects need, but works with additional ones. */
export function schemasOf(checkout: string): Schemas {
  return { northbound: join(checkout, 'bin/ovn-nb.ovsschema'), southbound: join(checkout, 'bin/ovn-sb.ovsschema') };
}

export type OvnController = Awaited<ReturnType<typeof startController>>;

/** Starts the controllers of `project` on this machine; they reach the databases of `ovn` through their sockets. */
export async function startController(project: OvnProject, ovn: Ovn, options: ControllerOptions) {
  const running = startServers(createOwnFolder('ovn-controllers'), project.servers(options));
  const { connection } = options;
  const addresses = new Map<string, readonly string[]>();
  return {
    addressesOf: (pod: string): readonly string[] => addresses.get(pod) ?? [],
    /** Stands in for the plug-in: joins these Pods to the ports that the controller makes, and gives them their status. */
    async joinPods(namespace: string, pods: readonly string[]): Promise<void> {
      for (const pod of pods) {
        const path = `/api/v1/namespaces/${namespace}/pods/${pod}`;
        const network = await Promise.race([
          running.failure,
          until(
            async () => project.networkOf((await connection.request('GET', path)).body as PodOnServer),
            () => `no network for ${pod}`,
            WITHIN_MS,
          ),
        ]).catch((cause: unknown) => {
          throw new Error(`[ovn] the controller did not serve ${pod}: ${String(cause)}\n${running.logs()}`, { cause });
        });
        await ovn.join(pod, network);
        const ips = network.addresses.map((address) => address.replace(/\/.*/, ''));
        addresses.set(pod, ips);
        const body = { status: { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } };
        await connection.request('PATCH', `${path}/status`, { body });
      }
    },
    /** Resolves when the northbound database has ACLs with these names that are logged. */
    async untilLogged(names: readonly string[]): Promise<void> {
      let found = '';
      const look = async (): Promise<boolean> => {
        found = await ovn.nbctl('--bare', '--columns=name', 'find', 'acl', 'log=true');
        const lines = new Set(found.split('\n'));
        return names.every((name) => lines.has(name));
      };
      await Promise.race([
        running.failure,
        until(look, () => `[ovn] ACLs that are logged:\n${found}\n${running.logs()}`, WITHIN_MS),
      ]);
    },
    stop: running.stop,
  };
}

/** For programs that call the programs of OVN and Open vSwitch. */
const programs = [
  ['ovn-common', 'usr/bin'],
  ['openvswitch-common', 'usr/bin'],
  ['openvswitch-switch', 'usr/bin'],
] as const;

function environment(folder: string): readonly string[] {
  const path = [...programs.map(([name, entry]) => unpackedFile(name, entry)), process.env['PATH'] ?? ''].join(':');
  const database = `unix:${join(folder, 'db.sock')}`;
  return [`PATH=${path}`, `OVS_RUNDIR=${folder}`, `OVN_RUNDIR=${folder}`, `OVN_NB_DB=${database}`];
}

const adminPolicies = ['AdminNetworkPolicy', 'BaselineAdminNetworkPolicy'] as const;
const policyGroup = 'policy.networking.k8s.io';

async function defineAdminPolicies(connection: Connection): Promise<void> {
  for (const kind of adminPolicies)
    await defineKind(connection, { group: policyGroup, version: 'v1alpha1', kind, scope: 'Cluster' });
}

/**
 * ovnkube as the cluster manager, which gives the Node its addresses, and as the Node's controller. ovnkube-node does
 * not run.
 */
export const ovnKubernetes: OvnProject = {
  async define({ connection, checkout }) {
    await defineAdminPolicies(connection);
    await connection.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ovn-kubernetes' } });
    await installDefinitions(connection, join(checkout, 'helm/ovn-kubernetes/crds/k8s.ovn.org_egressfirewalls.yaml'));
  },
  nodeAnnotations: (node) => ({ 'k8s.ovn.org/node-chassis-id': node, 'k8s.ovn.org/zone-name': node }),
  servers({ connection, checkout, folder, node }) {
    const words = [
      join(checkout, 'bin/ovnkube'),
      `--k8s-kubeconfig=${connection.adminKubeconfig}`,
      `--nb-run-dir=${folder}`,
      `--sb-run-dir=${folder}`,
      `--ovs-run-dir=${folder}`,
      '--cluster-subnets=10.72.0.0/16/24,fd00:72::/48/64',
      '--k8s-service-cidrs=10.96.0.0/16,fd00:96::/112',
      '--enable-admin-network-policy',
      '--enable-egress-firewall',
      '--loglevel=4',
    ];
    return ['cluster-manager', 'ovnkube-controller'].map((mode) => ({
      name: `ovnkube-${mode}`,
      command: 'env',
      args: [...environment(folder), ...words, `--init-${mode}=${node}`],
    }));
  },
  networkOf({ metadata: { namespace, name, uid, annotations } }) {
    const written = annotations?.['k8s.ovn.org/pod-networks'];
    if (written === undefined) return undefined;
    const { default: port } = JSON.parse(written) as {
      default: {
        readonly mac_address: string;
        readonly ip_addresses: readonly string[];
        readonly gateway_ips: readonly string[];
      };
    };
    return {
      mac: port.mac_address,
      addresses: port.ip_addresses,
      gateways: port.gateway_ips,
      ids: { 'iface-id': `${namespace}_${name}`, 'iface-id-ver': uid },
    };
  },
};

/** kube-ovn-controller. kube-ovn-cni does not run. */
export const kubeOvn: OvnProject = {
  async define({ connection, checkout }) {
    await defineAdminPolicies(connection);
    await defineKind(connection, {
      group: policyGroup,
      version: 'v1alpha2',
      kind: 'ClusterNetworkPolicy',
      scope: 'Cluster',
    });
    await installDefinitions(connection, join(checkout, 'charts/kube-ovn-v2/crds/kube-ovn-crd.yaml'));
  },
  nodeAnnotations: () => ({}),
  servers({ connection, checkout, folder }) {
    const variables = [
      `KUBECONFIG=${connection.adminKubeconfig}`,
      'POD_NAME=kube-ovn-controller',
      'POD_NAMESPACE=kube-system',
      'ENABLE_BIND_LOCAL_IP=true',
      'POD_IPS=127.0.0.1',
    ];
    const words = [
      join(checkout, 'bin/kube-ovn-controller'),
      `--kubeconfig=${connection.adminKubeconfig}`,
      `--ovn-nb-addr=unix:${join(folder, 'ovnnb_db.sock')}`,
      `--ovn-sb-addr=unix:${join(folder, 'ovnsb_db.sock')}`,
      '--default-cidr=10.73.0.0/16,fd00:73::/112',
      '--node-switch-cidr=100.64.0.0/16,fd00:100:64::/112',
      '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112',
      '--enable-anp',
      '--enable-metrics=false',
      '--logtostderr',
    ];
    const inside = ['--mount', 'sh', '-c', ownLog, 'sh'];
    const args = [...inside, 'env', ...environment(folder), ...variables, ...words];
    return [{ name: 'kube-ovn-controller', command: 'unshare', args }];
  },
  networkOf({ metadata: { namespace, name, annotations = {} } }) {
    const read = (key: string): readonly string[] =>
      (annotations[`ovn.kubernetes.io/${key}`] ?? '').split(',').filter((part) => part !== '');
    const [mac] = read('mac_address');
    if (mac === undefined) return undefined;
    const lengths = read('cidr').map((cidr) => cidr.replace(/.*\//, ''));
    return {
      mac,
      addresses: read('ip_address').map((address, index) => `${address}/${lengths[index]}`),
      gateways: read('gateway'),
      ids: { 'iface-id': `${name}.${namespace}` },
    };
  },
};

/** It keeps a log in /var/log/kube-ovn. */
const ownLog = 'mount -t tmpfs tmpfs /var/log && mkdir /var/log/kube-ovn && exec "$@"';

async function installDefinitions(connection: Connection, file: string): Promise<void> {
  await connection.succeed(['apply', '--server-side', '-f', file]);
  await connection.succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
}

/** Returns the checkout that the variable names; warns if there is no built checkout. */
export function builtCheckout(variable: string, project: string, program: string): string | undefined {
  const checkout = resolve(process.env[variable] ?? '');
  if (existsSync(join(checkout, 'bin', program))) return checkout;
  console.warn(`[ovn] skipped: ${variable} names no checkout of ${project} that was built`);
  return undefined;
}
