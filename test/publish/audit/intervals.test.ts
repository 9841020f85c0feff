import { connectFailure } from '../../../src/base/model/packet.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { createIntervals, type IntervalsOptions } from '../../../src/publish/audit/intervals.ts';
import type { OpenFlow } from '../../../src/publish/audit/open-flows.ts';
import type { AuditState } from '../../../src/publish/audit/audit.ts';
import type { PolicyFacts } from '../../../src/base/model/policy-answer.ts';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import {
  ends,
  externalEnd,
  finding,
  nine,
  nodeEnd,
  observation,
  packet,
  podEnd,
  podRef,
  workerEnd,
} from '../../builders.ts';
import { closeAll } from './made-rows.ts';
import { forAll } from '../../for-all.ts';

const minute = 60_000;

function open(given: Partial<IntervalsOptions> = {}) {
  let now = nine;
  const intervals = createIntervals({
    interval: minute,
    cluster: 'prod',
    now: () => now,
    toWall: (time) => time,
    ...given,
  });
  return {
    intervals,
    /** Counts a packet with these findings, `seconds` after nine. */
    drop: (seconds: number, found: Ends = ends(), weight = 1, meaning: object = {}, port = 5432): void => {
      now = Math.max(now, nine + seconds * 1000);
      const packetOf = () => ({
        observation: observation({ packet: packet({ destinationPort: port, sourcePort: 50_000 }) }),
        ends: found,
        node: 'node-a',
        noise: undefined,
        findings: [finding()],
      });
      intervals.count(meaning, packetOf, weight, nine + seconds * 1000);
    },
    /**
     * Closes what is over at this many seconds after nine; twice, because packets counted since the last look stay
     * open.
     */
    closeAt: (seconds: number): FlowRecord[] => {
      now = nine + seconds * 1000;
      return JSON.parse(JSON.stringify(closeAll(intervals, 2))) as FlowRecord[];
    },
  };
}

const dropped = () => ({ observation: observation(), ends: web(), node: 'node-a', noise: undefined });

const withoutDestination = (fields: FlowRecord): FlowRecord => {
  const { 'destination.k8s.namespace.name': _, ...rest } = fields;
  return { ...rest, 'destination.kind': 'redacted' };
};

const fromAddress = (index: number) =>
  ends({
    source: externalEnd({ address: `203.0.113.${index}`, identity: `203.0.113.${index}` }),
    destination: podEnd(),
  });

const web = () => ends({ source: workerEnd(1), destination: podEnd() });

const fromWorker = (labels: string, evidence: 'pod-address' | 'interface') =>
  ends({ source: { ...workerEnd(1), labels, evidence }, destination: podEnd() });

test('a flow in one interval is one record with all its packets', () => {
  const { drop, closeAt } = open();
  drop(1, web());
  drop(30, web(), 4);
  drop(59, web());
  expect(closeAt(64.999)).toEqual([]);
  expect(closeAt(65)).toMatchObject([
    {
      '@timestamp': '2026-11-21T09:01:00.000Z',
      'event.start': '2026-11-21T09:00:01.000Z',
      'event.end': '2026-11-21T09:00:59.000Z',
      'network.packets': 6,
      'source.k8s.owner.name': 'worker',
      'source.k8s.pod.name': 'worker-1',
      'destination.port': 5432,
    },
  ]);
});

test('a flow of several Pods of one workload names none of them, and counts their addresses', () => {
  const { drop, closeAt } = open();
  for (const number of [1, 2, 3, 2]) drop(1, ends({ source: workerEnd(number), destination: podEnd() }));
  const [record, ...more] = closeAt(66);
  expect(more).toEqual([]);
  expect(record).toMatchObject({ 'network.packets': 4, 'source.addresses': 3, 'source.k8s.owner.name': 'worker' });
  expect(record).not.toHaveProperty(['source.k8s.pod.name']);
  expect(record).not.toHaveProperty(['destination.addresses']);
});

test('each further address of a workload is kept on disk', () => {
  const { intervals, drop } = open();
  for (const number of [1, 2]) drop(1, ends({ source: workerEnd(number), destination: podEnd() }));
  intervals.takeChanges();
  drop(1, ends({ source: workerEnd(3), destination: podEnd() }));
  const others = { source: [workerEnd(2).address, workerEnd(3).address] };
  expect(intervals.takeChanges()).toMatchObject([['set', expect.any(String), { others }]]);
});

