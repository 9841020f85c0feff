/**
 * `node --expose-gc test/bench/pod-cache.ts`: the memory that a known Pod costs, and what of it each part costs. 20,000 Pods,
 * dual-stack, in Deployments of 20 on 200 nodes, made slim from objects of 14 KB as the API server gives them.
 */
import { createHash } from 'node:crypto';
import { slimPod } from '../../src/kubernetes/slim.ts';
import { alignColumns } from '../../src/events/describe.ts';
import { createLiveLists, type LiveLists } from '../../src/resolving/live-lists.ts';
import type { Pod } from '../../src/resolving/objects.ts';
import { createPodIndex } from '../../src/resolving/pod-index.ts';

const pods = 20_000;
const replicas = 20;
const nodes = 200;
const pageSize = 100;
const now = Date.UTC(2026, 10, 21, 9);
const ownNode = nodeName(0);

/** No code here reads this. */
const configuration = 'c'.repeat(9200);
const settings = Array.from({ length: 6 }, (_, each) => ({
  name: `SETTING_${each}`,
  value: 'value-of-some-length'.repeat(4),
}));

const collect = globalThis.gc;
if (collect === undefined) throw new Error('to be run with --expose-gc');

// Code and caches that all of them share are not a Pod's.
empty(fill(createLiveLists('', undefined)));

const rows: [string, number, string][] = [
  ['a Pod in the lists, cluster', measure(() => fill(createLiveLists('', undefined))), '1,000'],
  [
    'a Pod in the lists, all on this node: interface names too',
    measure(() => fill(createLiveLists(ownNode, undefined), ownNode)),
    '1,000',
  ],
  ['a Pod in the lists, cluster, and its name in the informer', measure(watched), '1,000'],
  ['its fields alone, in an array', measure(() => slimPods()), ''],
  ['its fields, and the index of addresses', measure(() => indexed(slimPods())), ''],
  ['left of it when it is gone', measure(() => empty(fill(createLiveLists('', undefined)))), '0'],
];
console.log(`an object as it comes: ${grouped(page(0).length / pageSize)} bytes of JSON\n`);
console.log(
  alignColumns([['what', 'bytes a Pod', 'aim'], ...rows.map(([what, bytes, aim]) => [what, grouped(bytes), aim])]).join(
    '\n',
  ),
);

/** Bytes a Pod of what `make` gives. */
function measure(make: () => unknown): number {
  const before = heap();
  const made = [make()];
  const bytes = heap() - before;
  // It has to live until here.
  made.length = 0;
  return bytes / pods;
}

function heap(): number {
  for (let round = 0; round < 3; round++) collect?.();
  return process.memoryUsage().heapUsed;
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function fill(lists: LiveLists, node?: string): LiveLists {
  forEachPod((pod) => lists.setPod(node === undefined ? pod : { ...pod, node }, now));
  return lists;
}

function empty(lists: LiveLists): LiveLists {
  for (let number = 0; number < pods; number++) {
    const { namespace, name } = names(number);
    lists.removePod(namespace, name, now);
  }
  lists.sweep(Infinity);
  return lists;
}

/** The informer keeps the names of what it hands over. */
function watched(): unknown {
  const lists = createLiveLists('', undefined);
  const keys = new Set<string>();
  forEachPod((pod) => {
    keys.add(`${pod.namespace}/${pod.name}`);
    lists.setPod(pod, now);
  });
  return [lists, keys];
}

function slimPods(): Pod[] {
  const list: Pod[] = [];
  forEachPod((pod) => list.push(pod));
  return list;
}

function indexed(list: Pod[]): unknown {
  const index = createPodIndex('');
  for (const pod of list) index.add(pod);
  return index;
}

function forEachPod(what: (pod: Pod) => void): void {
  for (let first = 0; first < pods; first += pageSize) slimPage(first).forEach(what);
}

function slimPage(first: number): Pod[] {
  return (JSON.parse(page(first)) as { items: unknown[] }).items.map((pod) => slimPod(pod));
}

/** A page of a list, as it comes over the wire. */
function page(first: number): string {
  return JSON.stringify({
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '184467' },
    items: Array.from({ length: pageSize }, (_, each) => podObject(first + each)),
  });
}

function nodeName(number: number): string {
  return `ip-10-0-${number >> 8}-${number & 255}.eu-west-1.compute.internal`;
}

function hex(what: string, length: number): string {
  return createHash('sha256').update(what).digest('hex').slice(0, length);
}

function uid(what: string): string {
  return hex(what, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function names(number: number) {
  const deployment = Math.floor(number / replicas);
  const app = `${['payment', 'inventory', 'recommendation', 'search-indexer'][deployment % 4]}-service-${deployment}`;
  const hash = hex(app, 10);
  return { app, hash, name: `${app}-${hash}-${hex(`${number}`, 5)}`, namespace: `team-${deployment % 40}-production` };
}

/** Its addresses follow from its number. */
function podObject(number: number): unknown {
  const { app, hash, name, namespace } = names(number);
  const digest = hex(name, 64);
  const podIP = `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  const started = new Date(now - number * 60_000).toISOString().replace(/\.\d+/, '');
  return {
    metadata: {
      name,
      generateName: `${app}-${hash}-`,
      namespace,
      uid: uid(name),
      resourceVersion: `${184_000_000 + number * 37}`,
      creationTimestamp: started,
      labels: { app, 'app.kubernetes.io/name': app, 'pod-template-hash': hash, team: namespace },
      annotations: { 'cni.projectcalico.org/podIP': `${podIP}/32`, 'example.com/configuration': configuration },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-${hash}`, uid: uid(app), controller: true },
      ],
    },
    spec: {
      nodeName: nodeName(number % nodes),
      containers: Array.from({ length: 3 }, (_, each) => ({
        name: `container-${each}`,
        image: `registry.example.com/team/${app}:1.${each}`,
        env: settings,
      })),
    },
    status: {
      phase: 'Running',
      hostIP: `10.0.${(number % nodes) >> 8}.${(number % nodes) & 255}`,
      podIP,
      podIPs: [{ ip: podIP }, { ip: `fd00:10:64:${(number >> 8).toString(16)}::${(number & 255).toString(16)}` }],
      startTime: started,
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: started,
      })),
      containerStatuses: Array.from({ length: 3 }, (_, each) => ({
        name: `container-${each}`,
        ready: true,
        restartCount: 0,
        imageID: `registry.example.com/team/${app}@sha256:${digest}`,
        containerID: `containerd://${digest}`,
        state: { running: { startedAt: started } },
      })),
    },
  };
}
