import { readFileSync, writeFileSync } from 'node:fs';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { type Outcome, sample } from './program.ts';

export const cluster = sample('cluster.json');
export const policyDeny = sample('policy-deny.log');
export const policyDenyText = readFileSync(policyDeny, 'utf8');

const tcp = 'LEN=60 TOS=0x00 PREC=0x00 TTL=62 ID=1 DF PROTO=TCP SPT=38736 DPT=5432 WINDOW=64860 RES=0x00 SYN URGP=0 ';
/** A packet between two Pods of samples/cluster.json, without their interfaces. */
export const drop = `calico-drop: IN=eth0 OUT=eth1 SRC=10.244.0.41 DST=10.244.1.30 ${tcp}`;
/** A line of node-b's log. */
export const line = (stamp: string, message = drop): string => `${stamp} node-b kernel: ${message}\n`;
export const stamped = line('Nov 21 10:15:04');

/** Options for a short, exact answer. */
export const json = ['--pods', cluster, '-q', '-o', 'json'];

/** Lines of JSON: Events, or rows of the audit. */
export function recordsIn<Record = FlowRecord>(out: string): Record[] {
  return out.split('\n').flatMap((each) => (each === '' ? [] : [JSON.parse(each) as Record]));
}

/** Events of `--output json`, each as its object, count and first time, in the order of the alphabet. */
export function eventsIn({ out }: Outcome): string[] {
  return recordsIn<CoreEvent>(out)
    .map(
      ({ involvedObject: { namespace, name }, count, firstTimestamp, reason }) =>
        `${reason} ${namespace}/${name} x${count} ${firstTimestamp}`,
    )
    .toSorted();
}

/** The two Events of `drop`, on the Pods at both ends. */
export const twoEvents = (first: string, count = 1): string[] => [
  `PacketDrop batch/worker-84f9d6c5bb-2fkjz x${count} ${first}`,
  `PacketDrop shop/postgres-0 x${count} ${first}`,
];

/** Writes into the folder that `path` names files in; returns the path. */
export function writerIn(path: (name: string) => string): (name: string, content: string | Buffer) => string {
  return (name, content) => {
    writeFileSync(path(name), content);
    return path(name);
  };
}

export function kubeconfigFor(server: string): string {
  return JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
  });
}

/** A Pod with this label `app`, which also has an IPv6 address. */
export const podObject = (namespace: string, name: string, app: string, podIP: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { app } },
  spec: { nodeName: 'node-a', containers: [{ name: 'c', ports: [{ name: 'db', containerPort: 5432 }] }], ...more },
  status: {
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }, { ip: podIP.replace('10.65.', 'fd00::').replace(/\.(\d+)$/, ':$1') }],
  },
});

export const ownedBy = (pod: object, kind: string, name: string, labels: object = {}): object => {
  const { metadata } = pod as { metadata: { labels: object } };
  const ownerReferences = [{ apiVersion: 'apps/v1', kind, name, controller: true }];
  return { ...pod, metadata: { ...metadata, labels: { ...metadata.labels, ...labels }, ownerReferences } };
};
