import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { Moment } from '../../../src/explain/resolving/endpoint-finder.ts';
import { timeTolerance } from '../../../src/explain/resolving/pod-changes.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createLiveLists, defaultLiveLimits, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Node, Pod, Service } from '../../../src/explain/resolving/objects.ts';
import { scopeOf } from '../../../src/explain/resolving/endpoints.ts';
import { nine, node, pod, service } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const minute = 60_000;
const age = defaultLiveLimits.age;
const addresses = ['10.65.1.4', '10.65.1.5', 'fd00:65::4', '10.65.1.6'];
const names = ['web-0', 'web-1', 'job'];
const veths = names.map((name) => interfaceNames('shop', name)[0] ?? '');

const create = (limits = defaultLiveLimits): LiveLists => createLiveLists('node-a', undefined, limits);
const at = (time: number, exact = true): Moment => ({ time, exact });
const uidOf = (endpoint: Endpoint | undefined): string | undefined => endpoint?.object?.uid;

/** A Pod with an address or an interface, as far as the lists know of it. */
interface Tenure {
  uid: string;
  key: string;
  /** As in the rule for Pods, they start some time before they get an address. */
  from: number;
  until: number;
  /** When it was first seen with it, and when it was seen without it again. */
  seen: number;
  gone: number;
}

/** Remembers everything that was ever set, and searches all of it for each question. */
function createModel() {
  const tenures: Tenure[] = [];
  const present = new Map<string, Pod>();
  let uids = 0;
  let sweptAt = -Infinity;

  return {
    /** The existing Pod, if it is of that generation, otherwise a new one. An ended Pod never runs again. */
    next(name: string, generation: number, ended: number): { uid: string; until: number } {
      const known = present.get(name);
      if (known === undefined || !known.uid.startsWith(`${generation} `))
        return { uid: `${generation} ${uids++}`, until: ended };
      const changed = tenures
        .filter(({ uid }) => uid === known.uid)
        .map(({ seen, gone }) => (gone < Infinity ? gone : seen));
      return { uid: known.uid, until: known.until < Infinity ? known.until : Math.max(ended, ...changed) };
    },
    set(next: Pod, now: number) {
      const before = present.get(next.name);
      const from = before?.uid === next.uid ? before.from : Math.min(next.from, now);
      const keys = keysOf(next);
      for (const tenure of openOf(before)) {
        const kept = before?.uid === next.uid && keys.includes(tenure.key);
        if (kept) tenure.until = next.until;
        // The Pod may have ended before its addresses were removed.
        else close(tenure, Math.min(now, before?.uid === next.uid ? next.until : now), now);
      }
      const kept = new Set(openOf(next).map(({ key }) => key));
      for (const key of keys)
        if (!kept.has(key)) tenures.push({ uid: next.uid, key, from, until: next.until, seen: now, gone: Infinity });
      present.set(next.name, { ...next, from });
    },
    remove(name: string, now: number) {
      for (const tenure of openOf(present.get(name))) close(tenure, now, now);
      present.delete(name);
    },
    sweep: (now: number) => void (sweptAt = now),
    /** Uids that are valid answers: what is too old may be remembered or not. */
    holders: (key: string, moment: Moment) => [
      ...holdersIn(ofKey(key), moment),
      ...holdersIn(ofKey(key).filter(isFresh), moment),
    ],
    /** Whether that Pod had the address at that time; undefined if that is unknown. */
    had(uid: string | undefined, address: string, time: number): boolean | undefined {
      const own = tenures.filter((each) => each.uid === uid);
      if (!own.every(isFresh)) return undefined;
      const his = own.filter(({ key }) => key === address);
      if (his.some(({ seen, until }) => seen <= time && time < until)) return true;
      return his.some(({ from, until }) => from - timeTolerance <= time && time < until) ? undefined : false;
    },
    get present() {
      return present.size;
    },
  };

  function openOf(one: Pod | undefined): Tenure[] {
    return tenures.filter(({ uid, gone }) => uid === one?.uid && gone === Infinity);
  }

  function close(tenure: Tenure, until: number, now: number): void {
    tenure.until = Math.min(tenure.until, until);
    tenure.gone = now;
  }

  function ofKey(wanted: string): Tenure[] {
    return tenures.filter(({ key }) => key === wanted);
  }

  function isFresh({ gone }: Tenure): boolean {
    return gone > sweptAt - age;
  }
}

