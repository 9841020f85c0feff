import { expect, test } from 'vitest';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import type { PolicyAnswer } from '../../../src/base/model/policy-answer.ts';
import { parse } from '../../../src/read/parsing/parsing.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import {
  createPipeline,
  createStatistics,
  type ConnectionJudge,
  type Drop,
} from '../../../src/count/pipeline/pipeline.ts';
import { createLookupQueue } from '../../../src/count/pipeline/lookup-queue.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { foundAnswer } from '../../../src/explain/drops/drops.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { cluster, line, nine, node, pod, service } from '../../builders.ts';
import { stateOf } from '../series/state-of.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { fakeTime } from '../../read/sources/fake-time.ts';

/** Tests which connections that failed count as drops. */

const uid = '0b4fe5a1-6d2c-4c35-9d55-5e1c2b2f7a01';
const wordOf = (address: string): string =>
  Buffer.from(address.split('.').map(Number)).readUInt32LE().toString(16).padStart(1, '0');

interface Connection {
  from?: string;
  to?: string;
  port?: number;
  sourcePort?: number;
  of?: string;
}

/** As the probe printed it in a guest with Linux 6.12. */
function failureLine({
  from = '10.244.1.22',
  to = '10.244.1.30',
  port = 5432,
  sourcePort = 41_856,
  of = uid,
}: Connection = {}): string {
  return (
    `(sock.inet_sock_set_state) oldstate=2 newstate=7 protocol=6 family=2 sport=${sourcePort} dport=${port} from=0x${wordOf(from)} ` +
    `to=0x${wordOf(to)} from6={0x0,0x0} to6={0x0,0x0} error=110 tries=6 answers=0 queued=0 reported=0 cgroup=0xff43 level=4 ` +
    `first="kubepods.slice" second="kubepods-burstable.slice" third="kubepods-burstable-pod${of.replaceAll('-', '_')}.slice"`
  );
}

const endpoints = createEndpointFinder(
  cluster({
    pods: [
      pod({ name: 'cart-0', uid, addresses: ['10.244.1.22'] }),
      pod({ name: 'db-0', uid: 'uid-db-0', addresses: ['10.244.1.30'] }),
      pod({ name: 'db-1', uid: 'uid-db-1', addresses: ['10.244.1.31'] }),
    ],
    nodes: [node({ addresses: ['192.168.50.12'] })],
    services: [service({ name: 'db', addresses: ['10.96.0.7'] })],
  }),
);

const answer = (outcome: PolicyAnswer['verdict']['outcome'], text = ''): PolicyAnswer => ({
  verdict: { outcome, text, act: '', policy: undefined, isOwn: true },
  facts: {
    verdict: outcome === 'denies' ? 'denied' : 'admitted',
    direction: 'egress',
    decidedBy: [text],
    count: 1,
    rule: undefined,
    nearest: undefined,
  },
});

const peerOf = ({ details }: Finding): string => (details as FlowDetails).peer.address;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function rig(
  judge: Partial<ConnectionJudge> = {},
  {
    isSynced = true,
    hasKernelDrops,
    isLookedUp = () => false,
  }: { isSynced?: boolean; hasKernelDrops?: boolean; isLookedUp?: () => boolean } = {},
) {
  const time = fakeTime(nine);
  const table = createSeriesTable({ limits: { perObject: 1000, total: 1000 } });
  const statistics = createStatistics();
  const lists = { isSynced };
  const shown: Drop[] = [];
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics,
    counts: () => ({ table, incidents: nodeIncidents(table.count) }),
    node: 'node-a',
    includeNoise: false,
    packets: { drop: (drop) => void shown.push(drop) },
    ...(hasKernelDrops !== undefined && { hasKernelDrops }),
    judge: { judge: () => answer('denies'), targetsOf: () => [], isPublished: () => false, ...judge },
    lookups: {
      queue: createLookupQueue(10),
      remote: { startLookups: isLookedUp },
      isSynced: () => lists.isSynced,
      now: time.now,
      schedule: time.schedule,
    },
  });
  return {
    lists,
    statistics,
    shown,
    fail: (connection?: Connection): void =>
      pipeline.take(line({ text: failureLine(connection), time: time.now(), program: 'kernel-drops' }), 'kernel'),
    read: (text: string, program?: string): void =>
      pipeline.take(line({ text, time: time.now(), ...(program !== undefined && { program }) }), 'kernel'),
    stop: pipeline.stop,
    series: () => stateOf(table).series,
    /** Waits so long, and until all that is due is judged. */
    async wait(this: void, duration = 4000): Promise<void> {
      for (let waited = 0; waited < duration; waited += 250) {
        time.advance(250);
        await settled();
      }
    },
    counted: (): string[] =>
      stateOf(table).series.map(({ finding, count }) => {
        const { peer, port } = finding.details as FlowDetails;
        return `${count} ${finding.regarding.name} > ${peer.address}:${port}`;
      }),
  };
}

