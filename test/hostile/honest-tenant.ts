import { appendFileSync } from 'node:fs';
import type { Millis } from '../../src/base/model/log-line.ts';
import { eventsOf, podObject, type StoredEvent } from '../e2e/agent-rig.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import type { KubernetesObject } from '../e2e/control-plane/creatable.ts';
import { createInQuietHours } from '../e2e/quiet-hours.ts';
import { deviceOf, honestNamespaces, nodeName, otherNodeName } from './names.ts';
import { incidentKey, isIncident, logIncident, withoutOccasion } from './honest-incident.ts';
import { packetLine } from './packet-line.ts';

/** The content of an Event about some packets of the honest tenant, in a form that is the same in each round. */
export interface HonestEvent {
  /** The packets: the object, the direction and the port. */
  readonly key: string;
  readonly count: number;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** When its packets were logged, and when it was seen at the API server. */
  readonly logged: Millis;
  readonly seen: Millis;
  /** The whole Event, as JSON. */
  readonly whole: string;
}

/** Packets that the honest tenant loses. */
interface Loss {
  readonly source: string;
  readonly destination: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  readonly count: number;
  /** The Pod whose device is the line's input device. */
  readonly from?: string;
  /** Its line comes late, with the time of the first loss. */
  readonly isLate?: true;
}

const [shop = '', batch = ''] = honestNamespaces;
const inShop = (name: string): string => `${shop}/${name}`;

/**
 * The tenant's Pods with their addresses; those on the other node have to be looked up. Some have several problems,
 * each with a port of its own.
 */
const pods = [
  ...Array.from({ length: 9 }, (_, index) => ({
    namespace: shop,
    name: `web-${index}`,
    node: nodeName,
    address: `10.77.1.${11 + index}`,
    labels: { app: 'web' },
  })),
  { namespace: shop, name: 'frontend-0', node: nodeName, address: '10.77.1.31', labels: { app: 'frontend' } },
  { namespace: shop, name: 'job-0', node: nodeName, address: '10.77.1.32', labels: { app: 'job' } },
  { namespace: shop, name: 'db-0', node: otherNodeName, address: '10.77.2.11', labels: { app: 'db' } },
  { namespace: batch, name: 'worker-0', node: otherNodeName, address: '10.77.2.21', labels: { app: 'worker' } },
];

/** One after another: every kind of peer that an Event may name, and an address that nobody has. */
const losses: readonly Loss[] = [
  { source: '10.77.1.11', destination: '10.77.2.11', protocol: 'TCP', port: 6379, count: 3, from: inShop('web-0') },
  { source: '10.77.2.21', destination: '10.77.1.12', protocol: 'TCP', port: 8080, count: 2 },
  { source: '198.51.100.7', destination: '10.77.1.13', protocol: 'TCP', port: 443, count: 1 },
  { source: '10.77.1.14', destination: '203.0.113.80', protocol: 'TCP', port: 8443, count: 4, from: inShop('web-3') },
  { source: '10.77.1.15', destination: '10.96.0.10', protocol: 'UDP', port: 53, count: 2, from: inShop('web-4') },
  {
    source: '10.77.1.31',
    destination: '10.77.1.16',
    protocol: 'TCP',
    port: 9090,
    count: 1,
    from: inShop('frontend-0'),
  },
  { source: '10.77.1.17', destination: '192.168.77.2', protocol: 'TCP', port: 10250, count: 2 },
  { source: '10.77.1.18', destination: '10.96.77.10', protocol: 'TCP', port: 5433, count: 1 },
  { source: '10.77.2.99', destination: '10.77.1.19', protocol: 'TCP', port: 5432, count: 2 },
  // Further losses of the same Pods: in both directions, by other policies, and with Pods on the other node.
  { source: '10.77.2.21', destination: '10.77.1.11', protocol: 'TCP', port: 8081, count: 3 },
  { source: '10.77.1.11', destination: '203.0.113.80', protocol: 'UDP', port: 8444, count: 2, from: inShop('web-0') },
  { source: '10.77.2.11', destination: '10.77.1.14', protocol: 'TCP', port: 9091, count: 1 },
  {
    source: '10.77.1.31',
    destination: '10.77.2.11',
    protocol: 'TCP',
    port: 6380,
    count: 4,
    from: inShop('frontend-0'),
  },
  // Its Pod was deleted in the meantime.
  { source: '198.51.100.7', destination: '10.77.1.32', protocol: 'TCP', port: 9443, count: 2, isLate: true },
];

/** This Pod is deleted before the first loss, and has the last one. */
const gone = { namespace: shop, name: 'job-0' };

/** How its Event begins and how its flow record ends. An agent that starts after the Pod's end does not know it. */
export const ofGone = { event: 'shop/job-0 ', flow: ' to 10.77.1.32:9443/tcp' };

export interface ComparedEvent {
  /** Whether policies show which one denied the packet. */
  readonly verdict: 'denied' | 'unjudged';
  /**
   * Whether it is an incident or the first Event of its object, on the agent's node: these come before later Events,
   * and before Pods elsewhere.
   */
  readonly isFirst: boolean;
}

