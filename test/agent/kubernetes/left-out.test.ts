import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createKnownObjects,
  type ObjectName,
  type Store,
  type WatchedObjects,
} from '../../../src/agent/kubernetes/list-watch.ts';
import { createMemoryBudget, ranks } from '../../../src/base/platform/memory-budget.ts';
import { createLiveLists, defaultLiveLimits, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { weightOfService } from '../../../src/explain/resolving/object-weights.ts';
import type { Pod, Service } from '../../../src/explain/resolving/objects.ts';
import { nine, pod, service } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

/*
 * One tenant (`evil`) makes any number of Pods and Services of any size in any order, so that memory has no room for
 * all. The ends of the packets of another tenant (`shop`) are what they would be without `evil`.
 */

const total = 200_000;

interface Scene {
  readonly lists: LiveLists;
  readonly pods: WatchedObjects;
  readonly services: WatchedObjects;
  readonly bytes: () => number;
}

function setUp(): Scene {
  const memory = createMemoryBudget({ total, isPreferred: () => false });
  const lists = createLiveLists('node-a', undefined, defaultLiveLimits, undefined, memory);
  const open = <T extends ObjectName>(resource: 'pods' | 'services', store: Store<T>, weigh: (object: T) => number) =>
    createKnownObjects<T>({
      slim: (object) => object as T,
      store,
      account: (leaveOut) => memory.open({ resource, rank: ranks[resource], leaveOut }),
      weigh,
    });
  const pods = open<Pod>(
    'pods',
    {
      set: (each) => lists.setPod(each, nine),
      delete: (namespace, name) => lists.removePod(namespace, name, nine),
      leaveOut: lists.leaveOutPod,
    },
    lists.weightOfPod,
  );
  const services = open<Service>(
    'services',
    {
      set: (each) => lists.setService(each, nine),
      delete: (namespace, name) => lists.removeService(namespace, name, nine),
      leaveOut: lists.leaveOutService,
    },
    weightOfService,
  );
  return { lists, pods, services, bytes: () => memory.bytes };
}

const podOf = (namespace: string, index: number, net: number, padding: number): Pod =>
  pod({
    namespace,
    name: `web-${index}`,
    uid: `${namespace}-${index}`,
    node: 'node-b',
    addresses: [`10.${net}.${index >> 8}.${index & 255}`],
    labels: `app=${'x'.repeat(padding)}`,
  });

const serviceOf = (namespace: string, index: number, net: number, padding: number): Service =>
  service({
    namespace,
    name: `api-${index}${'y'.repeat(padding)}`,
    uid: `${namespace}-s-${index}`,
    addresses: padding % 3 === 0 ? [] : [`10.${net}.${index >> 8}.${index & 255}`],
  });

const attack = fc.array(
  fc.record({
    kind: fc.constantFrom('pods' as const, 'services' as const),
    index: fc.nat(600),
    padding: fc.nat(200),
    type: fc.constantFrom('ADDED', 'ADDED', 'ADDED', 'ADDED', 'DELETED'),
  }),
  { minLength: 300, maxLength: 900 },
);

test('a tenant whose objects fill the memory removes neither names nor outside addresses from Events of others', () => {
  let mostLeftOut = 0;
  forAll([attack, attack], { numRuns: 25 }, (before, after) => {
    const { lists, pods, services, bytes } = setUp();
    const play = (events: typeof before): void => {
      for (const { kind, index, padding, type } of events) {
        const object = kind === 'pods' ? podOf('evil', index, 70, padding) : serviceOf('evil', index, 71, padding);
        (kind === 'pods' ? pods : services).apply({ type, object });
        expect(bytes()).toBeLessThanOrEqual(total);
      }
    };
    play(before);
    for (let index = 0; index < 30; index++) {
      pods.apply({ type: 'ADDED', object: podOf('shop', index, 60, 3) });
      services.apply({ type: 'ADDED', object: serviceOf('shop', index, 61, 1) });
    }
    play(after);
    const end = (address: string): string => {
      const { kind, object } = lists.endpoints.byAddress(address, { time: nine + 1, exact: true });
      return object === undefined ? kind : `${kind} ${object.namespace}/${object.name}`;
    };
    for (let index = 0; index < 30; index++) {
      expect(end(`10.60.0.${index}`)).toBe(`pod shop/web-${index}`);
      expect(end(`10.61.0.${index}`)).toBe(`service shop/api-${index}y`);
      expect(end(`10.99.0.${index}`)).toBe('external');
    }
    // A left-out object is unknown, and never an outside host.
    for (const [address, key] of latestOf([...before, ...after]))
      expect(['unknown', key]).toContain(end(address).replace(/ evil\/.*/, ' evil'));
    mostLeftOut = Math.max(mostLeftOut, pods.account.leftOut);
  });
  expect(mostLeftOut).toBeGreaterThan(50);
});

/** The addresses of the attacker's objects at the end, each with its owner if there was room for it. */
function latestOf(events: readonly { kind: 'pods' | 'services'; index: number; padding: number; type: string }[]) {
  const latest = new Map<string, string>();
  for (const { kind, index, padding, type } of events) {
    if (kind === 'services') continue;
    const [address = ''] = podOf('evil', index, 70, padding).addresses;
    if (type === 'ADDED') latest.set(address, 'pod evil');
    else latest.delete(address);
  }
  return latest;
}