test('facts that turn out to differ between Pods of one address are removed from the disk too', () => {
  const { intervals, drop } = open();
  drop(1, fromWorker('version=1', 'pod-address'));
  intervals.takeChanges();
  drop(1, fromWorker('version=2', 'interface'));
  const [[, , kept] = [], ...more] = intervals.takeChanges();
  expect(more).toEqual([]);
  const { fields } = kept as OpenFlow;
  expect(fields).toMatchObject({ 'source.k8s.pod.name': 'worker-1' });
  for (const name of ['source.k8s.pod.labels', 'source.evidence']) expect(fields).not.toHaveProperty([name]);
});

test("a flow of one workload's Pods with different labels has none; with equal labels, it has those", () => {
  const { drop, closeAt } = open();
  for (const number of [1, 2])
    drop(
      1,
      ends({
        source: { ...workerEnd(number), labels: `version=${number}` },
        destination: podEnd({ labels: 'app=web' }),
      }),
    );
  const [record] = closeAt(66);
  expect(record).toMatchObject({ 'network.packets': 2, 'destination.k8s.pod.labels': 'app=web' });
  expect(record).not.toHaveProperty(['source.k8s.pod.labels']);
});

test('a flow in one interval is looked up once for each interval of a repeated meaning', () => {
  const { intervals } = open();
  const meaning = {};
  let asked = 0;
  const packetOf = () => (asked++, dropped());
  for (const seconds of [1, 2, 59]) intervals.count(meaning, packetOf, 1, nine + seconds * 1000);
  expect(asked).toBe(1);
});

test('lines that arrive after their record make another record with another id', () => {
  const { drop, closeAt } = open();
  const meaning = {};
  drop(10, web(), 1, meaning);
  const before = closeAt(66);
  drop(11, web(), 2, meaning);
  const after = closeAt(67);
  expect([before, after].map(([record]) => record?.['network.packets'])).toEqual([1, 2]);
  expect(before[0]?.['event.id']).not.toBe(after[0]?.['event.id']);
  expect(before[0]?.['@timestamp']).toBe(after[0]?.['@timestamp']);
});

test('flows of an interval are closed in steps of the requested size, and later if packets came in between', () => {
  let now = nine;
  const { intervals } = open({ now: () => now });
  for (let index = 0; index < 5; index++)
    intervals.count({}, () => ({ ...dropped(), ends: fromAddress(index) }), 1, nine + 1000);
  now = nine + 65_000;
  const steps = Array.from({ length: 5 }, () => {
    const { records, isDone } = intervals.close(2);
    return [isDone, records.length];
  });
  expect(steps).toEqual([
    [true, 0],
    [false, 2],
    [false, 2],
    [true, 1],
    [true, 0],
  ]);
  expect(intervals.closings).toBe(3);
});

test('every change gives the state a new number', () => {
  const { intervals, drop, closeAt } = open();
  const revisions = [intervals.revision];
  const note = (): void => void revisions.push(intervals.revision);
  drop(1);
  note();
  intervals.lost({ kind: 'suppressed', by: 'kmsg', count: 7, affects: 'everything' }, 'node-a', nine + 2000);
  note();
  closeAt(66);
  note();
  drop(67);
  note();
  expect(new Set(revisions).size).toBe(revisions.length);
});

test('a flow that continues in the next interval is another record with another id', () => {
  const { drop, closeAt } = open();
  const meaning = {};
  drop(59, web(), 1, meaning);
  drop(61, web(), 1, meaning);
  const records = [...closeAt(66), ...closeAt(126)];
  expect(records.map((record) => record['network.packets'])).toEqual([1, 1]);
  expect(new Set(records.map((record) => record['event.id'])).size).toBe(2);
});

test('a time far ahead of the clock does not keep a flow open', () => {
  const { intervals, closeAt } = open();
  intervals.count({}, dropped, 1, nine + 86_400_000 * 365);
  expect(closeAt(3 * 60)).toHaveLength(1);
});

const suppressed = { kind: 'suppressed', by: 'kmsg', count: 7, affects: 'everything' } as const;