const logLine = (sourcePort: number, from = '10.244.1.22'): string =>
  `calico-drop: IN=va OUT=vb SRC=${from} DST=10.244.1.31 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=${sourcePort} DPT=5432 WINDOW=64240 RES=0x00 SYN URGP=0 `;

test('the line names the Pod by its cgroup, and the connection', () => {
  expect(parse(failureLine(), createPrefixTable(), 'kernel', 'kernel-drops')).toMatchObject({
    kind: 'connect-failure',
    pod: uid,
    connection: { packet: { source: '10.244.1.22', destination: '10.244.1.30', destinationPort: 5432 } },
  });
});

test('connections that policies deny count for their sender, and for nobody else', async () => {
  const { fail, wait, counted, statistics } = rig();
  for (const sourcePort of [40_000, 40_001, 40_002]) fail({ sourcePort });
  expect(counted()).toEqual([]);
  await wait();
  expect(counted()).toEqual(['3 cart-0 > 10.244.1.30:5432']);
  expect(statistics.failures).toMatchObject({ denied: 3, unproven: 0 });
  expect(statistics.verdicts.dropped).toBe(3);
});

test('a connection that policies admit, or of which they are not known, is a number and no drop', async () => {
  const { fail, wait, counted, statistics } = rig({ judge: () => answer('admits') });
  fail();
  await wait();
  expect(counted()).toEqual([]);
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
  expect(statistics.verdicts.dropped).toBe(0);
});

test.each([
  ["another Pod's address", { from: '10.244.1.31' }],
  ['an address that no Pod has', { from: '10.244.1.99' }],
  ["a Node's address", { from: '192.168.50.12' }],
  ['an address of a Pod that is not the one of the cgroup', { of: '00000000-0000-0000-0000-000000000000' }],
])('with %s it is nobody’s', async (_, connection) => {
  const { fail, wait, counted, statistics } = rig();
  fail(connection);
  await wait();
  expect(counted()).toEqual([]);
  expect(statistics.failures).toMatchObject({ denied: 0, foreign: 1 });
});

test('policies are read before they are asked', async () => {
  let isRead = false;
  const { fail, wait, counted } = rig({
    async prepare() {
      await settled();
      isRead = true;
    },
    judge: () => (isRead ? answer('denies') : undefined),
  });
  fail();
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5432']);
});

test('what the judge found goes with the finding, the newest for the Event and each for its row', async () => {
  const answers = [answer('denies', 'before'), answer('denies', 'after')];
  const { fail, wait, series, shown } = rig({ judge: () => answers.shift() });
  fail();
  await wait();
  fail();
  await wait();
  expect(series().map(({ finding, count }) => [count, foundAnswer(finding)?.verdict.text])).toEqual([[2, 'after']]);
  expect(shown.map(({ meaning }) => meaning.findings.map((each) => foundAnswer(each)?.facts.decidedBy))).toEqual([
    [['before']],
    [['after']],
  ]);
});

test('behind a Service, policies must deny each ready endpoint', async () => {
  const targets = [
    { address: '10.244.1.30', port: 5433 },
    { address: '10.244.1.31', port: 5433 },
  ];
  const denied = new Set(['10.244.1.30']);
  const { fail, wait, counted, statistics } = rig({
    targetsOf: ({ name }, to) => (name === 'db' && to.address === '10.96.0.7' && to.port === 5432 ? targets : []),
    judge: (finding) => answer(denied.has(peerOf(finding)) ? 'denies' : 'admits'),
  });
  fail({ to: '10.96.0.7' });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
  denied.add('10.244.1.31');
  fail({ to: '10.96.0.7' });
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5433']);
});

