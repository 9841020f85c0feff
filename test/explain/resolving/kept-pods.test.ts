import { beforeEach, expect, test } from 'vitest';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createKeptPods, type EarlierPods, type KeptPods } from '../../../src/explain/resolving/kept-pods.ts';
import { createLiveLists, defaultLiveLimits, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { nine, pod } from '../../builders.ts';

const minute = 60_000;
let now: number;
/** The wall clock was set forward by so much. */
let ahead: number;
const clock = {
  now: () => now,
  wall: () => now + ahead,
  fromWall: (stamp: number) => stamp - ahead,
  toWall: (time: number) => time + ahead,
};

beforeEach(() => {
  now = nine;
  ahead = 0;
});

const web = pod({
  name: 'web-0',
  uid: 'uid-1',
  addresses: ['10.65.1.4', 'fd00:65::4'],
  workload: { kind: 'StatefulSet', namespace: 'shop', name: 'web' },
  ports: ',http=80/tcp,',
  from: nine - 60 * minute,
});
const veth = interfaceNames('shop', 'web-0')[0] ?? '';

/** Returns the state on disk after these changes. */
function stateOf(kept: KeptPods): EarlierPods {
  const records = [...kept.changes.entries()].map((change) => change[2]);
  return JSON.parse(JSON.stringify({ records, alive: kept.alive() }));
}

/** The state of an agent that was killed just now, on whose node these Pods were. */
function keptOf(...pods: Pod[]): EarlierPods {
  const kept = createKeptPods('node-a', undefined, clock);
  for (const each of pods) kept.set(each);
  return stateOf(kept);
}

/** An agent that goes on with a state. */
function start(state: EarlierPods): { lists: LiveLists; kept: KeptPods } {
  const kept = createKeptPods('node-a', state, clock);
  return { kept, lists: createLiveLists('node-a', undefined, defaultLiveLimits, kept) };
}

const ownerAt = ({ endpoints }: LiveLists, address: string, time: number) => {
  const { object, evidence } = endpoints.byAddress(address, { time, exact: true });
  return [object?.uid, evidence];
};
const senderAt = ({ endpoints }: LiveLists, time: number) => {
  const end = endpoints.podByInterface(veth, '10.65.1.4', { time, exact: true });
  return [end?.object?.uid, end?.evidence];
};

/** The first list of Pods, a minute after the start. */
function list(lists: LiveLists, ...pods: Pod[]): void {
  now += minute;
  for (const each of pods) lists.setPod(each, now);
  lists.podsListed();
}

test('an agent that was killed finds, before the API server has listed Pods, the Pods of its node by all their addresses and their interface, and marks what it found so', () => {
  const { lists } = start(keptOf(web));
  expect(ownerAt(lists, '10.65.1.4', now)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, 'fd00:65::4', now + minute)).toEqual(['uid-1', 'earlier-run']);
  expect(senderAt(lists, now)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.5', now)[0]).toBeUndefined();
});

test('an agent that was killed has, before the API server has listed Pods, of each Pod what a finding needs', () => {
  const end = start(keptOf(web)).lists.endpoints.byAddress('10.65.1.4', { time: now, exact: true });
  expect(end).toMatchObject({ node: 'node-a', workload: web.workload, object: { namespace: 'shop', name: 'web-0' } });
  expect(start(keptOf(web)).lists.endpoints.portName(end, 80, 'TCP')).toBe('http');
});

test('an agent that was killed gives, before the API server has listed Pods, a Pod no packet from before its start', () => {
  const { lists } = start(keptOf({ ...web, from: nine - minute }));
  expect(ownerAt(lists, '10.65.1.4', nine - 2 * minute)[0]).toBeUndefined();
});

test('an agent that was killed may be killed again before the API server has listed Pods, and the next one goes on with the same Pods', () => {
  const { kept } = start(keptOf(web));
  now += 20 * minute;
  const state = stateOf(kept);
  now += 4 * minute;
  expect(ownerAt(start(state).lists, '10.65.1.4', now)).toEqual(['uid-1', 'earlier-run']);
});

test('an agent that was killed counts on the corrected clock before the API server has listed Pods', () => {
  const state = keptOf({ ...web, from: nine });
  ahead = 60 * minute;
  const { lists } = start({ ...state, alive: clock.wall() });
  expect(ownerAt(lists, '10.65.1.4', nine - 59 * minute)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', nine - 61 * minute)[0]).toBeUndefined();
});

test('the first list has the Pod: it is found as it is now', () => {
  const { lists } = start(keptOf(web));
  const before = lists.endpoints.version;
  list(lists, web);
  expect(ownerAt(lists, '10.65.1.4', nine)).toEqual(['uid-1', 'pod-address']);
  expect(senderAt(lists, nine)).toEqual(['uid-1', 'interface']);
  expect(lists.endpoints.version).toBeGreaterThan(before);
});

test('the first list has another Pod with its address: packets from after the start of that one are its own', () => {
  const { lists } = start(keptOf(web));
  list(lists, pod({ name: 'job', uid: 'uid-2', addresses: ['10.65.1.4'], from: nine + 20_000 }));
  expect(ownerAt(lists, '10.65.1.4', nine + 10_000)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', nine + 20_000)).toEqual(['uid-2', 'pod-address']);
  expect(ownerAt(lists, 'fd00:65::4', nine + 30_000)).toEqual(['uid-1', 'earlier-run']);
});

test('the first list has another Pod of its name: so has the interface', () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, uid: 'uid-2', from: nine + 20_000 });
  expect(senderAt(lists, nine + 10_000)).toEqual(['uid-1', 'earlier-run']);
  expect(senderAt(lists, nine + 20_000)).toEqual(['uid-2', 'interface']);
});

