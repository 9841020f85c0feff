import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { createRemoteLookups } from '../../../src/explain/resolving/lookups/remote.ts';
import { scopeOf } from '../../../src/explain/resolving/endpoints.ts';
import { resolveMartian } from '../../../src/explain/resolving/resolver.ts';
import { ends, nine, node, pod, podEnd, podRef, service } from '../../builders.ts';

const tables: { asked: [string, string, string[]][] } = {
  // Addresses, and the requests for each.
  asked: [
    ['a Pod of this node', '10.65.1.4', []],
    ['a Node', '192.168.7.12', []],
    ['a Service', '10.96.0.80', []],
    ['a private address', '10.99.0.1', ['pods 10.99.0.1', 'name 10.99.0.1']],
    ['a unique local address', 'fd00:99::1', ['pods fd00:99::1', 'name fd00:99::1']],
    ['an address in a Pod range', '10.65.2.9', ['pods 10.65.2.9']],
    ['an IPv6 address in a Pod range', 'fd00:65:2::9', ['pods fd00:65:2::9']],
    ['a public address', '203.0.113.9', ['name 203.0.113.9']],
    ['the metadata service', '169.254.169.254', []],
    ['the DNS cache of a node', '169.254.20.10', []],
    ['a link-local address', '169.254.7.7', []],
    ['a group', '224.0.0.251', []],
    ['everybody', '255.255.255.255', []],
    ['loopback', '127.0.0.1', []],
    ['nobody', '0.0.0.0', []],
  ],
};

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Cluster {
  /** The Pods of an API server, which selects only by the first address. */
  pods: Pod[];
  /** Other Pods that the answer names. */
  others: Pod[];
  node: string | undefined;
  /** PTR records. */
  names: Record<string, string>;
  failing: boolean;
}

function scene(given: Partial<Cluster> = {}, without?: 'pods' | 'names') {
  const cluster: Cluster = { pods: [], others: [], node: undefined, names: {}, failing: false, ...given };
  const clock = { now: nine };
  const changes: string[] = [];
  let questions: string[] = [];
  const answer = <T>(what: string, address: string, value: T): Promise<T> => {
    questions.push(`${what} ${address}`);
    return cluster.failing ? Promise.reject(new Error('away')) : Promise.resolve(value);
  };
  const remote = createRemoteLookups({
    findPods:
      without === 'pods'
        ? undefined
        : (address) =>
            answer('pods', address, {
              pods: structuredClone([
                ...cluster.others,
                ...cluster.pods.filter(({ addresses }) => addresses[0] === address),
              ]),
              node: cluster.node,
            }),
    findHostName: without === 'names' ? undefined : (address) => answer('name', address, cluster.names[address]),
    onChange(address) {
      lists.endpoints.changed('remote');
      changes.push(address);
    },
    now: () => clock.now,
  });
  const lists = createLiveLists('node-a', remote);
  lists.setNode(node({ podRanges: ['10.65.1.0/24'] }));
  lists.setNode(node({ name: 'node-b', addresses: ['192.168.7.12'], podRanges: ['10.65.2.0/24', 'fd00:65:2::/64'] }));
  lists.setService(service(), nine);
  lists.setPod(pod(), nine);

  /** Returns the owner of an address as of now. */
  const who = (address: string): Endpoint => lists.endpoints.byAddress(address, { time: clock.now, exact: true });
  /** A packet to that address arrives; returns true if it has to wait. */
  const drop = (address: string): boolean => remote.startLookups(ends({ source: podEnd(), destination: who(address) }));
  return {
    cluster,
    lists,
    remote,
    clock,
    changes,
    who,
    drop,
    /** The requests since the last call, for example `pods 10.65.2.9` or `name 203.0.113.9`. */
    asked(this: void): string[] {
      const those = questions;
      questions = [];
      return those;
    },
    /** A packet arrives, and its look-ups are answered one after the other. */
    async resolve(this: void, address: string): Promise<Endpoint> {
      while (drop(address)) await setImmediate();
      return who(address);
    },
  };
}

const db = pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9'] });