test('a loss of the log is its own record, and all counts of that interval are lower bounds', () => {
  const { intervals, drop, closeAt } = open();
  drop(1, web());
  intervals.lost(suppressed, 'node-a', nine + 2000);
  intervals.lost({ ...suppressed, count: undefined }, 'node-a', nine + 3000);
  drop(30, web(), 1, {}, 80);
  drop(61, web());
  expect(closeAt(130)).toMatchObject([
    { 'event.name': 'network.flow.drop', 'network.packets_at_least': true },
    { 'event.name': 'network.flow.drop', 'network.packets_at_least': true },
    { 'event.name': 'network.flow.drop', '@timestamp': '2026-11-21T09:02:00.000Z' },
    { 'event.name': 'network.flow.gap', 'event.action': 'lost', 'event.reason': 'kmsg', 'log.records_lost': 7 },
  ]);
});

test.each(['nothing', 'felix'] as const)('a loss that affects %s is not a record', (affects) => {
  const { intervals, closeAt } = open();
  intervals.lost({ ...suppressed, affects }, 'node-a', nine + 2000);
  expect([intervals.revision, closeAt(66)]).toEqual([0, []]);
});

test('a loss of kernel warnings makes only the counts of martians lower bounds', () => {
  const { intervals, drop, closeAt } = open();
  const martian = { kind: 'martian', impossible: 'source', source: '10.65.2.9', destination: '10.65.1.4' } as const;
  drop(1, web());
  intervals.count({}, () => ({ ...dropped(), observation: { ...martian, device: 'eth0' } }), 1, nine + 1000);
  intervals.lost({ ...suppressed, affects: 'kernel-warnings' }, 'node-a', nine + 2000);
  const isAtLeast = closeAt(66).map((record) => record['network.packets_at_least']);
  expect(isAtLeast).toEqual([undefined, true, undefined]);
});

test.each([
  [['connections'], [undefined, true]],
  [
    ['kernel-warnings', 'connections'],
    [true, true],
  ],
] as const)('losses of %o make only the counts lower bounds whose lines may be missing', (losses, expected) => {
  const { intervals, drop, closeAt } = open();
  drop(1, web());
  const connection = { ...observation(), logger: connectFailure };
  intervals.count({}, () => ({ ...dropped(), observation: connection }), 1, nine + 1000);
  for (const affects of losses) intervals.lost({ ...suppressed, affects }, 'node-a', nine + 2000);
  const isAtLeast = closeAt(66).map((record) => record['network.packets_at_least']);
  expect(isAtLeast.slice(0, 2)).toEqual(expected);
});

const facts: PolicyFacts = {
  verdict: 'denied',
  direction: 'ingress',
  decidedBy: ['NetworkPolicy shop/default-deny', 'NetworkPolicy shop/web'],
  count: 2,
  rule: undefined,
  nearest: 'NetworkPolicy shop/web ingress[0]',
};
const noted: Partial<IntervalsOptions> = { policiesOn: () => facts };
test("the verdict of policies is in a flow's record, and is asked for once, with its first packet, when its interval is closed", () => {
  const asked: number[] = [];
  const { drop, closeAt } = open({
    policiesOn: (findings, first) => {
      asked.push(first - nine);
      return findings.length === 1 ? facts : undefined;
    },
  });
  drop(1, web());
  drop(30, web());
  expect(asked).toEqual([]);
  expect(closeAt(66)).toMatchObject([
    {
      'policy.verdict': 'denied',
      'policy.verdict_evidence': 'evaluated',
      'policy.direction': 'ingress',
      'policy.decided_by': 'NetworkPolicy shop/default-deny,NetworkPolicy shop/web',
      'policy.nearest': 'NetworkPolicy shop/web ingress[0]',
    },
  ]);
  expect(asked).toEqual([1000]);
});

test('an unknown verdict of policies is left out, as is that of a flow from an earlier run; the id is the same', () => {
  const [without, with_] = [{ policiesOn: () => undefined }, noted].map((given) => {
    const { drop, closeAt } = open(given);
    drop(1, web());
    return closeAt(66)[0] as FlowRecord;
  });
  expect(without).not.toHaveProperty(['policy.verdict']);
  expect(with_?.['event.id']).toBe(without?.['event.id']);

  const { intervals, drop } = open(noted);
  drop(1, web());
  const flows = [...intervals.entries()].map(([, , flow]) => flow as OpenFlow);
  const [restored] = open({ ...noted, restored: { flows, closings: 0 } }).closeAt(66);
  expect(restored).toMatchObject({ 'network.packets': 1, 'event.id': without?.['event.id'] });
  expect(restored).not.toHaveProperty(['policy.verdict']);
});