function keysOf({ hostNetwork, node: where, name, addresses: own }: Pod): string[] {
  if (hostNetwork) return [];
  return where === 'node-a' ? [...own, ...interfaceNames('shop', name)] : own;
}

/** The rule of `holder` in holder.ts, written again. Of those that the rule cannot distinguish, any will do. */
function holdersIn(list: Tenure[], { time, exact }: Moment): (string | undefined)[] {
  const running = list.find(({ until }) => until === Infinity);
  if (!exact && running && new Set(list.map(({ uid }) => uid)).size === 1) return [running.uid];
  for (const early of [0, timeTolerance]) {
    const those = list.filter(({ from, until }) => from < until && from - early <= time && time < until);
    const end = Math.min(...those.map(({ until }) => until));
    const first = those.filter(({ until }) => until === end);
    const start = end === Infinity ? Math.max(...first.map(({ from }) => from)) : -Infinity;
    // Of running Pods on two Nodes, the one on the agent's own Node has it.
    const own = list.filter(({ uid, until }) => until === Infinity && !uid.startsWith(`${elsewhere} `));
    if (first.length > 0 && end === Infinity && own.length < list.filter(({ until }) => until === Infinity).length) {
      const found = holdersIn(own, { time, exact });
      if (found[0] !== undefined) return found;
    }
    if (first.length > 0) return first.filter(({ from }) => from >= start).map(({ uid }) => uid);
  }
  return [undefined];
}

/** The generation whose Pods are on another Node. */
const elsewhere = 2;

/** Changes that another Pod of the same name can have, but never the same Pod. */
const generations: Partial<Pod>[] = [{}, {}, { node: 'node-b' }, { hostNetwork: true }];

const edits = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      name: fc.constantFrom(...names),
      generation: fc.nat({ max: generations.length - 1 }),
      addresses: fc.subarray(addresses, { maxLength: 2 }),
      started: fc.constantFrom(-Infinity, -90_000, -2500, -1, 0, 30_000),
      ended: fc.constantFrom(Infinity, Infinity, Infinity, Infinity, -20_000, 0, 900),
    }),
  },
  fc.record({ kind: fc.constant('remove' as const), name: fc.constantFrom(...names) }),
  fc.constant({ kind: 'sweep' as const }),
);

type Edit = typeof edits extends fc.Arbitrary<infer T> ? T : never;

function apply(edit: Edit, lists: LiveLists, model: ReturnType<typeof createModel>, now: number): void {
  switch (edit.kind) {
    case 'set': {
      const { kind: _, generation, started, ended, ...rest } = edit;
      const next = model.next(rest.name, generation, now + Math.max(started + 1, ended));
      // The Pod's start, according to the API server, was before its end.
      const from = Math.min(now + started, next.until - 1);
      const one = pod({ ...rest, ...generations[generation], ...next, from });
      lists.setPod(one, now);
      return model.set(one, now);
    }
    case 'remove':
      lists.removePod('shop', edit.name, now);
      return model.remove(edit.name, now);
    case 'sweep':
      lists.sweep(now);
      return model.sweep(now);
    default:
      edit satisfies never;
  }
}

const steps = fc.array(
  fc.record({
    edit: edits,
    pause: fc.constantFrom(0, 1, 900, 2500, 20_000, minute, 5 * minute),
    ago: fc.array(fc.constantFrom(0, 1, 1000, 2100, 30_000, minute, 6 * minute), { minLength: 1, maxLength: 2 }),
    exact: fc.boolean(),
  }),
  { maxLength: 25 },
);

test('answers like a model that forgets nothing', () => {
  forAll([steps], { numRuns: 300 }, (program) => {
    const lists = create();
    const model = createModel();
    let now = nine;
    for (const { edit, pause, ago, exact } of program) {
      apply(edit, lists, model, (now += pause));
      expect(lists.sizes.pods).toBe(model.present);
      for (const time of ago.map((each) => now - each)) {
        for (const address of addresses)
          expect(model.holders(address, at(time, exact))).toContain(
            uidOf(lists.endpoints.byAddress(address, at(time, exact))),
          );
        for (const veth of veths) {
          const found = lists.endpoints.podByInterface(veth, '10.65.1.4', at(time, exact));
          expect(model.holders(veth, at(time, exact))).toContain(uidOf(found));
          const own = found && exact ? model.had(uidOf(found), '10.65.1.4', time) : undefined;
          if (own !== undefined) expect(found?.note === undefined).toBe(own);
        }
      }
    }
  });
});