test.each(tables.asked)(
  'an end is looked up if it may be a Pod or have a name: %s: %s',
  async (_, address, expected) => {
    const { resolve, asked, drop } = scene();
    await resolve(address);
    expect(asked()).toEqual(expected);
    // Now the owner is known.
    expect([drop(address), asked()]).toEqual([false, []]);
  },
);

test('a Pod found by its interface needs no look-up', () => {
  const { remote, asked } = scene();
  const source = podEnd({ evidence: 'interface', address: '10.65.2.9', note: 'not its own address' });
  expect(remote.startLookups(ends({ source, destination: source }))).toBe(false);
  expect(asked()).toEqual([]);
});

test('Pods that a flow of Calico names need no look-up, because a name is not an address', () => {
  const { remote, asked } = scene();
  const named = podEnd({ kind: 'unknown', evidence: 'none', object: undefined, address: 'shop/web-*' });
  expect(remote.startLookups(ends({ source: podEnd(), destination: named }))).toBe(false);
  expect(asked()).toEqual([]);
});

test("all ends are looked up at once, including those of an ICMP error's packet", () => {
  const { remote, who, asked } = scene();
  const [a, b, c, d] = ['10.65.2.1', '203.0.113.9', '10.65.2.3', '10.65.2.4'].map(who) as [
    Endpoint,
    Endpoint,
    Endpoint,
    Endpoint,
  ];
  expect(remote.startLookups(ends({ source: a, destination: b, inner: { source: c, destination: d } }))).toBe(true);
  // At most two look-ups of Pods are under way at a time.
  expect(asked()).toEqual(['pods 10.65.2.1', 'name 203.0.113.9', 'pods 10.65.2.3']);
});

test('a known Pod as the claimed source of a martian needs no look-up', () => {
  const { remote, lists, asked } = scene();
  const martian = {
    kind: 'martian',
    impossible: 'source',
    source: '10.65.1.4',
    destination: '192.168.7.11',
    device: 'eth0',
  } as const;
  expect(remote.startLookups(resolveMartian(martian, lists.endpoints, { time: nine, exact: true }))).toBe(false);
  expect(asked()).toEqual([]);
});

test('if all Pods are watched, none is looked up, but names are', async () => {
  const { resolve, asked } = scene({ names: { '10.99.0.1': 'db.example.org' } }, 'pods');
  expect((await resolve('10.99.0.1')).note).toContain('db.example.org');
  await resolve('10.65.2.9');
  expect(asked()).toEqual(['name 10.99.0.1']);
});

test('names are not looked up if they are switched off', async () => {
  const { resolve, asked } = scene({}, 'names');
  await resolve('10.99.0.1');
  await resolve('203.0.113.9');
  expect(asked()).toEqual(['pods 10.99.0.1']);
});

test('each packet counts once, as refused or as known', async () => {
  const { resolve, remote, drop, clock } = scene(
    { pods: [{ ...db, addresses: ['10.65.2.9', 'fd00:99::9'] }] },
    'names',
  );
  await resolve('10.65.2.9');
  for (let number = 1; number < 10; number++) await resolve(`10.9.0.${number}`);
  clock.now += 5 * minute;
  for (let number = 0; number < 40; number++) await resolve(`10.9.1.${number}`);
  const before = { ...remote.counts.pods };
  drop('fd00:99::9');
  expect(remote.counts.pods).toEqual({ ...before, refused: before.refused + 1 });
});

test('a found Pod is known by its address', async () => {
  const { resolve, changes, remote } = scene({ pods: [db] });
  expect(await resolve('10.65.2.9')).toMatchObject({
    kind: 'pod',
    evidence: 'pod-address',
    node: 'node-b',
    object: { name: 'db-0', uid: 'uid-of-db-0' },
  });
  expect(changes).toEqual(['10.65.2.9']);
  expect(remote.counts.pods).toMatchObject({ hit: 1, miss: 0 });
});

test('a found Pod answers for packets since its start only if its data stay the same', async () => {
  const { resolve, lists } = scene({ pods: [{ ...db, from: nine - minute }] });
  const { epoch } = lists.endpoints;
  expect(epoch(nine - hour)).toEqual({ from: -Infinity, until: Infinity });
  await resolve('10.65.2.9');
  expect(epoch(nine - hour)).toEqual({ from: nine - hour, until: nine - hour });
  expect(epoch(nine)).toEqual({ from: nine - minute, until: Infinity });
});

