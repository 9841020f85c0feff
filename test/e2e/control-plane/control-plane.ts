import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execPath } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensurePrograms } from './build.ts';
import { connect, kubeconfigPath } from './connection.ts';
import type { Address, Connection } from './connection.ts';
import { createFolder, lastLines, logFile, removeLeftovers } from './folder.ts';
import { freePorts } from './ports.ts';
import { apiServer, CERTIFICATES, etcd, writeCredentials } from './servers.ts';
import type { Order, Server } from './supervisor.ts';

export interface ControlPlane extends Connection {
  /** Kills, starts again, pauses or resumes a server; resolves when that is done, not when a started one is ready. */
  readonly order: (order: Order, server: 'etcd' | 'kube-apiserver') => Promise<void>;
  /** Kills the servers and removes their folder; resolves when both are gone. */
  readonly stop: () => Promise<void>;
}

const READY_WITHIN_MS = 60_000;
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

/** The port of the API server in a network namespace of its own. */
const API_PORT = 6443;

/**
 * A real etcd and kube-apiserver, with RBAC and ServiceAccount tokens. Without `place`, on loopback ports, there is no kubelet, scheduler
 * or controller: Pods stay as they are put (see objects.ts), and a deleted Namespace stays Terminating. With it, they run in that network,
 * for startControllers (controllers.ts) and nodes (../cluster), and a loopback port leads there. `flags`: more of them for the API server.
 */
export async function startControlPlane({
  place,
  flags = [],
}: { readonly place?: Place; readonly flags?: readonly string[] } = {}): Promise<ControlPlane> {
  removeLeftovers();
  const binaries = await ensurePrograms(['etcd', 'kube-apiserver', 'kubectl', 'kube-proxy']);
  const folder = createFolder();
  const [etcdPort = 0, etcdPeerPort = 0, port = 0] = await freePorts(3);
  const adminToken = randomBytes(16).toString('hex');
  await writeCredentials(folder, adminToken, place?.nodes);

  const apiPort = place ? API_PORT : port;
  const address = place?.address;
  const servers = [
    etcd(binaries.etcd, folder, etcdPort, etcdPeerPort),
    apiServer(binaries['kube-apiserver'], folder, etcdPort, apiPort, { address, flags }),
  ];
  const supervisor = supervise(folder, place ? inNetwork(place.network, servers, folder, port) : servers);
  const known: Unreached = {
    // A name that the API server's certificate has, where it listens on all addresses.
    server: `https://${place ? 'localhost' : '127.0.0.1'}:${port}`,
    adminToken,
    adminKubeconfig: kubeconfigPath(folder, ADMIN),
    kubectlPath: binaries.kubectl,
    kubeProxyPath: binaries['kube-proxy'],
    folder,
  };
  try {
    const connection = await untilReady(known, supervisor.failure);
    return { ...connection, order: supervisor.order, stop: supervisor.stop };
  } catch (cause) {
    const logs = servers.map(({ name }) => `--- ${name}\n${lastLines(logFile(folder, name), 15)}`).join('\n');
    await supervisor.stop();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`[control-plane] did not start: ${reason}\n${logs}`, { cause });
  }
}

function relay(name: string, from: string, to: string): Server {
  return { name, command: execPath, args: [fileURLToPath(new URL('../relay.ts', import.meta.url)), from, to] };
}

/** The servers in that network, and two relays that lead there from a loopback port of this machine, by way of a Unix socket. */
function inNetwork(network: string, servers: readonly Server[], folder: string, port: number): readonly Server[] {
  const socket = join(folder, 'api-server');
  const inside = [...servers, relay('relay-inside', socket, `127.0.0.1:${API_PORT}`)];
  const enter = [`--net=/run/netns/${network}`, '--'];
  return [
    ...inside.map(({ name, command, args }) => ({ name, command: 'nsenter', args: [...enter, command, ...args] })),
    relay('relay-outside', `127.0.0.1:${port}`, socket),
  ];
}

/** `failure` rejects when a server or the supervisor itself ends; it never resolves. `stop` removes the folder, too. */
export function supervise(
  folder: string,
  servers: readonly Server[],
): { failure: Promise<never>; order: (order: Order, server: string) => Promise<void>; stop: () => Promise<void> } {
  const script = fileURLToPath(new URL('supervisor.ts', import.meta.url));
  // Detached: Ctrl-C in the terminal must reach the tests first, and the servers only through them.
  const child = spawn(execPath, [script, folder, JSON.stringify(servers)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()).on('error', () => resolve()));
  const waiting: (() => void)[] = [];
  const failure = new Promise<never>((_, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line === 'done') waiting.shift()?.();
      else reject(new Error(line));
    });
    child.on('error', reject).on('exit', (code) => reject(new Error(`the supervisor exited with code ${code}`)));
  });
  // No code waits for it after the start.
  failure.catch(() => {});
  child.stdin.on('error', () => {});
  return {
    failure,
    order: (order, server) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.stdin.write(`${order} ${server}\n`);
      }),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}

async function untilReady(known: Unreached, failure: Promise<never>): Promise<Connection> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const attempt = await Promise.race([failure, tryToReach(known)]);
    if (typeof attempt !== 'string') return attempt;
    if (performance.now() > deadline) throw new Error(`not ready after ${READY_WITHIN_MS / 1000} s: ${attempt}`);
    await delay(50);
  }
}

/** The connection, or why there is none yet. */
async function tryToReach(known: Unreached): Promise<Connection | string> {
  try {
    // Its own certificate, followed by the authority that it made up for it.
    const certificateAuthority = await readFile(join(known.folder, CERTIFICATES, 'apiserver.crt'), 'utf8');
    const connection = connect({ ...known, certificateAuthority });
    const ready = await connection.request('GET', '/readyz');
    if (ready.status !== 200) return `/readyz: ${ready.status} ${String(ready.body)}`;
    // Made, as the last thing in its namespace, by a start-up hook that readiness does not wait for.
    const service = await connection.request('GET', '/api/v1/namespaces/default/services/kubernetes');
    if (service.status !== 200) return `Service default/kubernetes: ${service.status}`;
    await connection.writeKubeconfig(ADMIN, known.adminToken);
    return connection;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
