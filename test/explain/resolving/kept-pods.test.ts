import { beforeEach, expect, test } from 'vitest';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createKeptPods, type EarlierPods, type KeptPods } from '../../../src/explain/resolving/kept-pods.ts';
import { createLiveLists, defaultLiveLimits, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { nine, pod } from '../../builders.ts';

const minute = 60_000;
let now: number;
/** How far the wall clock was set forward. */
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

/** The state of an agent that was just killed, with these Pods on its node. */
function keptOf(...pods: Pod[]): EarlierPods {
  const kept = createKeptPods('node-a', undefined, clock);
  for (const each of pods) kept.set(each);
  return stateOf(kept);
}

/** An agent that continues with a state. */
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

test("after it was killed, before the API server has listed Pods, an agent finds its node's Pods by all addresses and the interface, and marks the result", () => {
  const { lists } = start(keptOf(web));
  expect(ownerAt(lists, '10.65.1.4', now)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, 'fd00:65::4', now + minute)).toEqual(['uid-1', 'earlier-run']);
  expect(senderAt(lists, now)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.5', now)[0]).toBeUndefined();
});

test('after it was killed, before the API server has listed Pods, an agent has every field of a Pod that a finding needs', () => {
  const end = start(keptOf(web)).lists.endpoints.byAddress('10.65.1.4', { time: now, exact: true });
  expect(end).toMatchObject({ node: 'node-a', workload: web.workload, object: { namespace: 'shop', name: 'web-0' } });
  expect(start(keptOf(web)).lists.endpoints.portName(end, 80, 'TCP')).toBe('http');
});

test('after it was killed, before the API server has listed Pods, an agent gives a Pod no packet from before its start', () => {
  const { lists } = start(keptOf({ ...web, from: nine - minute }));
  expect(ownerAt(lists, '10.65.1.4', nine - 2 * minute)[0]).toBeUndefined();
});

test('an agent that is killed a second time before the API server has listed Pods continues with the same Pods', () => {
  const { kept } = start(keptOf(web));
  now += 20 * minute;
  const state = stateOf(kept);
  now += 4 * minute;
  expect(ownerAt(start(state).lists, '10.65.1.4', now)).toEqual(['uid-1', 'earlier-run']);
});

test('after it was killed, before the API server has listed Pods, an agent uses the corrected clock', () => {
  const state = keptOf({ ...web, from: nine });
  ahead = 60 * minute;
  const { lists } = start({ ...state, alive: clock.wall() });
  expect(ownerAt(lists, '10.65.1.4', nine - 59 * minute)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', nine - 61 * minute)[0]).toBeUndefined();
});

test('the first list has the Pod: its present version is found', () => {
  const { lists } = start(keptOf(web));
  const before = lists.endpoints.version;
  list(lists, web);
  expect(ownerAt(lists, '10.65.1.4', nine)).toEqual(['uid-1', 'pod-address']);
  expect(senderAt(lists, nine)).toEqual(['uid-1', 'interface']);
  expect(lists.endpoints.version).toBeGreaterThan(before);
});

test("the first list has another Pod with its address: packets after that Pod's start belong to the other one", () => {
  const { lists } = start(keptOf(web));
  list(lists, pod({ name: 'job', uid: 'uid-2', addresses: ['10.65.1.4'], from: nine + 20_000 }));
  expect(ownerAt(lists, '10.65.1.4', nine + 10_000)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', nine + 20_000)).toEqual(['uid-2', 'pod-address']);
  expect(ownerAt(lists, 'fd00:65::4', nine + 30_000)).toEqual(['uid-1', 'earlier-run']);
});

test('the first list has another Pod of its name: the interface belongs to that one', () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, uid: 'uid-2', from: nine + 20_000 });
  expect(senderAt(lists, nine + 10_000)).toEqual(['uid-1', 'earlier-run']);
  expect(senderAt(lists, nine + 20_000)).toEqual(['uid-2', 'interface']);
});

test("the first list has the Pod with another address: the lost address was the Pod's until then", () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, addresses: ['10.65.1.9', 'fd00:65::4'] });
  expect(ownerAt(lists, '10.65.1.4', nine)).toEqual(['uid-1', 'earlier-run']);
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBeUndefined();
  for (const time of [nine, now]) expect(ownerAt(lists, 'fd00:65::4', time)).toEqual(['uid-1', 'pod-address']);
  expect(senderAt(lists, nine)).toEqual(['uid-1', 'interface']);
});

test('the first list has the Pod as completed: it gets no packet after its end', () => {
  const { lists } = start(keptOf(web));
  list(lists, { ...web, until: nine + 10_000, running: false });
  expect(ownerAt(lists, '10.65.1.4', nine + 5000)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', nine + 10_000)[0]).toBeUndefined();
});

test('the first list lacks the Pod: it had its address until then, and is remembered for ten minutes', () => {
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

test('only the first list ends the knowledge of an earlier run', () => {
  const { lists } = start(keptOf(web));
  list(lists);
  list(lists, pod({ name: 'job', uid: 'uid-2', addresses: ['10.65.1.7'] }));
  expect(ownerAt(lists, '10.65.1.4', nine)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', nine + minute)[0]).toBeUndefined();
});

test('answers stay the same within one epoch, before and after the first list', () => {
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

test.each([14, 16, 60 * 24])("after %i minutes without an agent, an address may be another Pod's", (minutes) => {
  const state = keptOf(web);
  now += minutes * minute;
  const { lists } = start(state);
  expect(ownerAt(lists, '10.65.1.4', nine - 1)[0]).toBe('uid-1');
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBe(minutes < 15 ? 'uid-1' : undefined);
});

test('Pods of this node with their own network are saved', () => {
  const others = [
    { name: 'elsewhere', node: 'node-b' },
    { name: 'host', hostNetwork: true },
    { name: 'done', until: nine },
    { name: 'unscheduled', node: undefined },
  ].map((each) => pod(each));
  expect(keptOf(...others, web).records).toMatchObject([{ name: 'web-0' }]);
});

test('a Pod that completes or is deleted is no longer saved', () => {
  const kept = createKeptPods('node-a', undefined, clock);
  kept.set(web);
  kept.set({ ...web, until: nine });
  expect(stateOf(kept).records).toEqual([]);
  kept.set(web);
  kept.remove('shop', 'web-0');
  expect(stateOf(kept).records).toEqual([]);
});

test("a change of only a Pod's status does not write saved Pods again", () => {
  const kept = createKeptPods('node-a', undefined, clock);
  kept.set(web);
  const { revision } = kept.changes;
  kept.set({ ...web, resourceVersion: '8', problem: 'unready', restarted: nine });
  expect(kept.changes.revision).toBe(revision);
});

test('the number of saved Pods is limited', () => {
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
])('a state with %s in place of a Pod names no Pod', (_, hostile) => {
  const { lists } = start({ records: [hostile], alive: nine });
  expect(ownerAt(lists, '10.65.1.4', now)[0]).toBeUndefined();
});

test.each([undefined, null, 'nine', {}])('Pods of a state whose time is %o are ignored', (alive) => {
  expect(start({ ...keptOf(web), alive }).kept.earlier.size).toBe(0);
});