test('a found Pod has precedence over a host name', async () => {
  const { resolve, asked } = scene({ pods: [db], names: { '10.65.2.9': 'db.example.org' } });
  expect((await resolve('10.65.2.9')).kind).toBe('pod');
  expect(asked()).toEqual(['pods 10.65.2.9']);
});

test('a found Pod that began after the packet does not own it', async () => {
  const { resolve, lists } = scene({ pods: [{ ...db, from: nine - minute }] });
  expect((await resolve('10.65.2.9')).kind).toBe('pod');
  expect(lists.endpoints.byAddress('10.65.2.9', { time: nine - 5 * minute, exact: true })).toMatchObject({
    kind: 'unknown',
    object: undefined,
  });
});

test('a found Pod whose clock is ahead of ours is found at once', async () => {
  // The clock of the Pod's own node gave the time of its start.
  const { resolve } = scene({ pods: [{ ...db, from: nine + minute }] });
  expect((await resolve('10.65.2.9')).object?.name).toBe('db-0');
});

test('a found Pod is distinguished from earlier owners of its address', async () => {
  const past = pod({
    name: 'job',
    node: 'node-b',
    addresses: ['10.65.2.9'],
    from: nine - minute,
    until: nine - second,
  });
  const { resolve, lists } = scene({ pods: [past, { ...db, from: nine - second }] });
  expect((await resolve('10.65.2.9')).object?.name).toBe('db-0');
  expect(lists.endpoints.byAddress('10.65.2.9', { time: nine - 2 * second, exact: true }).object?.name).toBe('job');
});

test('a found Pod that has ended does not hide the next owner of its address', async () => {
  const job = pod({
    name: 'job',
    node: 'node-b',
    addresses: ['10.65.2.9'],
    from: nine - minute,
    until: nine - second,
  });
  const { resolve, cluster, clock } = scene({ pods: [job] });
  expect(await resolve('10.65.2.9')).toMatchObject({ kind: 'unknown', note: expect.stringContaining('shop/job') });
  cluster.pods = [job, { ...db, from: nine }];
  clock.now += 5 * minute;
  expect((await resolve('10.65.2.9')).object?.name).toBe('db-0');
});

test('a found Pod may have had the address after a Pod of this node', async () => {
  const { resolve, lists, clock, asked } = scene({ pods: [{ ...db, addresses: ['10.65.1.4'], from: nine }] });
  lists.removePod('shop', 'web-0', nine);
  clock.now += second;
  expect((await resolve('10.65.1.4')).object?.name).toBe('db-0');
  expect(asked()).toEqual(['pods 10.65.1.4']);
});

test("a Pod of this node's list has precedence", async () => {
  const { resolve, lists, who } = scene({ pods: [db] });
  await resolve('10.65.2.9');
  lists.setPod(pod({ name: 'web-1', uid: 'local', addresses: ['10.65.2.9'] }), nine);
  expect(who('10.65.2.9').object?.name).toBe('web-1');
});

test('an unused address keeps the host name, or the bare address', async () => {
  const { resolve } = scene({ names: { '10.99.0.1': 'db.example.org' } });
  expect(await resolve('10.99.0.1')).toMatchObject({
    kind: 'external',
    identity: '10.99.0.1',
    note: `db.example.org, ${scopeOf('10.99.0.1').note}`,
  });
  expect(await resolve('10.99.0.2')).toMatchObject({ note: scopeOf('10.99.0.2').note });
  expect(await resolve('10.65.2.77')).toMatchObject({ kind: 'unknown', note: expect.stringContaining('node-b') });
});

test('an unused address is looked up again after a minute', async () => {
  const { resolve, cluster, clock } = scene();
  await resolve('10.65.2.9');
  cluster.pods = [db];
  clock.now += minute - 1;
  expect((await resolve('10.65.2.9')).kind).toBe('unknown');
  clock.now += 1;
  expect((await resolve('10.65.2.9')).kind).toBe('pod');
});