/** Makes a cluster in which no Pod gets an address that another Pod has. */
const cluster = fc.array(
  fc.record({
    act: fc.constantFrom('create', 'address', 'address', 'complete', 'remove', 'remove', 'sweep'),
    which: fc.nat({ max: 11 }),
    pause: fc.constantFrom(1, 400, 1700, 8000, 45_000),
    ago: fc.integer({ min: 1, max: 4 * minute }),
  }),
  { maxLength: 60 },
);

test('finds the Pod that really had an address at a time', () => {
  forAll([cluster], { numRuns: 300 }, (program) => {
    const lists = create();
    const alive: Pod[] = [];
    const free = ['10.65.1.4', '10.65.1.5'];
    const truth: { uid: string; address: string; got: number; lost: number; listed: number }[] = [];
    let now = nine;
    const end = ({ uid }: Pod, listed: number): void => {
      const last = truth.findLast((each) => each.uid === uid && each.lost === Infinity);
      if (last === undefined) return;
      Object.assign(last, { lost: now, listed });
      free.push(last.address);
    };
    for (const { act, which, pause, ago } of program) {
      now += pause;
      const one = alive[which % Math.max(1, alive.length)];
      if (act === 'create' && alive.length < 6) {
        // A new uid, and a name that may come again.
        const born = pod({ name: `web-${which % 3}`, uid: `${now}`, addresses: [], from: now - (now % 1000) });
        if (alive.every(({ name }) => name !== born.name)) alive.push(born);
        lists.setPod(alive.find(({ name }) => name === born.name) ?? born, now);
      } else if (one === undefined) continue;
      else if (act === 'address' && one.until === Infinity && one.addresses.length === 0 && free.length > 0) {
        one.addresses = [free.shift() ?? ''];
        truth.push({ uid: one.uid, address: one.addresses[0] ?? '', got: now, lost: Infinity, listed: Infinity });
        lists.setPod({ ...one }, now);
      } else if (act === 'complete' && one.until === Infinity) {
        one.until = now - (now % 1000) + 1000;
        end(one, one.until);
        lists.setPod({ ...one }, now);
      } else if (act === 'remove') {
        alive.splice(alive.indexOf(one), 1);
        end(one, now);
        lists.removePod('shop', one.name, now);
      } else if (act === 'sweep') lists.sweep(now);
      for (const time of [now, now - ago]) {
        for (const { uid, address, got, lost } of truth) {
          if (time < got || time >= lost) continue;
          // A completed Pod still owns the second in which it ended.
          const late = truth.filter((each) => each.address === address && each.lost <= time && time < each.listed);
          expect([uid, ...late.map((each) => each.uid)]).toContain(uidOf(lists.endpoints.byAddress(address, at(time))));
        }
      }
    }
  });
});

test('a Pod whose clock is ahead of ours is found at once', () => {
  const lists = create();
  lists.setPod(pod({ from: nine + 5 * minute }), nine);
  for (const time of [nine - timeTolerance, nine, nine + minute])
    expect(uidOf(lists.endpoints.byAddress('10.65.1.4', at(time)))).toBe('uid-of-web-0');
  // And it began when it was first seen, whatever start is set later.
  lists.setPod(pod({ from: nine + 5 * minute, addresses: ['10.65.1.4', '10.65.1.5'] }), nine + minute);
  expect(uidOf(lists.endpoints.byAddress('10.65.1.5', at(nine)))).toBe('uid-of-web-0');
});

test('a Pod is returned in its latest version, whether or not something else has changed', () => {
  const lists = create();
  lists.setPod(pod({ resourceVersion: '1' }), nine);
  for (const [resourceVersion, role] of [
    ['2', undefined],
    ['3', 'dns'],
    ['4', 'dns'],
  ] as const) {
    lists.setPod(pod({ resourceVersion, role }), nine);
    expect(lists.endpoints.byAddress('10.65.1.4', at(nine))).toMatchObject({ role, object: { resourceVersion } });
  }
});