test.each([
  ['a Service without a ready endpoint', { to: '10.96.0.7' }],
  ['a port of a Node, which may lead to any Pod', { to: '192.168.50.12', port: 30_080 }],
  ['the address of a load balancer, which may, too', { to: '198.51.100.7', port: 443 }],
])('nothing is known of a connection to %s', async (_, connection) => {
  const { fail, wait, statistics } = rig({ isPublished: (address) => address === '198.51.100.7' });
  fail(connection);
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 1 });
});

test('a connection of which a LOG line tells does not count again, although its address was translated', async () => {
  const { fail, read, wait, counted, statistics } = rig({ targetsOf: () => [{ address: '10.244.1.31', port: 5432 }] });
  read(logLine(40_000));
  await wait(100_000);
  fail({ to: '10.96.0.7', sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
  expect(counted().filter((each) => each.includes('cart-0'))).toEqual(['1 cart-0 > 10.244.1.31:5432']);
});

test('a LOG line that comes later tells of it, too', async () => {
  const { fail, read, wait, statistics } = rig();
  fail({ sourcePort: 40_000 });
  await wait(1000);
  read(logLine(40_000));
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
});

test('a LOG line of another connection, or an old one, tells nothing of it', async () => {
  const { fail, read, wait, statistics } = rig();
  read(logLine(40_001));
  read(logLine(40_002));
  fail({ sourcePort: 40_000 });
  await wait(200_000);
  fail({ sourcePort: 40_002 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 2, told: 0 });
});

test.each([
  ['another Pod', () => '10.244.1.30'],
  ['addresses outside the cluster', (number: number) => `203.0.${(number >> 8) & 255}.${number & 255}`],
])('drops of %s, however many, do not make forgotten what a LOG line told of it', async (_, senderOf) => {
  const { fail, read, wait, statistics } = rig();
  read(logLine(40_000));
  for (let number = 0; number < 20_000; number++) read(logLine(10_000 + number, senderOf(number)));
  fail({ sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 0, told: 1 });
});

test('without the source kernel-drops, LOG lines are remembered from the first connection on', async () => {
  const { fail, read, wait, statistics } = rig({}, { hasKernelDrops: false });
  read(logLine(40_000));
  fail({ sourcePort: 40_000 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, told: 0 });
  read(logLine(40_001));
  fail({ sourcePort: 40_001 });
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, told: 1 });
});

test.each([
  ['in a while', 100_000, { denied: 3, unproven: 0 }],
  ['never', Infinity, { denied: 0, unproven: 3 }],
])('policies that are read %s: the connection is judged again', async (_, after, expected) => {
  let waited = 0;
  const { fail, wait, statistics } = rig({ judge: () => (waited >= after ? answer('denies') : undefined) });
  fail();
  fail();
  await wait(4000);
  fail();
  for (; waited < 150_000; waited += 1000) await wait(1000);
  expect(statistics.failures).toMatchObject(expected);
});

test('while the owner of an address is looked up, the connection is not judged', async () => {
  let isLookedUp = true;
  const judged = (): PolicyAnswer => answer(isLookedUp ? 'admits' : 'denies');
  const { fail, wait, statistics } = rig({ judge: judged }, { isLookedUp: () => isLookedUp });
  fail();
  await wait(20_000);
  expect(statistics.failures).toMatchObject({ denied: 0, unproven: 0 });
  isLookedUp = false;
  await wait();
  expect(statistics.failures).toMatchObject({ denied: 1, unproven: 0 });
});

test('until the cluster is listed, it waits', async () => {
  const { fail, wait, lists, counted } = rig({}, { isSynced: false });
  fail();
  await wait(10_000);
  expect(counted()).toEqual([]);
  lists.isSynced = true;
  await wait();
  expect(counted()).toEqual(['1 cart-0 > 10.244.1.30:5432']);
});

test('a Pod that tries thousands of ports takes a limited room', async () => {
  const { fail, wait, statistics } = rig();
  for (let port = 1; port <= 1000; port++) fail({ port });
  expect(statistics.failures.overflowed).toBe(872);
  await wait();
  expect(statistics.failures.denied).toBe(128);
  fail();
  await wait();
  expect(statistics.failures.denied).toBe(129);
});

test('after a stop, nothing is judged', async () => {
  const { fail, wait, stop, statistics } = rig();
  fail();
  stop();
  await wait();
  expect(statistics.failures.denied).toBe(0);
});
