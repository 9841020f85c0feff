import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { rightsFile } from '../../src/agent/kubernetes/rights.ts';
import { imageCommand } from '../deploy/image-command.ts';
import { readManifests } from '../deploy/manifests.ts';
import { clusterRights, makeAccount, type Rule, rulesIn } from './granted.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';
import { bundle, bundleNode } from './bundle.ts';
import type { Connection } from './control-plane/connection.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createOwnFolder } from './own-folder.ts';
import { until } from './until.ts';

const namespace = 'kube-netfilter-tailer';

/**
 * More than the minute between the second and the third write of an Event: on a loaded machine, late packets are in the
 * third.
 */
const WITHIN_MS = 120_000;

const image = imageCommand();

export type StoredEvent = CoreEvent & { metadata: { uid: string; resourceVersion: string } };

export type AgentRig = Awaited<ReturnType<typeof createAgentRig>>;

/**
 * Starts agents, each with a state of its own and the rights of deploy/base/rbac.yaml, which is installed; reads what
 * they publish.
 */
export async function createAgentRig(connection: Connection) {
  const folder = createOwnFolder('agent');
  const kubeconfig = await deployedAccount(connection);
  const agents: AgentProcess[] = [];
  const newFolder = (): string => mkdtempSync(join(folder, 'agent-'));

  return {
    folder,
    /** With the rights that deploy/ gives. */
    kubeconfig,
    newFolder,
    /** Makes an empty log in a new folder; returns its path. */
    newLog(): string {
      const log = join(newFolder(), 'kern.log');
      writeFileSync(log, '');
      return log;
    },
    ...eventsOf(connection),
    /** Starts an agent of the built bundle, which `killAll` kills. `env` adds to the settings or replaces them. */
    start(env: Readonly<Record<string, string>>, args: readonly string[] = []): AgentProcess {
      const agent = startAgent(
        [bundleNode, ...image.flags, bundle],
        {
          KUBECONFIG: kubeconfig,
          STATE_DIR: newFolder(),
          METRICS_ADDRESS: '127.0.0.1:0',
          REVERSE_DNS: 'false',
          ...image.allocator,
          ...env,
        },
        args,
      );
      agents.push(agent);
      return agent;
    },
    async killAll(): Promise<void> {
      await Promise.all(agents.splice(0).map((agent) => agent.kill()));
    },
  };
}

/** The Events at an API server that `isOurs` accepts; by default all. */
export function eventsOf(connection: Connection, isOurs: (event: StoredEvent) => boolean = () => true) {
  /** Events of one object, or of a whole namespace. */
  const events = async (place: string, object?: string): Promise<StoredEvent[]> => {
    const selector = object === undefined ? '' : `?fieldSelector=involvedObject.name%3D${object}`;
    const { status, body } = await connection.request('GET', `/api/v1/namespaces/${place}/events${selector}`);
    if (status !== 200) throw new Error(`listing Events of ${place}: ${status}`);
    return (body as { items: StoredEvent[] }).items.filter(isOurs);
  };

  return {
    events,
    /** Polls the API server until `matches` accepts the Events; rejects after `within` (two minutes) with what they were. */
    async untilEvents(
      this: void,
      place: string,
      matches: (events: StoredEvent[]) => boolean,
      object?: string,
      within = WITHIN_MS,
    ): Promise<StoredEvent[]> {
      let found: StoredEvent[] = [];
      const isThere = async (): Promise<boolean> => matches((found = await events(place, object)));
      const problem = (): string => `the Events of ${place} are not those expected:\n${found.map(shown).join('\n')}`;
      await until(isThere, problem, within);
      return found;
    },
  };
}

function shown({ involvedObject, count, message }: StoredEvent): string {
  return `${involvedObject.name} x${count} ${message}`;
}

async function deployedAccount(connection: Connection): Promise<string> {
  const created = await connection.kubectl(['create', 'namespace', namespace]);
  if (created.code !== 0 && !created.stderr.includes('AlreadyExists')) throw new Error(created.stderr);
  const place = { namespace, name: 'kube-netfilter-tailer' };
  const token = await makeAccount(connection, place, readManifests(rightsFile), rulesIn(rightsFile));
  return await connection.writeKubeconfig('agent', token);
}

/** A ServiceAccount that may do what `rules` say and nothing else, from now on; returns its token. */
export async function accountWith(connection: Connection, name: string, rules: readonly Rule[]): Promise<string> {
  const account = { namespace, name };
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    ...clusterRights(name, rules, account),
  ];
  return await makeAccount(connection, account, items, rules);
}

/** The same, but returns a kubeconfig with the token. */
export async function kubeconfigWith(connection: Connection, name: string, rules: readonly Rule[]): Promise<string> {
  return await connection.writeKubeconfig(name, await accountWith(connection, name, rules));
}

/** A Node as the kubelet would have registered it. */
export function nodeObject(name: string, ...addresses: readonly string[]): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: {},
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  };
}

export interface PodObjectOptions {
  namespace: string;
  name: string;
  node: string;
  addresses: readonly string[];
  annotations?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
  startTime?: string;
  /** The address of its node. */
  hostIP?: string;
  /** The ports of its container. */
  ports?: { name: string; containerPort: number }[];
}

/** A Pod that runs. */
export function podObject(options: PodObjectOptions): KubernetesObject {
  const { namespace: place, name, node, addresses, annotations = {}, labels = {}, ports = [] } = options;
  const startTime = options.startTime ?? new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: place, annotations, labels },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'main:1', ports }] },
    status: {
      phase: 'Running',
      ...(options.hostIP === undefined ? {} : { hostIP: options.hostIP, hostIPs: [{ ip: options.hostIP }] }),
      podIP: addresses[0],
      podIPs: addresses.map((ip) => ({ ip })),
      startTime,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }],
    },
  };
}

/** A line about a dropped packet, as rsyslog writes it. */
export function dropLine(
  source: string,
  destination: string,
  port: number,
  { time = new Date(), host = 'node' }: { time?: Date; host?: string } = {},
): string {
  return `${time.toISOString()} ${host} kernel: calico-drop: IN=eth0 OUT=eth1 MAC= SRC=${source} DST=${destination} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=4711 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0\n`;
}

/** The packets that the Events count, on one object or on all. */
export function sumOf(events: StoredEvent[], object?: string): number {
  return events
    .filter(({ involvedObject }) => object === undefined || involvedObject.name === object)
    .reduce((sum, { count }) => sum + count, 0);
}

/** Waits until a scrape of the agent has a line that matches. */
export async function untilMetric(agent: AgentProcess, expected: RegExp, within = WITHIN_MS): Promise<void> {
  let body = '';
  const isThere = async (): Promise<boolean> => expected.test(({ body } = await agent.get('/metrics')).body);
  await until(isThere, () => `${expected} is not in\n${body}`, within);
}