test('a Pod that lost one address keeps its claim to the other, which leads to its present version', () => {
  const lists = create();
  lists.setPod(pod({ addresses: ['10.65.1.4', 'fd00:65::4'], from: nine, resourceVersion: '1' }), nine);
  lists.setPod(pod({ addresses: ['10.65.1.5', 'fd00:65::4'], from: nine, resourceVersion: '2' }), nine + minute);
  const kept = lists.endpoints.byAddress('fd00:65::4', at(nine + 1000));
  expect(kept).toMatchObject({ object: { resourceVersion: '2' } });
  const [veth = ''] = interfaceNames('shop', 'web-0');
  const noteOf = (address: string, time: number): string | undefined =>
    lists.endpoints.podByInterface(veth, address, at(time))?.note;
  expect(noteOf('fd00:65::4', nine + 2 * minute)).toBeUndefined();
  expect(noteOf('10.65.1.4', nine + 1000)).toBeUndefined();
  expect(noteOf('fd00:65::4', nine + 1000)).toBeUndefined();
  expect(noteOf('10.65.1.4', nine + 2 * minute)).toBe('not its own address');
});

test('a Pod with new addresses is still the only one with its interface, for an inexact time', () => {
  const lists = create();
  lists.setPod(pod({ from: nine }), nine);
  lists.setPod(pod({ from: nine, addresses: ['10.65.1.5'] }), nine + minute);
  const [veth = ''] = interfaceNames('shop', 'web-0');
  expect(uidOf(lists.endpoints.podByInterface(veth, '10.65.1.5', at(nine - minute, false)))).toBe('uid-of-web-0');
});

test.each([
  ['keeps its addresses in its status', ['10.65.1.4']],
  ['shows none any more', []],
])('a Pod that was seen running and has failed without a time had its address until then: it %s', (_, left) => {
  const lists = create();
  lists.setPod(pod({ from: nine }), nine);
  // Evicted, or its node is gone: no container ever ends, so `slimPod` gives the Pod no end of its own.
  lists.setPod(pod({ from: nine, until: nine, addresses: left }), nine + minute);
  const check = (): void => {
    expect(uidOf(lists.endpoints.byAddress('10.65.1.4', at(nine + 59_000)))).toBe('uid-of-web-0');
    expect(uidOf(lists.endpoints.byAddress('10.65.1.4', at(nine + minute + timeTolerance)))).toBeUndefined();
  };
  check();
  // Its status keeps changing.
  for (const resourceVersion of ['8', '9']) {
    lists.setPod(pod({ from: nine, until: nine, addresses: left, resourceVersion }), nine + 2 * minute);
    check();
  }
  lists.removePod('shop', 'web-0', nine + 3 * minute);
  check();
});

test('a Pod that ended before its addresses were removed did not have them in between', () => {
  const lists = create();
  lists.setPod(pod({ from: nine }), nine);
  lists.setPod(pod({ from: nine, until: nine + 30_000, addresses: [] }), nine + minute);
  lists.setPod(pod({ name: 'web-1', from: nine + 40_000 }), nine + minute);
  const found = [29_999, 40_000].map((offset) => uidOf(lists.endpoints.byAddress('10.65.1.4', at(nine + offset))));
  expect(found).toEqual(['uid-of-web-0', 'uid-of-web-1']);
});

test('a Pod that had failed before it was first seen had no address', () => {
  const lists = create();
  lists.setPod(pod({ from: nine, until: nine }), nine + minute);
  expect(uidOf(lists.endpoints.byAddress('10.65.1.4', at(nine + 1000)))).toBeUndefined();
});

test('unknown Pods can be removed', () => {
  const lists = create();
  const { version } = lists.endpoints;
  lists.removePod('shop', 'web-0', nine);
  expect([lists.sizes.tombstones, lists.endpoints.version]).toEqual([0, version]);
});

const host = pod({ name: 'agent', hostNetwork: true, addresses: ['192.168.7.11'] });

test.each<[string, (lists: LiveLists) => void]>([
  ['before the Node is known', (lists) => (lists.setPod(host, nine), lists.setNode(node()))],
  ['after it', (lists) => (lists.setNode(node()), lists.setPod(host, nine))],
  [
    'when it is gone',
    (lists) => (lists.setNode(node()), lists.setPod(host, nine), lists.removePod('shop', 'agent', nine + 1)),
  ],
  [
    'when it has changed',
    (lists) => {
      lists.setPod(host, nine);
      lists.setPod({ ...host, addresses: ['192.168.7.11', 'fd00:7::11'] }, nine);
      lists.setNode(node());
    },
  ],
])('a Pod never takes the address of its node: %s', (_, prepare) => {
  const lists = create();
  prepare(lists);
  for (const time of [nine - minute, nine, nine + minute])
    expect(lists.endpoints.byAddress('192.168.7.11', at(time))).toMatchObject({ kind: 'node', node: 'node-a' });
  for (const veth of interfaceNames('shop', 'agent'))
    expect(lists.endpoints.podByInterface(veth, '192.168.7.11', at(nine))).toBeUndefined();
});