test('a record that joins several flows has no verdict of policies', () => {
  const { drop, closeAt } = open({ ...noted, limits: { total: 100, perSubject: 3, joined: 100 } });
  for (let index = 0; index < 10; index++) drop(1, fromAddress(index));
  const records = closeAt(66);
  const joined = records.filter((record) => record['source.kind'] === 'other');
  expect([records.length, joined.length]).toEqual([4, 1]);
  expect(joined[0]).not.toHaveProperty(['policy.verdict']);
});

test("the verdict of policies names no policy of a redacted end's Namespace", () => {
  const { drop, closeAt } = open({ ...noted, redact: withoutDestination });
  drop(1, web());
  const [record] = closeAt(66);
  expect(record).toMatchObject({ 'policy.verdict': 'denied', 'policy.direction': 'ingress' });
  expect(JSON.stringify(record)).not.toMatch(/shop|default-deny/);
});

test.each([
  [8, 240, 3],
  [2, 479, 2],
  [2, 480, 1],
  [1, 979, 1],
  [1, 980, 0],
])(
  'a record of %i names with %i letters each has the first %i in 1,000 bytes, and their number',
  (count, letters, fitting) => {
    const decidedBy = Array.from({ length: count }, (_, index) => `NetworkPolicy shop/${'x'.repeat(letters)}${index}`);
    const { drop, closeAt } = open({ policiesOn: () => ({ ...facts, decidedBy, count }) });
    drop(1, web());
    const [record] = closeAt(66);
    expect(record?.['policy.decided_by']).toBe(decidedBy.slice(0, fitting).join(',') || undefined);
    expect(record?.['policy.decided_by_count']).toBe(fitting < count ? count : undefined);
  },
);

describe('past the limits, packets are counted and not lost', () => {
  const roomy = { total: 100, perSubject: 100, joined: 100 };

  test('further flows of one workload are joined, those of others are not', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, perSubject: 3 } });
    for (let index = 0; index < 10; index++) drop(1, fromAddress(index));
    drop(2, ends({ source: externalEnd(), destination: workerEnd(1) }));
    const records = closeAt(66);
    expect(records).toHaveLength(5);
    expect(records.find((record) => record['source.kind'] === 'other')).toMatchObject({
      'network.packets': 7,
      'destination.kind': 'Pod',
      'destination.k8s.pod.name': 'web-0',
    });
    expect(records.find((record) => record['destination.k8s.owner.name'] === 'worker')).toBeDefined();
  });

  test('further flows of two workloads are two records', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, perSubject: 3 } });
    for (const destination of [podEnd(), workerEnd(1)])
      for (let index = 0; index < 5; index++) drop(1, ends({ ...fromAddress(index), destination }));
    const joined = closeAt(66).filter((record) => record['source.kind'] === 'other');
    expect(joined.map((record) => record['network.packets'])).toEqual([2, 2]);
  });

  test('flows of a Pod that scans another one are joined, those of the scanned Pod are not', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, perSubject: 3 } });
    for (let port = 1; port <= 10; port++) drop(1, web(), 1, {}, port);
    drop(2, fromAddress(1));
    const records = closeAt(66);
    expect(records).toHaveLength(5);
    expect(records.find((record) => record['destination.kind'] === 'other')).toMatchObject({
      'network.packets': 7,
      'source.k8s.owner.name': 'worker',
    });
    expect(records.find((record) => record['source.address'] === '203.0.113.1')).toBeDefined();
  });

  test('flows of addresses without a Pod are one record that names neither end', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, perSubject: 3 } });
    for (let port = 1; port <= 10; port++)
      drop(1, ends({ source: externalEnd(), destination: nodeEnd() }), 1, {}, port);
    expect(closeAt(66).at(-1)).toMatchObject({
      'network.packets': 7,
      'source.kind': 'other',
      'destination.kind': 'other',
    });
  });

  test('a joined record of the node has no fact that only some of its packets have', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, total: 3 } });
    for (let index = 0; index < 10; index++) drop(1, fromAddress(index));
    const records = closeAt(66);
    expect(records.map((record) => record['network.packets'])).toEqual([1, 1, 1, 7]);
    expect(Object.keys(records.at(-1) ?? {}).filter((name) => /^(?:source|destination|log|policy)/.test(name))).toEqual(
      ['source.kind', 'destination.kind', 'destination.k8s.namespace.name'],
    );
  });

  test('a late namespace gets room from the flows of the largest one', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, total: 60 } });
    for (let index = 0; index < 100; index++) drop(1, fromAddress(index));
    for (let port = 1; port <= 100; port++) drop(2, ends({ source: workerEnd(1) }), 1, {}, port);
    const records = closeAt(66);
    expect(records.reduce((sum, record) => sum + (record['network.packets'] ?? 0), 0)).toBe(200);
    const ofBatch = records.filter((record) => record['source.k8s.namespace.name'] === 'batch');
    const ofShop = records.filter((record) => record['destination.k8s.namespace.name'] === 'shop');
    // 30 of each, and one for all others of the Namespace.
    expect([ofBatch.length, ofShop.length]).toEqual([31, 31]);
    expect(ofShop.map((record) => record['source.address'])).toContain('203.0.113.0');
    expect(ofShop.find((record) => record['source.kind'] === 'other')).toMatchObject({ 'network.packets': 70 });
  });

  test('past the limit of namespaces, one record counts all others', () => {
    const { drop, closeAt } = open({ limits: { ...roomy, total: 1, joined: 2 } });
    for (let index = 0; index < 6; index++) {
      const workload = { kind: 'Deployment', namespace: `space-${index}`, name: 'web' };
      const object = podRef('web-0', workload.namespace);
      drop(1, ends({ source: podEnd({ object, workload, identity: `Deployment/${workload.namespace}/web` }) }));
    }
    expect(
      closeAt(66).map((record) => [record['source.k8s.namespace.name'] ?? 'all', record['network.packets']]),
    ).toEqual([
      ['space-0', 1],
      ['space-1', 1],
      ['space-2', 1],
      ['all', 3],
    ]);
  });

  test('a gap is not joined', () => {
    const { intervals, drop, closeAt } = open({ limits: { total: 1, perSubject: 1, joined: 0 } });
    for (let index = 0; index < 3; index++) drop(1, fromAddress(index));
    intervals.lost({ kind: 'suppressed', by: 'kmsg', count: 7, affects: 'everything' }, 'node-a', nine + 2000);
    for (let port = 1; port < 4; port++) drop(1, web(), 1, {}, port);
    const gap = { 'event.name': 'network.flow.gap', 'event.reason': 'kmsg', 'log.records_lost': 7 };
    expect(closeAt(66).at(-1)).toMatchObject(gap);
  });
});

