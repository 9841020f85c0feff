import { expect, vi } from 'vitest';
import { podObject } from '../../agent-rig.ts';
import { createObjects } from '../../control-plane/objects.ts';
import { failing } from '../answers.ts';
import type { Fault, Scene, FaultRows } from '../fault.ts';

/** Namespaces, Pods and Events that are deleted while the agent uses them, at a real API server. */

/**
 * Pods that come and go in one row. Each is created, gets an address and is deleted, so an agent that watches all Pods
 * sees three changes for each.
 */
const churnedPods = 300;
/** Requests at the same time. */
const churnWidth = 16;

const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`;

export const objectsRows: FaultRows = {
  name: 'objects',
  subnet: '10.119',
  rows: [
    {
      title: 'a namespace is being deleted: its Events are given up, those of others go on',
      begin: ({ controlPlane, otherNamespace }) =>
        controlPlane.request('DELETE', `/api/v1/namespaces/${otherNamespace}`),
      goesOn: true,
      lasts: ({ untilMetric }) => untilMetric(/events_abandoned_total\{reason="terminating"\} [1-9]/),
      problems: [],
      lost: { other: 6 },
    },
    namespaceGone(),
    podDeletedInBetween(),
    {
      title: 'the Event of a Pod is deleted: it begins again with the packets since then',
      async begin({ rig, controlPlane, namespace }) {
        for (const { metadata } of await rig.events(namespace, 'steady'))
          await controlPlane.request('DELETE', `/api/v1/namespaces/${namespace}/events/${metadata.name}`);
      },
      goesOn: true,
      problems: [],
      lost: { steady: 5 },
    },
    {
      title: `${churnedPods} Pods come and go, on this node and on others, before an agent that watches them all`,
      settings: () => ({ POD_CACHE: 'cluster' }),
      begin: () => {},
      goesOn: true,
      lasts: churn,
      problems: [],
      // An API server with so much to do may send no bookmark for two minutes.
      tolerated: ['silence'],
      check: expectOneList,
    },
  ],
};

/** Expects only the list of the start, which may have several pages. */
function expectOneList({ proxy }: Scene): void {
  const lists = proxy.asked.filter((each) => /^GET \/api\/v1\/pods\?(?!.*(?:watch=true|continue=))/.test(each));
  expect(lists).toHaveLength(1);
}

/** There is no controller, so this deletes what is in the Namespace first, and then its finalizer. */
async function deleteOtherNamespace({ controlPlane, otherNamespace }: Scene): Promise<void> {
  const path = `/api/v1/namespaces/${otherNamespace}`;
  await controlPlane.request('DELETE', `${podPath(otherNamespace, 'other')}?gracePeriodSeconds=0`);
  await controlPlane.request('DELETE', path);
  const { body } = await controlPlane.request('GET', path);
  await controlPlane.request('PUT', `${path}/finalize`, { body: { ...(body as object), spec: { finalizers: [] } } });
  const isGone = async (): Promise<boolean> => (await controlPlane.request('GET', path)).status === 404;
  await vi.waitUntil(isGone, { timeout: 60_000, interval: 100 });
}

/** Holds back the writes of Events that `concerns` matches, so that they stay under way. */
function holdWrites(concerns: RegExp) {
  const [first, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    begin: failing(
      async ({ pass }) => {
        first.resolve();
        await go.promise;
        pass();
      },
      concerns,
      false,
    ),
    /** Resolves when a write is held back. */
    held: first.promise,
    release: go.resolve,
    end: ({ proxy }: Scene): void => proxy.heal(),
  };
}

function namespaceGone(): Fault {
  const { begin, held, release, end } = holdWrites(/^POST \/api\/v1\/namespaces\/[^/]+-other\/events/);
  return {
    title:
      'a namespace is gone with its Pods before their Events are written: they are given up, those of others are not',
    begin,
    async lasts(scene) {
      await held;
      await deleteOtherNamespace(scene);
      release();
      await scene.untilMetric(/events_abandoned_total\{reason="gone"\} [1-9]/);
    },
    end,
    problems: [],
    lost: { other: 6 },
  };
}

function podDeletedInBetween(): Fault {
  const { begin, held, release, end } = holdWrites(/^POST \/api\/v1\/namespaces\/[^/]+(?<!-other)\/events/);
  let uid: unknown;
  return {
    title: 'a Pod is deleted between its packets and their Event: it has its Event all the same',
    begin,
    async lasts({ controlPlane, namespace }) {
      const path = podPath(namespace, 'during');
      const { body } = await controlPlane.request('GET', path);
      ({ uid } = (body as { metadata: { uid: string } }).metadata);
      await held;
      await controlPlane.request('DELETE', `${path}?gracePeriodSeconds=0`);
      const isGone = async (): Promise<boolean> => (await controlPlane.request('GET', path)).status === 404;
      await vi.waitUntil(isGone, { timeout: 60_000, interval: 50 });
      release();
    },
    end,
    problems: [],
    check(_, all) {
      const written = all.filter(({ involvedObject }) => involvedObject.name === 'during');
      expect(written.map(({ involvedObject }) => involvedObject.uid)).toEqual([uid]);
    },
  };
}

/** Every second Pod is on the agent's node, where drops go to it in the meantime as to any other Pod. */
async function churn(scene: Scene): Promise<void> {
  const { controlPlane, node, namespace } = scene;
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < churnedPods) {
      const number = next++;
      const name = `churned-${number}`;
      const address = `172.20.${number >> 8}.${number & 255}`;
      const home = number % 2 === 0 ? node : `${node}-elsewhere`;
      await createObjects(controlPlane, { items: [podObject({ namespace, name, node: home, addresses: [address] })] });
      await controlPlane.request('DELETE', `${podPath(namespace, name)}?gracePeriodSeconds=0`);
    }
  };
  await Promise.all(Array.from({ length: churnWidth }, one));
}