test('only Pods of this node are found by an interface', () => {
  const lists = create();
  lists.setPod(pod({ node: 'node-b' }), nine);
  const [veth = ''] = interfaceNames('shop', 'web-0');
  expect(lists.endpoints.nodeByInterface(veth, '10.65.1.4', at(nine))).toBeUndefined();
  // A Pod is bound to a node some time after it was created.
  lists.setPod(pod(), nine + 1);
  expect(lists.endpoints.nodeByInterface(veth, '10.65.1.4', at(nine + 1))).toBe('node-a');
});

const nodeAgain = (given: Partial<Node>) => (lists: LiveLists) => lists.setNode(node(given));
const serviceAgain = (given: Partial<Service>) => (lists: LiveLists) => lists.setService(service(given), nine);

interface Row {
  what: string;
  edit: (lists: LiveLists) => void;
  counts: boolean;
}
const knownPod = pod({ from: nine, workload: { kind: 'Deployment', namespace: 'shop', name: 'web' } });
const again = (given: Partial<Pod>) => (lists: LiveLists) => lists.setPod({ ...knownPod, ...given }, nine + 1);

test.each<Row>([
  { what: 'a Pod as it was', edit: again({}), counts: false },
  { what: 'a Pod’s resourceVersion', edit: again({ resourceVersion: '8' }), counts: false },
  { what: 'a Pod’s addresses', edit: again({ addresses: ['10.65.1.5'] }), counts: true },
  { what: 'a Pod’s end', edit: again({ until: nine + 1 }), counts: true },
  { what: 'a Pod’s role', edit: again({ role: 'dns' }), counts: true },
  { what: 'a Pod’s ports', edit: again({ ports: ',http=80/tcp,' }), counts: true },
  { what: 'a Pod’s node', edit: again({ node: 'node-b' }), counts: true },
  { what: 'a Pod’s network', edit: again({ hostNetwork: true }), counts: true },
  { what: 'a Pod’s owner', edit: again({ workload: undefined }), counts: true },
  { what: 'a Pod’s problem', edit: again({ problem: 'unready', restarted: nine }), counts: false },
  { what: 'that a Pod runs no longer', edit: again({ running: false }), counts: false },
  { what: 'another Pod of that name', edit: again({ uid: 'another' }), counts: true },
  { what: 'a Pod less', edit: (lists) => lists.removePod('shop', 'web-0', nine), counts: true },
  { what: 'a Node as it was', edit: nodeAgain({}), counts: false },
  { what: 'a Node’s resourceVersion', edit: nodeAgain({ resourceVersion: '4' }), counts: false },
  { what: 'a Node’s addresses', edit: nodeAgain({ addresses: [] }), counts: true },
  { what: 'a Node’s Pod range', edit: nodeAgain({ podRanges: ['10.65.1.0/24'] }), counts: true },
  { what: 'a Node’s host name', edit: nodeAgain({ hostNames: ['a'] }), counts: true },
  { what: 'a Node made anew', edit: nodeAgain({ uid: 'another' }), counts: true },
  { what: 'a Node less', edit: (lists) => lists.removeNode('node-a'), counts: true },
  { what: 'a strange Node less', edit: (lists) => lists.removeNode('node-z'), counts: false },
  { what: 'a Service as it was', edit: serviceAgain({}), counts: false },
  { what: 'a Service’s resourceVersion', edit: serviceAgain({ resourceVersion: '6' }), counts: false },
  { what: 'a Service’s addresses', edit: serviceAgain({ addresses: ['10.96.0.81'] }), counts: true },
  { what: 'a Service’s ports', edit: serviceAgain({ ports: [] }), counts: true },
  { what: 'a Service’s role', edit: serviceAgain({ role: 'dns' }), counts: true },
  { what: 'a Service less', edit: (lists) => lists.removeService('shop', 'api', nine), counts: true },
  { what: 'a strange Service less', edit: (lists) => lists.removeService('shop', 'web', nine), counts: false },
  { what: 'a sweep of nothing', edit: (lists) => lists.sweep(nine + age), counts: false },
])('the version of the directory changes with its answers: $what: $counts', ({ edit, counts }) => {
  const lists = create();
  lists.setPod({ ...knownPod }, nine);
  lists.setNode(node());
  lists.setService(service(), nine);
  const { version } = lists.endpoints;
  edit(lists);
  expect(lists.endpoints.version !== version).toBe(counts);
});