test('records with unique ids add up to the kept packets, however they are counted, closed and killed in between', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('drop' as const),
      seconds: fc.nat(200),
      end: fc.nat(5),
      weight: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({ kind: fc.constantFrom('close' as const, 'kill' as const, 'keep' as const) }),
  );
  forAll([fc.array(step, { maxLength: 60 })], {}, (steps) => {
    const disk = new Map<string, unknown>();
    const sent: FlowRecord[] = [];
    let counted = 0;
    let kept = 0;
    let unsent: FlowRecord[] = [];
    const limits = { total: 4, perSubject: 3, joined: 1 };
    let run = open({ limits });
    const keep = (): void => {
      const changes = JSON.parse(
        JSON.stringify([...run.intervals.takeChanges(), ['set', 'closings', run.intervals.closings]]),
      );
      for (const change of changes as StateChange[]) applyChange(change, disk);
      kept = counted;
      sent.push(...unsent.splice(0));
    };
    for (const each of steps) {
      if (each.kind === 'drop') {
        const source = each.end < 3 ? workerEnd(each.end) : externalEnd({ identity: `${each.end}` });
        run.drop(each.seconds, ends({ source, destination: podEnd() }), each.weight, {}, 80 + each.end);
        counted += each.weight;
      } else if (each.kind === 'close') unsent.push(...run.closeAt(400));
      else if (each.kind === 'keep') keep();
      else {
        const flows = [...disk]
          .filter(([key]) => key.startsWith('flow '))
          .map(([, flow]) => flow) as AuditState['flows'];
        const closings = (disk.get('closings') ?? 0) as number;
        run = open({ limits, restored: structuredClone({ flows, closings }) });
        unsent = [];
        counted = kept;
      }
    }
    unsent.push(...run.closeAt(400));
    keep();
    expect(sent.reduce((sum, record) => sum + (record['network.packets'] ?? 0), 0)).toBe(counted);
    expect(new Set(sent.map((record) => record['event.id'])).size).toBe(sent.length);
  });
});
