import { eventsOf, type StoredEvent } from '../agent-rig.ts';
import { kubectl, NAMESPACE } from './agents.ts';
import type { Cluster } from './cluster.ts';
import { AGENT_IMAGE } from './global-setup.ts';
import type { Node } from './node.ts';

const READY_WITHIN = '--timeout=120s';
/** More than the minute between the second and the third write of an Event. */
const EVENTS_WITHIN_MS = 150_000;

/** The agent's image has Node.js and nothing else, which is enough to wait and to send. */
const wait = 'process.on("SIGTERM", () => process.exit()); setInterval(() => {}, 60_000)';
const sendDatagrams = `
const socket = require('dgram').createSocket('udp4');
const [, host, port, count, pause] = process.argv;
let left = Number(count);
const next = () => (left-- > 0 ? socket.send('x', Number(port), host, () => setTimeout(next, Number(pause))) : socket.close());
next();
`;

export interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly port?: { readonly name: string; readonly containerPort: number; readonly protocol: 'TCP' | 'UDP' };
}

/** Starts Pods of Deployments that do nothing, with their Namespaces; resolves when all are available. */
export async function startWorkloads(cluster: Cluster, ...workloads: readonly Workload[]): Promise<void> {
  const namespaces = [...new Set(workloads.map(({ namespace }) => namespace))];
  await cluster.controlPlane.apply(
    ...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...workloads.map(deployment),
  );
  for (const namespace of namespaces)
    await kubectl(cluster, '-n', namespace, 'wait', '--for=condition=Available', 'deployment', '--all', READY_WITHIN);
}

function deployment({ namespace, name, node, port }: Workload): object {
  const container = {
    name: 'main',
    image: AGENT_IMAGE.plain,
    command: ['/usr/local/bin/node', '-e', wait],
    ...(port ? { ports: [port] } : {}),
  };
  const spec = {
    nodeSelector: { 'kubernetes.io/hostname': node },
    terminationGracePeriodSeconds: 1,
    containers: [container],
  };
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

export interface RunningPod {
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
}

/** The Pod of a Deployment. */
export async function podOf(cluster: Cluster, namespace: string, app: string): Promise<RunningPod> {
  const columns = '-o=jsonpath={.items[0].metadata.name} {.items[0].status.podIP}';
  const [name = '', address = ''] = (
    await kubectl(
      cluster,
      '-n',
      namespace,
      'get',
      'pods',
      `-l=app=${app}`,
      '--field-selector=status.phase=Running',
      columns,
    )
  ).split(' ');
  return { namespace, name, address };
}

/** Sends UDP datagrams from a Pod, with pauses of this many milliseconds. */
export async function send(
  cluster: Cluster,
  from: RunningPod,
  to: string,
  port: number,
  count: number,
  pause = 0,
): Promise<void> {
  const node = ['--', '/usr/local/bin/node', '-e', sendDatagrams, to, `${port}`, `${count}`, `${pause}`];
  await kubectl(cluster, '-n', from.namespace, 'exec', from.name, ...node);
}

/** Makes a node log and drop the packets to a UDP port of one address, as a network plug-in would for a policy. */
export async function denyOn(
  node: Node,
  address: string,
  port: number,
  prefix = 'calico-drop: ',
): Promise<() => Promise<number>> {
  const match = ['-d', address, '-p', 'udp', '--dport', `${port}`];
  await node.run(['iptables', '-w', '-I', 'FORWARD', ...match, '-j', 'DROP']);
  await node.run(['iptables', '-w', '-I', 'FORWARD', ...match, '-j', 'LOG', '--log-prefix', prefix]);
  return async () => {
    const rules = await node.run(['iptables', '-w', '-vxnL', 'FORWARD']);
    const rule = rules
      .split('\n')
      .find((line) => line.includes(` ${address} `) && line.includes(' DROP ') && line.includes(`dpt:${port}`));
    return Number(/^\s*(\d+)/.exec(rule ?? '')?.[1]);
  };
}

/** Waits until the agent's Events on an object are as expected; fails with the last ones. */
export async function untilEvents(
  cluster: Cluster,
  namespace: string,
  object: string,
  matches: (events: readonly StoredEvent[]) => boolean,
  within = EVENTS_WITHIN_MS,
): Promise<readonly StoredEvent[]> {
  const { untilEvents: until } = eventsOf(cluster.controlPlane, ({ source }) => source.component === NAMESPACE);
  return await until(namespace, matches, object, within);
}

export function packetsIn(events: readonly StoredEvent[]): number {
  return events.filter(({ reason }) => reason === 'PacketDrop').reduce((sum, { count }) => sum + count, 0);
}