test('the Pods of this node are the present ones', () => {
  const lists = create();
  lists.setPod(pod(), nine);
  lists.setPod(pod({ name: 'web-1', node: 'node-b' }), nine);
  lists.setPod(pod({ name: 'web-2' }), nine);
  lists.setPod(pod({ name: 'web-3', node: undefined }), nine);
  lists.removePod('shop', 'web-2', nine);
  expect(lists.podsHere(nine)).toEqual([pod()]);
});

test('the Pods of this node are returned in their present version, even if no answer of the directory has changed', () => {
  const lists = create();
  lists.setPod(pod(), nine);
  lists.setPod(pod({ problem: 'unready' }), nine);
  expect(lists.podsHere(nine)).toMatchObject([{ problem: 'unready', running: true }]);
  lists.setPod(pod({ running: false }), nine);
  expect(lists.podsHere(nine)).toMatchObject([{ problem: undefined, running: false }]);
});

test('Pods of this node count as restarting for ten minutes', () => {
  const lists = create();
  lists.setPod(pod({ problem: 'unready', restarted: nine }), nine);
  const problemAt = (time: number) => lists.podsHere(time)[0]?.problem;
  expect([nine, nine + 10 * minute - 1, nine + 10 * minute].map(problemAt)).toEqual([
    'restarting',
    'restarting',
    'unready',
  ]);
});

const nginx = (port: string): Service =>
  service({ namespace: 'default', name: 'nginx', ports: [{ name: port, port: 80, protocol: 'tcp' }] });

const chain = 'KUBE-SVC-2CMXP7HKUVJN7L6M';

test('chains belong to Services, and are forgotten a day after them', () => {
  const lists = create();
  lists.setService(nginx(''), nine);
  expect(lists.chains.ownerOf(chain)).toMatchObject({ service: { name: 'nginx' }, port: '80', deleted: false });
  lists.removeService('default', 'nginx', nine);
  expect(lists.chains.ownerOf(chain)).toMatchObject({ service: { name: 'nginx' }, port: '80', deleted: true });
  lists.sweep(nine + 24 * 60 * minute);
  expect(lists.chains.ownerOf(chain)).toBeUndefined();
});

test('chains follow changes of ports alone', () => {
  const lists = create();
  lists.setService(nginx('http'), nine);
  expect(lists.chains.ownerOf(chain)).toBeUndefined();
  lists.setService(nginx(''), nine);
  expect(lists.chains.ownerOf(chain)).toMatchObject({ port: '80', deleted: false });
});

test('Nodes are found by address, name and Pod range in their present version', () => {
  const { endpoints, ...lists } = create();
  lists.setNode(node({ podRanges: ['10.65.1.0/24'], hostNames: ['ip-192-168-7-11'] }));
  lists.setNode(node({ name: 'node-b', addresses: ['192.168.7.12'], podRanges: ['10.65.2.0/24', 'fd00:65:2::/64'] }));
  expect(endpoints.nodes.map(({ name }) => name)).toEqual(['node-a', 'node-b']);
  expect(endpoints.byAddress('192.168.7.12', at(nine))).toMatchObject({ kind: 'node', node: 'node-b' });
  expect(endpoints.homeOf('fd00:65:2::9')).toBe('node-b');
  expect(endpoints.node('ip-192-168-7-11')?.name).toBe('node-a');

  lists.setNode(node({ name: 'node-b', addresses: ['192.168.7.13'], podRanges: ['10.65.3.0/24'] }));
  expect(endpoints.byAddress('192.168.7.12', at(nine)).kind).toBe('external');
  expect(endpoints.byAddress('192.168.7.13', at(nine)).node).toBe('node-b');
  expect([endpoints.homeOf('10.65.2.9'), endpoints.homeOf('10.65.3.9')]).toEqual([undefined, 'node-b']);
  expect(endpoints.byAddress('10.65.3.9', at(nine)).kind).toBe('unknown');

  lists.removeNode('node-a');
  expect(endpoints.node('node-a')).toBeUndefined();
  expect(endpoints.node('ip-192-168-7-11')).toBeUndefined();
  expect(endpoints.byAddress('192.168.7.11', at(nine)).kind).toBe('external');
  expect([endpoints.homeOf('10.65.1.9'), endpoints.nodes.length]).toEqual([undefined, 1]);
});