/** The Events that are compared, in the order of their packets. */
export const honestKeys: ReadonlyMap<string, ComparedEvent> = new Map([
  [`shop/db ${incidentKey}`, { verdict: 'unjudged', isFirst: true }],
  ['shop/web-0 sending 6379/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/db-0 receiving 6379/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/web-1 receiving 8080/TCP', { verdict: 'denied', isFirst: true }],
  ['batch/worker-0 sending 8080/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/web-2 receiving 443/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/web-3 sending 8443/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/web-4 sending 53/UDP', { verdict: 'unjudged', isFirst: true }],
  ['shop/frontend-0 sending 9090/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/web-5 receiving 9090/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/web-6 sending 10250/TCP', { verdict: 'denied', isFirst: true }],
  ['shop/web-7 sending 5433/TCP', { verdict: 'unjudged', isFirst: true }],
  ['shop/web-8 receiving 5432/TCP', { verdict: 'unjudged', isFirst: true }],
  ['shop/web-0 receiving 8081/TCP', { verdict: 'denied', isFirst: false }],
  ['batch/worker-0 sending 8081/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/web-0 sending 8444/UDP', { verdict: 'denied', isFirst: false }],
  ['shop/web-3 receiving 9091/TCP', { verdict: 'denied', isFirst: false }],
  ['shop/db-0 sending 9091/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/frontend-0 sending 6380/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/db-0 receiving 6380/TCP', { verdict: 'unjudged', isFirst: false }],
  ['shop/job-0 receiving 9443/TCP', { verdict: 'unjudged', isFirst: false }],
]);

export const honestAddresses: readonly string[] = [
  ...new Set([
    ...losses.flatMap(({ source, destination }) => [source, destination]),
    ...pods.map((each) => each.address),
  ]),
];

export const lossCount = losses.length;

export const honestPorts: ReadonlySet<number> = new Set(losses.map(({ port }) => port));

export const honestPods: readonly string[] = pods.map(({ namespace, name }) => `${namespace}/${name}`);

/** Where the programs of the node write. */
export interface NodeLogs {
  readonly log: string;
  readonly podLogs: string;
}

/** The tenant that loses packets at known times while the attacker plays, and reads the Events about them. */
export interface HonestTenant {
  /** Makes its Pods again. */
  readonly begin: () => Promise<void>;
  /** Loses packets one loss after the other, with that pause in between. */
  readonly lose: (logs: NodeLogs, pause: (duration: Millis) => Promise<void>) => Promise<void>;
  /** Reads the Events, and notes when each was first seen. */
  readonly look: () => Promise<readonly HonestEvent[]>;
  readonly end: () => Promise<void>;
}

/** The time between two losses. */
const every: Millis = 500;

export function createHonestTenant(connection: Connection): HonestTenant {
  const { events } = eventsOf(connection, ({ reportingComponent }) => reportingComponent === 'kube-netfilter-tailer');
  const loggedAt = new Map<string, Millis>();
  const seenAt = new Map<string, Millis>();
  let uids = new Set<string>();

  return {
    async begin() {
      const objects = pods.map(({ address, ...pod }) => podObject({ ...pod, addresses: [address] }));
      await createInQuietHours(connection, objects);
      for (const namespace of honestNamespaces)
        await connection.request('DELETE', `/api/v1/namespaces/${namespace}/events`);
      uids = new Set(await Promise.all(pods.map((pod) => uidOf(connection, pod))));
      loggedAt.clear();
      seenAt.clear();
    },
    async lose({ log, podLogs }, pause) {
      loggedAt.set(incidentKey, Date.now());
      logIncident(podLogs);
      const first = new Date();
      await removePod(gone);
      for (const loss of losses) {
        loggedAt.set(String(loss.port), Date.now());
        appendFileSync(log, lineOf(loss, loss.isLate ? first : new Date()).repeat(loss.count));
        await pause(every);
      }
    },
    async look() {
      const all = (await Promise.all(honestNamespaces.map((namespace) => events(namespace)))).flat();
      const now = Date.now();
      const ours = all.filter((event) => uids.has(event.involvedObject.uid ?? '') || isIncident(event));
      for (const { metadata } of ours) if (!seenAt.has(metadata.uid)) seenAt.set(metadata.uid, now);
      return ours.flatMap((event) => {
        const port = event.metadata.annotations?.['kube-netfilter-tailer/port'] ?? '';
        const logged = loggedAt.get(isIncident(event) ? incidentKey : port);
        if (logged === undefined) return [];
        return [honestEvent(event, logged, seenAt.get(event.metadata.uid) ?? now)];
      });
    },
    async end() {
      for (const pod of pods) await removePod(pod);
    },
  };

  async function removePod({ namespace, name }: { namespace: string; name: string }): Promise<void> {
    await connection.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`);
  }
}

function lineOf({ source, destination, protocol, port, from }: Loss, time: Date): string {
  return packetLine({ time, source, destination, protocol, port, in: from === undefined ? 'eth0' : deviceOf(from) });
}

function honestEvent(event: StoredEvent, logged: Millis, seen: Millis): HonestEvent {
  const { involvedObject, message, count } = event;
  const annotations = Object.fromEntries(
    Object.entries(event.metadata.annotations ?? {}).flatMap(([key, value]) => {
      const name = key.replace('kube-netfilter-tailer/', '');
      // Numbers of the agent's own state.
      return name === 'state' ? [] : [[name, value]];
    }),
  );
  const { direction = '', port = '', protocol = '' } = annotations;
  const what = isIncident(event) ? incidentKey : `${direction} ${port}/${protocol}`;
  const key = `${involvedObject.namespace}/${involvedObject.name} ${what}`;
  return { key, count, message: withoutOccasion(message), annotations, logged, seen, whole: JSON.stringify(event) };
}

async function uidOf(
  connection: Connection,
  { namespace, name }: { namespace: string; name: string },
): Promise<string> {
  const { body } = await connection.request('GET', `/api/v1/namespaces/${namespace}/pods/${name}`);
  return (body as KubernetesObject).metadata['uid'] as string;
}
