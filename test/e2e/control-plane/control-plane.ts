import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { ensurePrograms } from './build.ts';
import { connect, kubeconfigPath } from './connection.ts';
import type { Address, Connection } from './connection.ts';
import { createOwnFolder } from '../own-folder.ts';
import { until } from '../until.ts';
import { freePorts } from './ports.ts';
import { type Running, type Server, startServers } from './running.ts';
import { apiServer, CERTIFICATES, etcd, writeCredentials } from './servers.ts';

/** The servers are `etcd` and `kube-apiserver`. */
export interface ControlPlane extends Connection, Pick<Running, 'order' | 'pidOf' | 'stop'> {}

const ADMIN = 'admin';

type Unreached = Omit<Address, 'certificateAuthority'>;

/** The place of the control plane of a cluster with nodes. */
export interface Place {
  /** A network namespace. */
  readonly network: string;
  /** Its address, which the nodes reach. */
  readonly address: string;
  /** Tokens of the kubelets, by the names of their nodes. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** On a loaded machine, where several start at once, the start has taken more than a minute. */
const READY_WITHIN_MS = 180_000;

/** The port of the API server in a network namespace of its own. */
const API_PORT = 6443;

/**
 * A real etcd and kube-apiserver, with RBAC and ServiceAccount tokens. Without `place`, they use loopback ports, and
 * there is no kubelet, scheduler or controller: Pods stay as they are created (see objects.ts), and a deleted Namespace
 * stays Terminating. With `place`, they run in its network, for startControllers (controllers.ts) and nodes
 * (../cluster), and a loopback port leads there. `flags`: additional flags of the API server.
 */
export async function startControlPlane({
  place,
  flags = [],
}: { readonly place?: Place; readonly flags?: readonly string[] } = {}): Promise<ControlPlane> {
  const binaries = await ensurePrograms(['etcd', 'kube-apiserver', 'kubectl', 'kube-proxy']);
  const folder = createOwnFolder('control-plane');
  const [etcdPort = 0, etcdPeerPort = 0, port = 0] = await freePorts(3);
  const adminToken = randomBytes(16).toString('hex');
  await writeCredentials(folder, adminToken, place?.nodes);

  const apiPort = place ? API_PORT : port;
  const address = place?.address;
  const servers = [
    etcd(binaries.etcd, folder, etcdPort, etcdPeerPort),
    apiServer(binaries['kube-apiserver'], folder, etcdPort, apiPort, { address, flags }),
  ];
  const running = startServers(folder, place ? inNetwork(place.network, servers, folder, port) : servers);
  const known: Unreached = {
    // A name in the API server's certificate, if it listens on all addresses.
    server: `https://${place ? 'localhost' : '127.0.0.1'}:${port}`,
    adminToken,
    adminKubeconfig: kubeconfigPath(folder, ADMIN),
    kubectlPath: binaries.kubectl,
    kubeProxyPath: binaries['kube-proxy'],
    folder,
  };
  try {
    const connection = await untilReady(known, running.failure);
    const { order, pidOf, stop } = running;
    return { ...connection, order, pidOf, stop };
  } catch (cause) {
    const logs = running.logs();
    await running.stop();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`[control-plane] did not start: ${reason}\n${logs}`, { cause });
  }
}

function relay(name: string, from: string, to: string): Server {
  return { name, command: execPath, args: [fileURLToPath(new URL('../relay.ts', import.meta.url)), from, to] };
}

/**
 * The servers in that network, and two relays that lead there from a loopback port of this machine, through a Unix
 * socket.
 */
function inNetwork(network: string, servers: readonly Server[], folder: string, port: number): readonly Server[] {
  const socket = join(folder, 'api-server');
  const inside = [...servers, relay('relay-inside', socket, `127.0.0.1:${API_PORT}`)];
  const enter = [`--net=/run/netns/${network}`, '--'];
  return [
    ...inside.map(({ name, command, args }) => ({ name, command: 'nsenter', args: [...enter, command, ...args] })),
    relay('relay-outside', `127.0.0.1:${port}`, socket),
  ];
}

async function untilReady(known: Unreached, failure: Promise<never>): Promise<Connection> {
  let reason = '';
  const reached = async (): Promise<Connection | undefined> => {
    const attempt = await Promise.race([failure, tryToReach(known)]);
    if (typeof attempt !== 'string') return attempt;
    reason = attempt;
    return undefined;
  };
  return await until(reached, () => `not ready after three minutes: ${reason}`, READY_WITHIN_MS);
}

/** The connection, or why there is none yet. */
async function tryToReach(known: Unreached): Promise<Connection | string> {
  try {
    // Its own certificate, followed by the authority that it made up for it.
    const certificateAuthority = await readFile(join(known.folder, CERTIFICATES, 'apiserver.crt'), 'utf8');
    const connection = connect({ ...known, certificateAuthority });
    const ready = await connection.request('GET', '/readyz');
    if (ready.status !== 200) return `/readyz: ${ready.status} ${String(ready.body)}`;
    // A start-up hook makes it, as the last object in its namespace, and readiness does not wait for the hook.
    const service = await connection.request('GET', '/api/v1/namespaces/default/services/kubernetes');
    if (service.status !== 200) return `Service default/kubernetes: ${service.status}`;
    await connection.writeKubeconfig(ADMIN, known.adminToken);
    return connection;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