test('Nodes that take over an address own it', () => {
  const lists = create();
  lists.setNode(node());
  lists.removeNode('node-a');
  lists.setNode(node({ name: 'node-b' }));
  expect(lists.endpoints.byAddress('192.168.7.11', at(nine)).node).toBe('node-b');
  expect(lists.sizes).toMatchObject({ nodes: 1 });
});

test('Services are found by address in their present version', () => {
  const { endpoints, ...lists } = create();
  const find = (address: string): string | undefined => endpoints.byAddress(address, at(nine)).object?.name;
  lists.setService(service(), nine);
  lists.setService(service({ name: 'db', addresses: ['10.96.0.90', 'fd00:96::90'] }), nine);
  expect([find('10.96.0.80'), find('10.96.0.90'), find('fd00:96::90')]).toEqual(['api', 'db', 'db']);
  lists.setService(service({ name: 'db', addresses: ['10.96.0.91'] }), nine);
  expect([find('10.96.0.90'), find('10.96.0.91')]).toEqual([undefined, 'db']);
  lists.removeService('shop', 'api', nine);
  expect(find('10.96.0.80')).toBeUndefined();
});

const addressOf = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;

test('tombstones: last as long as intended', () => {
  const lists = create();
  lists.setPod(pod(), nine);
  lists.removePod('shop', 'web-0', nine + minute);
  lists.sweep(nine + minute + age - 1);
  expect([nine, nine + minute].map((time) => uidOf(lists.endpoints.byAddress('10.65.1.4', at(time))))).toEqual([
    'uid-of-web-0',
    undefined,
  ]);
  const { version } = lists.endpoints;
  lists.sweep(nine + minute + age);
  expect(uidOf(lists.endpoints.byAddress('10.65.1.4', at(nine)))).toBeUndefined();
  expect(lists.endpoints.version).not.toBe(version);
  expect(lists.sizes).toMatchObject({ pods: 0, tombstones: 0 });
  // The Pod leaves no trace.
  expect(lists.endpoints.byAddress('10.65.1.4', at(nine)).note).toBe(scopeOf('10.65.1.4').note);
});

test('tombstones are limited: the oldest are removed first', () => {
  const lists = create({ age, count: 2 });
  for (const [number, address] of ['10.65.1.4', '10.65.1.5', '10.65.1.6'].entries()) {
    lists.setPod(pod({ name: `web-${number}`, addresses: [address] }), nine);
    lists.removePod('shop', `web-${number}`, nine + 1000);
  }
  expect(lists.sizes.tombstones).toBe(2);
  expect(['10.65.1.4', '10.65.1.5', '10.65.1.6'].map((each) => lists.endpoints.byAddress(each, at(nine)).kind)).toEqual(
    ['external', 'pod', 'pod'],
  );
});

test('tombstones of Pods that could never be found are not kept', () => {
  const lists = create();
  lists.setPod(pod({ name: 'agent', hostNetwork: true, addresses: ['192.168.7.11'] }), nine);
  lists.setPod(pod({ name: 'pending', node: undefined, addresses: [] }), nine);
  lists.removePod('shop', 'agent', nine + 1);
  lists.removePod('shop', 'pending', nine + 1);
  expect(lists.sizes.tombstones).toBe(0);
});

test('100,000 Pods that come and go leave nothing behind', () => {
  const lists = create({ age, count: 500 });
  let now = nine;
  let most = 0;
  for (let number = 0; number < 100_000; number++) {
    const name = `job-${number}`;
    // Only a few of them are on this node, because hashing the names of interfaces is most of the work.
    const where = number % 50 === 0 ? 'node-a' : 'node-b';
    lists.setPod(pod({ name, node: where, addresses: [addressOf(number)], from: now }), now);
    now += 10;
    lists.removePod('shop', name, now);
    most = Math.max(most, lists.sizes.tombstones);
  }
  expect(most).toBe(500);
  lists.sweep(now + age);
  expect(lists.sizes).toEqual({ pods: 0, tombstones: 0, nodes: 0, services: 0 });
  for (let number = 0; number < 100_000; number += 97)
    expect(lists.endpoints.byAddress(addressOf(number), at(nine)).kind).toBe('external');
});