test('the first list has the Pod with another address: what it has lost it had until then', () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, addresses: ['10.65.1.9', 'fd00:65::4'] });
  expect(ownerAt(lists, '10.65.1.4', nine)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBeUndefined();
  for (const time of [nine, now]) expect(ownerAt(lists, 'fd00:65::4', time)).toEqual(['uid-1', 'pod-address']);
  expect(senderAt(lists, nine)).toEqual(['uid-1', 'interface']);
});

test('the first list has the Pod as one that has completed: nothing after its end is given to it', () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, until: nine + 10_000, running: false });
  expect(ownerAt(lists, '10.65.1.4', nine + 5000)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', nine + 10_000)[0]).toBeUndefined();
});

test('the first list does not have the Pod: it had its address until then, and for ten minutes that is known', () => {
  const { lists, kept } = start(keptOf(web));
  list(lists);
  expect(ownerAt(lists, '10.65.1.4', nine + minute - 1)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', nine + minute)[0]).toBeUndefined();
  expect(stateOf(kept).records).toEqual([]);
  now += 10 * minute - 1;
  const before = lists.endpoints.version;
  lists.sweep(now);
  expect(ownerAt(lists, '10.65.1.4', nine)[0]).toBe('uid-1');
  expect(lists.endpoints.version).toBe(before);
  now += 1;
  lists.sweep(now);
  expect(ownerAt(lists, '10.65.1.4', nine)[0]).toBeUndefined();
  expect(lists.endpoints.version).toBeGreaterThan(before);
});

test('the first list is the only one that ends what an earlier run knew', () => {
  const { lists } = start(keptOf(web));
  list(lists);
  list(lists, pod({ name: 'job', uid: 'uid-2', addresses: ['10.65.1.7'] }));
  expect(ownerAt(lists, '10.65.1.4', nine)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', nine + minute)[0]).toBeUndefined();
});

test('answers stay the same within one epoch, before the first list and after it', () => {
  const { lists } = start(keptOf(web));
  const look = (time: number) => ownerAt(lists, '10.65.1.4', time)[0];
  const check = (): void => {
    for (let time = nine - 62 * minute; time < nine + 3 * minute; time += 10_000) {
      const { from, until } = lists.endpoints.epoch(time);
      for (const other of [from + 1, until - 1].filter(Number.isFinite))
        expect([other, look(other)]).toEqual([other, look(time)]);
    }
  };
  check();
  list(lists, pod({ name: 'job', uid: 'uid-2', addresses: ['10.65.1.4'], from: nine + 20_000 }));
  check();
});

test.each([14, 16, 60 * 24])('after %i minutes without an agent, an address may be that of another Pod', (minutes) => {
  const state = keptOf(web);
  now += minutes * minute;
  const { lists } = start(state);
  expect(ownerAt(lists, '10.65.1.4', nine - 1)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBe(minutes < 15 ? 'uid-1' : undefined);
});

test('the Pods of this node that run in a network of their own are kept', () => {
  const others = [
    { name: 'elsewhere', node: 'node-b' },
    { name: 'host', hostNetwork: true },
    { name: 'done', until: nine },
    { name: 'unscheduled', node: undefined },
  ].map((each) => pod(each));
  expect(keptOf(...others, web).records).toMatchObject([{ name: 'web-0' }]);
});

test('a Pod that completes or is deleted is no longer kept', () => {
  const kept = createKeptPods('node-a', undefined, clock);
  kept.set(web);
  kept.set({ ...web, until: nine });
  expect(stateOf(kept).records).toEqual([]);
  kept.set(web);
  kept.remove('shop', 'web-0');
  expect(stateOf(kept).records).toEqual([]);
});

test('kept Pods are not written again where only the status of one changes', () => {
  const kept = createKeptPods('node-a', undefined, clock);
  kept.set(web);
  const { revision } = kept.changes;
  kept.set({ ...web, resourceVersion: '8', problem: 'unready', restarted: nine });
  expect(kept.changes.revision).toBe(revision);
});

test('the number of kept Pods is bounded', () => {
  const many = Array.from({ length: 1030 }, (_, number) => pod({ name: `p${number}`, addresses: [] }));
  const { records } = keptOf(...many);
  expect(records).toHaveLength(1024);
  expect(start({ records: [...records, ...records], alive: nine }).kept.earlier.size).toBe(1024);
});

const [record] = keptOf(web).records;
test.each<[string, unknown]>([
  ['no Pod', null],
  ['a text', 'web-0'],
  ['a name with escapes', { ...Object(record), name: '\u001b[31mred' }],
  ['a name that is too long', { ...Object(record), name: 'p'.repeat(254) }],
  ['a namespace that is a path', { ...Object(record), namespace: '../kube-system' }],
  ['no uid', { ...Object(record), uid: '' }],
  ['another node', { ...Object(record), node: 'node-b' }],
  ['addresses that are none', { ...Object(record), addresses: ['', '10.65.1.4 ', '10.065.1.4', {}] }],
  ['an end before its start', { ...Object(record), until: 0 }],
])('a state that has %s for a Pod names no Pod', (_, hostile) => {
  const { lists } = start({ records: [hostile], alive: nine });
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBeUndefined();
});

test.each([undefined, null, 'nine', {}])('Pods of a state that says %o of when it was written are ignored', (alive) => {
  expect(start({ ...keptOf(web), alive }).kept.earlier.size).toBe(0);
});
