import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WatchedResource } from '../../../src/agent/kubernetes/informer.ts';
import { type ClusterWatch, createClusterWatch } from '../../../src/agent/kubernetes/cluster-watch.ts';
import { createConnection } from '../../../src/agent/kubernetes/connection.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import { createSteadyClock } from '../../../src/base/platform/clock.ts';
import { createLiveLists, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { nine } from '../../builders.ts';
import { type Asked, json, refuse, type ScriptedServer, startScriptedServer, sendEvent } from './scripted-server.ts';

const slicesPath = '/apis/discovery.k8s.io/v1/endpointslices';
const chain = 'KUBE-SEP-SXIVWICOYRO3J4NJ';
const slice = {
  metadata: {
    namespace: 'ns1',
    name: 'svc1-a',
    resourceVersion: '8',
    labels: { 'kubernetes.io/service-name': 'svc1' },
  },
  ports: [{ name: 'p80', port: 80, protocol: 'TCP' }],
  endpoints: [{ addresses: ['10.180.0.1'], nodeName: 'node-b', targetRef: { kind: 'Pod', name: 'svc1-0' } }],
};

let server: ScriptedServer;
let lists: LiveLists;
let cluster: ClusterWatch;
let heard: EventEmitter;
let reported: string[];
/** Answers requests for EndpointSlices. All other lists are empty, and their watches stay open. */
let answerSlices: (asked: Asked) => void;
/** How many Nodes or Services remain after the first page, according to the API server. */
let remainingNodes = 0;

beforeEach(async () => {
  // With 0, jitter makes each pause 0.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  heard = new EventEmitter().setMaxListeners(0);
  reported = [];
  server = await startScriptedServer((asked) => {
    if (asked.path === slicesPath) answerSlices(asked);
    else if (asked.query['watch'] === undefined)
      json(asked.response, 200, { metadata: { resourceVersion: '7', remainingItemCount: remainingNodes }, items: [] });
    heard.emit('news');
  });
});

afterEach(async () => {
  cluster.stop();
  await server.stop();
  vi.restoreAllMocks();
});

function say(what: string): void {
  reported.push(what);
  heard.emit('news');
}

function about(what: string) {
  return (resource: WatchedResource): void => {
    if (resource === 'endpointslices') say(what);
  };
}

function start(endpointSlices: number, pause?: (duration: number) => Promise<void>, optedOut?: Set<string>): void {
  lists = createLiveLists('node-a', undefined);
  cluster = createClusterWatch({
    connection: createConnection({
      access: server.access(),
      userAgent: 'test',
      onRequest: () => {},
      clock: createSteadyClock(),
    }),
    lists,
    ownNode: 'node-a',
    podCache: 'node',
    limits: { nodes: 200, services: 5000, endpointSlices },
    ...(pause && { pause }),
    optedOut,
    report: {
      watchFailed: (resource, { verb, refusal }) => about(`${verb} refused with ${refusal?.status}`)(resource),
      synced(resource) {
        about('synced')(resource);
        heard.emit('news');
      },
      unusable: about('unusable'),
      tooMany: (resource, count, limit) => about(`${count} of ${limit}`)(resource),
    },
    clock: { now: () => nine, fromWall: (stamp) => stamp },
    random: () => 0,
  });
  cluster.start();
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await once(heard, 'news', { signal: AbortSignal.timeout(60_000) });
}

const askedForSlices = (): Asked[] => server.asked.filter(({ path }) => path === slicesPath);

test('EndpointSlices are counted, listed and watched if there are few', async () => {
  let watch: Asked | undefined;
  answerSlices = (asked) => {
    if (asked.query['watch'] !== undefined) watch = asked;
    else json(asked.response, 200, { metadata: { resourceVersion: '8' }, items: [slice] });
  };
  start(1);
  await until(() => cluster.watches('endpointslices') && watch !== undefined);
  expect(askedForSlices().map(({ query }) => query['limit'])).toEqual(['1', '100', undefined]);
  expect(lists.chains.ownerOf(chain)).toMatchObject({ service: { name: 'svc1' }, endpoint: '10.180.0.1:80' });
  expect(lists.chains.backendsOf('ns1', 'svc1')).toMatchObject([{ pod: { namespace: 'ns1', name: 'svc1-0' } }]);
  const { setSlice } = lists.chains;
  lists.chains.setSlice = (...given) => {
    setSlice(...given);
    heard.emit('news');
  };
  if (watch !== undefined)
    sendEvent(watch.response, 'MODIFIED', {
      ...slice,
      metadata: { ...slice.metadata, resourceVersion: '9' },
      endpoints: [],
    });
  await until(() => lists.chains.backendsOf('ns1', 'svc1').length === 0);
});

test('EndpointSlices are reported and not watched if there are many', async () => {
  answerSlices = ({ response }) => json(response, 200, { metadata: { remainingItemCount: 9 }, items: [slice] });
  start(9);
  await until(() => reported.length > 0 && cluster.synced);
  expect(reported).toEqual(['10 of 9']);
  expect(cluster.watches('endpointslices')).toBe(false);
  expect(askedForSlices()).toHaveLength(1);
});

test('with a limit of 0, EndpointSlices are not even counted', async () => {
  answerSlices = () => {};
  start(0);
  await until(() => cluster.synced);
  expect(askedForSlices()).toEqual([]);
  expect(cluster.watches('endpointslices')).toBe(false);
});

test('if the answer to a count is not a list, EndpointSlices are counted again', async () => {
  answerSlices = (asked) => {
    if (asked.query['watch'] !== undefined) return;
    const isFirst = askedForSlices().length === 1;
    json(asked.response, 200, isFirst ? null : { metadata: { resourceVersion: '8' }, items: [slice] });
  };
  start(1);
  await until(() => cluster.watches('endpointslices'));
  expect(reported).toEqual(['list refused with 0', 'synced']);
});

test('EndpointSlices are not waited for', async () => {
  answerSlices = () => {};
  start(9);
  await until(() => cluster.synced);
  expect(cluster.missing).toEqual([]);
  expect(cluster.watches('endpointslices')).toBe(false);
  expect(cluster.watches('pods')).toBe(true);
});

test.each([
  ['to count', 403, 0, 'list'],
  ['to count', 404, 0, 'list'],
  ['to list', 403, 1, 'list'],
  ['to watch', 403, 2, 'watch'],
])('EndpointSlices are given up if the server refuses %s them with %i', async (_, status, answered, verb) => {
  answerSlices = ({ response }) => {
    if (askedForSlices().length > answered) refuse(response, status);
    else json(response, 200, { metadata: { resourceVersion: '8' }, items: [] });
  };
  start(9);
  await until(() => reported.includes(`${verb} refused with ${status}`) && cluster.synced);
  cluster.stop();
  expect(reported.filter((each) => each !== 'synced')).toEqual([`${verb} refused with ${status}`]);
  expect(askedForSlices()).toHaveLength(answered + 1);
  expect(cluster.watches('endpointslices')).toBe(false);
  expect(cluster.informers.has('endpointslices')).toBe(false);
});

test('EndpointSlices are asked for again long after a refusal, because the right may have been granted', async () => {
  const pauses: number[] = [];
  const goOn = Promise.withResolvers<void>();
  answerSlices = ({ response, query }) => {
    if (askedForSlices().length === 1) refuse(response, 403);
    else if (query['watch'] === undefined) json(response, 200, { metadata: { resourceVersion: '8' }, items: [] });
  };
  start(9, (duration) => {
    pauses.push(duration);
    return goOn.promise;
  });
  await until(() => pauses.includes(600_000));
  goOn.resolve();
  await until(() => cluster.watches('endpointslices'));
});

test('EndpointSlices are asked for again when the server only failed', async () => {
  answerSlices = ({ response, query }) => {
    if (askedForSlices().length === 1) refuse(response, 500);
    else if (query['watch'] === undefined) json(response, 200, { metadata: { resourceVersion: '8' }, items: [] });
  };
  start(9);
  await until(() => cluster.watches('endpointslices'));
  expect(reported[0]).toBe('list refused with 500');
});

test.each([
  [5000, 5000],
  [0, 1],
])("if %i Nodes are counted and only this agent's Node is watched, there are %i", async (counted, nodes) => {
  remainingNodes = counted;
  answerSlices = () => {};
  start(0);
  await until(() => cluster.synced);
  remainingNodes = 0;
  expect(cluster.nodeCount).toBe(nodes);
});

const namespacesPath = '/api/v1/namespaces';

test('Namespaces are not asked for if no setting needs them', async () => {
  answerSlices = (asked) => json(asked.response, 200, { items: [] });
  start(0);
  await until(() => cluster.synced);
  expect(server.asked.map(({ path }) => path)).not.toContain(namespacesPath);
  expect(cluster.watches('namespaces')).toBe(false);
});

test('only Namespaces with the label are listed, and their names come and go', async () => {
  const optedOut = new Set<string>();
  start(0, undefined, optedOut);
  const watchOf = (): Asked | undefined =>
    server.asked.find(({ path, query }) => path === namespacesPath && query['watch'] !== undefined);
  await until(() => watchOf() !== undefined);
  expect(cluster.watches('namespaces')).toBe(true);
  const asked = server.asked.filter(({ path }) => path === namespacesPath);
  expect(asked.map(({ query }) => query['labelSelector'])).toEqual(
    asked.map(() => 'kube-netfilter-tailer/audit=redacted'),
  );
  const namespace = { metadata: { name: 'shop', resourceVersion: '8' } };
  const { response } = watchOf() as Asked;
  sendEvent(response, 'ADDED', namespace);
  await expect.poll(() => [...optedOut]).toEqual(['shop']);
  sendEvent(response, 'DELETED', namespace);
  await expect.poll(() => [...optedOut]).toEqual([]);
});

const ownerOf = (address: string): Endpoint => lists.endpoints.byAddress(address, { time: nine, exact: true });

test('Services that were too many are watched once they are few, and addresses are unknown until then', async () => {
  const goOn = Promise.withResolvers<void>();
  const pauses: number[] = [];
  answerSlices = () => {};
  remainingNodes = 5001;
  start(0, (duration) => {
    pauses.push(duration);
    return goOn.promise;
  });
  await until(() => cluster.synced);
  expect(cluster.watches('services')).toBe(false);
  expect(server.asked.filter(({ path }) => path === '/api/v1/services')).toHaveLength(1);
  expect(ownerOf('10.96.0.10')).toMatchObject({
    kind: 'unknown',
    note: 'perhaps of a Service: there are too many to watch',
  });
  expect(ownerOf('203.0.113.9')).toMatchObject({ kind: 'external' });
  expect(pauses).toContain(3_600_000);
  remainingNodes = 0;
  goOn.resolve();
  await until(() => cluster.watches('services'));
  expect(ownerOf('10.96.0.10')).toMatchObject({ kind: 'external' });
});

test('EndpointSlices that were too many are watched once they are few', async () => {
  const goOn = Promise.withResolvers<void>();
  answerSlices = ({ response, query }) => {
    const remainingItemCount = askedForSlices().length === 1 ? 9 : 0;
    if (query['watch'] === undefined)
      json(response, 200, { metadata: { resourceVersion: '8', remainingItemCount }, items: [slice] });
  };
  start(9, () => goOn.promise);
  await until(() => reported.includes('10 of 9'));
  expect(cluster.watches('endpointslices')).toBe(false);
  goOn.resolve();
  await until(() => cluster.watches('endpointslices'));
});