test('an unused address may mean that a server is away, so it is looked up again soon', async () => {
  const { resolve, cluster, clock, asked } = scene({ pods: [db], failing: true });
  expect((await resolve('10.65.2.9')).kind).toBe('unknown');
  cluster.failing = false;
  asked();
  clock.now += 10 * second;
  expect((await resolve('10.65.2.9')).kind).toBe('pod');
  expect(asked()).toEqual(['pods 10.65.2.9']);
});

const proxy = pod({ name: 'proxy', hostNetwork: true, node: 'node-z', addresses: ['192.168.7.26'] });

test("Pods on their node's network show whose the address is, and are not its owner", async () => {
  const { resolve, asked } = scene({ pods: [proxy] });
  expect(await resolve('192.168.7.26')).toMatchObject({
    kind: 'node',
    node: 'node-z',
    evidence: 'node-address',
    object: { kind: 'Node', name: 'node-z', uid: '' },
  });
  expect(asked()).toEqual(['pods 192.168.7.26']);
});

test('Pods of a known Node lead to all that is known of the Node', async () => {
  const { resolve } = scene({ pods: [{ ...proxy, node: 'node-b' }] });
  expect((await resolve('192.168.7.26')).object?.uid).toBe('uid-of-node-b');
});

test('Pods of a Node that had the address before do not show its owner', async () => {
  const past = { ...proxy, name: 'past', node: 'node-y', from: nine - 2 * minute, until: nine - minute };
  const { resolve } = scene({ pods: [past, proxy] });
  expect((await resolve('192.168.7.26')).node).toBe('node-z');
});

test("Pods on their node's network are looked up again, because another machine may have a removed Node's address", async () => {
  const { resolve, cluster, clock } = scene({ pods: [proxy] });
  await resolve('192.168.7.26');
  cluster.pods = [];
  clock.now += 24 * 60 * minute;
  expect((await resolve('192.168.7.26')).kind).toBe('external');
});

test("Pods on their node's network are replaced by a Pod with its own address", async () => {
  const { resolve } = scene({ pods: [{ ...proxy, addresses: ['10.65.2.9'] }, db] });
  expect((await resolve('10.65.2.9')).object?.name).toBe('db-0');
});

const other = { ...db, name: 'db-1', uid: 'db-1', addresses: ['10.65.2.10', 'fd00:99::10'] };

test('other Pods in an answer become known too', async () => {
  const { resolve, asked, drop, who, cluster } = scene();
  cluster.pods = [db];
  cluster.others = [other, { ...other, name: 'ended', addresses: ['10.65.2.11'], until: nine - minute }];
  await resolve('10.65.2.9');
  expect(asked()).toEqual(['pods 10.65.2.9']);
  for (const address of other.addresses) {
    expect(who(address).object?.name).toBe('db-1');
    expect([drop(address), asked()]).toEqual([false, []]);
  }
  expect(who('10.65.2.11').object).toBeUndefined();
});

test('another Pod in an answer does not get the requested address', async () => {
  const { resolve, cluster } = scene();
  cluster.others = [other, { ...other, name: 'proxy', hostNetwork: true, addresses: ['192.168.7.12'] }];
  expect(await resolve('10.65.2.9')).toMatchObject({ kind: 'unknown' });
});

test('a node that an answer names has the address', async () => {
  const { resolve, cluster } = scene();
  cluster.node = 'node-z';
  expect(await resolve('10.99.0.1')).toMatchObject({ kind: 'node', node: 'node-z' });
});

// The second address is in no known Pod range, so the server cannot be asked about it.
const dual = { ...db, addresses: ['10.65.2.9', 'fd00:99::9'] };

test("a Pod's other addresses become known with its first, without a request", async () => {
  const { resolve, asked, drop, who } = scene({ pods: [dual] });
  await resolve('10.65.2.9');
  expect(who('fd00:99::9').object?.name).toBe('db-0');
  asked();
  expect([drop('fd00:99::9'), asked()]).toEqual([false, []]);
});

test("a Pod's other addresses stay its own when they are confirmed, although they cannot be looked up", async () => {
  const { resolve, clock } = scene({ pods: [dual] });
  await resolve('10.65.2.9');
  for (let round = 0; round < 3; round++) {
    clock.now += 5 * minute;
    expect((await resolve('fd00:99::9')).object?.name).toBe('db-0');
  }
});

test("a Pod's other addresses stay its own if they were looked up at the same time", async () => {
  const { drop, who } = scene({ pods: [dual] });
  drop('10.65.2.9');
  drop('fd00:99::9');
  await setImmediate();
  expect(who('fd00:99::9').object?.name).toBe('db-0');
});

test("a Pod's other addresses: those of a Pod that has ended take nothing from their present owners", async () => {
  const ended = { ...dual, name: 'job', uid: 'job', addresses: ['10.65.2.8', 'fd00:99::9'], until: nine - minute };
  const { resolve, who } = scene({ pods: [dual, ended] });
  await resolve('10.65.2.9');
  await resolve('10.65.2.8');
  expect(who('fd00:99::9').object?.name).toBe('db-0');
});

test('a remembered Pod is confirmed after five minutes, and used until then', async () => {
  const { resolve, cluster, clock, asked, drop, who } = scene({ pods: [db] });
  await resolve('10.65.2.9');
  asked();
  cluster.pods = [{ ...db, name: 'db-1', uid: 'uid-of-db-1' }];
  clock.now += 5 * minute - 1;
  expect([drop('10.65.2.9'), asked()]).toEqual([false, []]);
  clock.now += 1;
  expect([drop('10.65.2.9'), asked()]).toEqual([true, ['pods 10.65.2.9']]);
  expect(who('10.65.2.9').object?.name).toBe('db-0');
  await setImmediate();
  expect(who('10.65.2.9').object?.name).toBe('db-1');
});

test('a remembered Pod is used if it cannot be confirmed', async () => {
  const { resolve, cluster, clock } = scene({ pods: [db] });
  await resolve('10.65.2.9');
  cluster.failing = true;
  clock.now += 5 * minute;
  expect((await resolve('10.65.2.9')).object?.name).toBe('db-0');
});

test('a remembered Pod is forgotten when its address is unused', async () => {
  const { resolve, cluster, clock } = scene({ pods: [db] });
  await resolve('10.65.2.9');
  cluster.pods = [];
  clock.now += 5 * minute;
  expect((await resolve('10.65.2.9')).kind).toBe('unknown');
});

test('a host name is remembered for an hour', async () => {
  const { resolve, cluster, clock, remote } = scene({ names: { '203.0.113.9': 'a.example.org' } });
  await resolve('203.0.113.9');
  cluster.names = { '203.0.113.9': 'b.example.org' };
  clock.now += 60 * minute - 1;
  expect((await resolve('203.0.113.9')).note).toContain('a.example.org');
  clock.now += 1;
  expect((await resolve('203.0.113.9')).note).toContain('b.example.org');
  expect(remote.counts.hostNames).toMatchObject({ hit: 2, miss: 0 });
});

test('a flood of one Namespace looks up at most 15 Pods at once and 12 a minute', async () => {
  const { drop, asked, clock, remote } = scene();
  const flood = async (): Promise<number> => {
    for (let number = 0; number < 20_000; number++) drop(`10.9.${number >> 8}.${number & 255}`);
    for (let turn = 0; turn < 30; turn++) await setImmediate();
    return asked().filter((question) => question.startsWith('pods')).length;
  };
  expect(await flood()).toBe(15);
  clock.now += minute;
  expect(await flood()).toBe(12);
  expect(remote.counts.pods).toMatchObject({ miss: 27, hit: 0, failed: 0 });
});

test('a Pod that scans private addresses uses up only the look-ups of its own Namespace', async () => {
  const { clock, who, remote, asked } = scene();
  const drop = (namespace: string, address: string): boolean =>
    remote.startLookups(ends({ source: podEnd({ object: podRef('any', namespace) }), destination: who(address) }));
  for (let time = 0; time < 600; time++) {
    clock.now += second;
    for (let each = 0; each < 10; each++) drop('evil', `10.${each}.${time >> 8}.${time & 255}`);
    for (let each = 0; each < 10; each++) drop('evil', `203.${each}.${time >> 8}.${time & 255}`);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    if (time % 20 !== 0) continue;
    asked();
    expect([drop('shop', `10.200.0.${time / 20}`), drop('shop', `198.51.100.${time / 20}`)]).toEqual([true, true]);
  }
});
