import { connectFailure } from '../../../src/base/model/packet.ts';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Suppressed } from '../../../src/base/model/observation.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowLength, windowOf } from '../../../src/count/series/times.ts';
import { beginAll, publish } from './writing.ts';
import {
  externalEnd,
  finding,
  flow,
  incident,
  incidentDetails,
  nine,
  podEnd,
  podRef,
  workerEnd,
} from '../../builders.ts';
import { runs } from '../../runs.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;

/** A drop at `port`; the port alone makes the identity. */
function drop(port: number, given: Partial<Finding> = {}): Finding {
  return finding({ identity: `drop ${port}`, details: flow({ port }), ...given });
}

/** Writes what is due at `now`; returns how many packets each write published. */
function write(table: SeriesTable, now: number): number[] {
  return beginAll(table, now).map((series) => {
    publish(table, series, now);
    return series.count;
  });
}

/** The start of a window of the Pod that the tests use, so that each test has an hour ahead. */
const start = windowOf(nine, podRef().uid).end;
const at = (seconds: number): number => start + seconds * second;

/** The only series of a table. */
function only(table: SeriesTable): Series {
  const [series, ...more] = table.due(Infinity);
  expect(more).toEqual([]);
  return series as Series;
}

function scan(table: SeriesTable, ports: number, time = start): void {
  for (let port = 1; port <= ports; port++) {
    const peer = externalEnd({ address: `203.0.113.${port}` });
    table.count(drop(port, { details: flow({ port, peer }) }), time);
  }
}

const kinds = (table: SeriesTable): string[] => table.due(Infinity).map(({ finding: { details } }) => details.kind);

const dropFrom = (port: number, address: string, given = {}): Finding =>
  drop(port, {
    identity: `${address} ${port}`,
    related: podRef('x'),
    details: flow({ port, peer: externalEnd({ address }), ...given }),
  });

const echo = { port: undefined, protocol: 'ICMP' };

const report = (affects: Suppressed['affects']): Suppressed => ({ kind: 'suppressed', by: 'x', count: 5, affects });

/** Identities of the series that are marked as having lost lines. */
const marked = (table: SeriesTable): string[] =>
  table
    .due(Infinity)
    .filter(({ suppressed }) => suppressed)
    .map(({ finding: { identity } }) => identity)
    .toSorted();

/** The seconds from `start` at which the series is written, if a packet comes at each of the seconds `packets`. */
function writes(packets: number[]): number[] {
  const table = createSeriesTable();
  const written: number[] = [];
  const until = (now: number): void => {
    for (let due = table.nextDue(); due <= now; due = table.nextDue()) {
      if (write(table, due).length > 0) written.push((due - start) / second);
    }
  };
  for (const packet of packets) {
    until(start + packet * second);
    table.count(drop(1), start + packet * second);
  }
  until(start + 10_000_000 * second);
  return written;
}

test('pauses between writes grow while packets come', () => {
  const everySecond = Array.from({ length: 3000 }, (_, index) => index);
  // The last write comes a minute after the last packet.
  expect(writes(everySecond)).toEqual([1, 31, 91, 211, 451, 931, 1831, 2731, 2999 + 60]);
});

test.each([
  ['is silent when none come', [0, 0.5], [1]],
  ['publishes a last packet after its wait', [0, 2], [1, 31]],
  ['publishes a packet after a long pause soon', [0, 2, 1000], [1, 31, 1001]],
  ['begins again in the next window', [0, 2, 3600, 3602], [1, 31, 3601, 3631]],
])('the schedule of a series: %s', (_, packets, expected) => {
  expect(writes(packets)).toEqual(expected);
});

test('a series is due when its wait is over, and not before', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  expect(table.nextDue()).toBe(start + second);
  expect(table.due(start + second - 1)).toEqual([]);
  expect(table.nextDue()).toBe(start + second);
  expect(write(table, start + second)).toEqual([1]);
  expect(table.nextDue()).toBe(Infinity);
});

test('new series come before updates, incidents before drops, then the one that has waited longest', () => {
  const table = createSeriesTable();
  for (const known of [drop(1), incident({ identity: 'known incident' })]) table.count(known, at(0));
  write(table, at(1));
  table.count(incident({ identity: 'known incident' }), at(2));
  table.count(drop(1), at(2));
  table.count(drop(3), at(50));
  table.count(drop(2), at(51));
  table.count(incident({ identity: 'new incident' }), at(52));
  expect(table.due(at(60)).map(({ finding: { identity } }) => identity)).toEqual([
    'new incident',
    'drop 3',
    'drop 2',
    'known incident',
    'drop 1',
  ]);
});

test('after an outage of hours, new problems come before old ones, and those before updates', () => {
  const table = createSeriesTable();
  table.count(drop(1), at(0));
  write(table, at(1));
  // From here on the API server does not answer.
  table.count(drop(1), at(2));
  table.count(drop(2), at(3));
  const later = start + 3 * windowLength;
  table.count(drop(3), later);
  expect(table.due(later + minute).map(({ finding: { identity } }) => identity)).toEqual([
    'drop 3',
    'drop 2',
    'drop 1',
  ]);
});

test('the series that has waited longest stays first, however often it is postponed', () => {
  const table = createSeriesTable();
  table.count(drop(9), start);
  table.count(drop(1, { regarding: podRef('web-1') }), start + 10);
  for (const wait of [1, 2, 3]) {
    expect(table.next(start + wait * second + 10)?.series.finding.identity).toBe('drop 9');
    table.hold(start + (wait + 1) * second + 10);
    expect(table.nextDue()).toBe(start + (wait + 1) * second + 10);
  }
});

test('a series that becomes due while others are postponed is not postponed with them', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  table.count(incident(), start + second);
  expect(table.next(start + second)?.series.finding.identity).toBe('drop 1');
  table.hold(start + minute);
  expect(table.nextDue()).toBe(start + 2 * second);
  expect(table.next(start + 2 * second)?.series.finding.identity).toBe('incident');
});

test('a series counts weights, and keeps the first and last time whatever their order', () => {
  const table = createSeriesTable();
  table.count(drop(1), start + 5000);
  table.count(drop(1), start + 9000, 10);
  table.count(drop(1), start + 2000);
  expect(only(table)).toMatchObject({ count: 12, first: start + 2000, last: start + 9000 });
});

test('a series remembers the Pods of a workload, each once whatever its addresses', () => {
  const table = createSeriesTable();
  for (const peer of [workerEnd(1), workerEnd(2), workerEnd(1, 'fd00:65:2::1')])
    table.count(finding({ details: flow({ peer }) }), start);
  expect([...only(table).peers.seen]).toEqual(['worker-1', 'worker-2']);
});

test.each([
  ['a Pod of its own', podEnd()],
  ['a stranger', externalEnd()],
])('a series has no other peers beside %s', (_, peer) => {
  const table = createSeriesTable();
  table.count(finding({ details: flow({ peer }) }), start);
  expect(only(table).peers.seen.length).toBe(0);
});

test('a series belongs to one window; the window before stays until all of it is published', () => {
  const table = createSeriesTable();
  table.count(drop(1), start + windowLength - 1);
  table.count(drop(1), start + windowLength);
  const [former, latter] = table.due(Infinity).toSorted((a, b) => a.window - b.window);
  expect(former).toMatchObject({ count: 1, windowEnd: start + windowLength });
  expect(latter).toMatchObject({ count: 1, window: (former?.window ?? 0) + 1, windowEnd: start + 2 * windowLength });
});

test('a series continues for its whole window, however long ago it was published', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  write(table, start + second);
  table.count(drop(2), start + 20 * minute);
  table.count(drop(1), start + 40 * minute);
  expect(table.due(Infinity).map(({ count }) => count)).toEqual([1, 2]);
});

test('a late packet does not open a finished window again, because its Event already has a count', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  write(table, start + second);
  // Long enough for series of past windows to be forgotten.
  table.count(drop(2), start + 3 * windowLength);
  table.count(drop(1), start + 10 * second);
  const late = table.due(Infinity).find(({ finding: { identity } }) => identity === 'drop 1');
  expect(late).toMatchObject({
    window: windowOf(start + 3 * windowLength, podRef().uid).number,
    count: 1,
    first: start + 10 * second,
  });
});

test('an object has eight series in a window, and one for all others', () => {
  const table = createSeriesTable();
  scan(table, 8);
  expect(kinds(table)).toEqual(Array.from({ length: 8 }, () => 'flow'));
  scan(table, 20);
  expect(kinds(table).toSorted()).toEqual([...Array.from({ length: 8 }, () => 'flow'), 'overflow']);
  expect(table.counts).toEqual({ uncounted: 0, overflowed: 12 });
});

test('a peer has three series; its other packets, apart from ports, are counted with the others', () => {
  const table = createSeriesTable();
  for (let type = 1; type <= 300; type++) table.count(dropFrom(type, '203.0.113.1', echo), start);
  expect(kinds(table).toSorted()).toEqual(['flow', 'flow', 'flow', 'overflow']);
  for (let type = 1; type <= 300; type++) table.count(dropFrom(type, '203.0.113.2', echo), start);
  table.count(dropFrom(5432, '203.0.113.3'), start);
  expect(kinds(table).filter((kind) => kind === 'flow')).toHaveLength(7);
  expect(table.counts).toEqual({ uncounted: 0, overflowed: 594 });
  table.count(dropFrom(1, '203.0.113.1'), start + windowLength);
  expect(kinds(table).filter((kind) => kind === 'flow')).toHaveLength(8);
});

test('the overflow names the peers and ports', () => {
  const table = createSeriesTable({ limits: { perObject: 1, total: 100 } });
  table.count(dropFrom(1, '203.0.113.1'), start);
  table.count(dropFrom(2, '203.0.113.2'), start, 5);
  table.count(dropFrom(3, '203.0.113.2', { protocol: 'UDP' }), start);
  table.count(dropFrom(4, '203.0.113.3', { port: undefined, protocol: 'ICMP' }), start);
  const overflow = table.due(Infinity).find(({ finding: { details } }) => details.kind === 'overflow');
  expect(overflow).toMatchObject({ count: 7, finding: { related: undefined, regarding: podRef() } });
  expect([...(overflow?.peers.seen ?? [])]).toEqual(['203.0.113.2', '203.0.113.3']);
  expect([...(overflow?.ports.seen ?? [])]).toEqual(['2/TCP', '3/UDP']);
  expect(table.counts.overflowed).toBe(7);
});

test('known series continue past the limit', () => {
  const table = createSeriesTable();
  scan(table, 9);
  table.count(drop(1), start);
  expect(table.due(Infinity).find(({ finding: { identity } }) => identity === 'drop 1')?.count).toBe(2);
});

test('the next window has room again', () => {
  const table = createSeriesTable();
  scan(table, 9);
  scan(table, 8, start + windowLength);
  expect(kinds(table).filter((kind) => kind === 'overflow')).toHaveLength(1);
});

test('another object has its own room', () => {
  const table = createSeriesTable();
  scan(table, 8);
  table.count(drop(1, { identity: 'other', regarding: podRef('web-1') }), start);
  expect(kinds(table)).not.toContain('overflow');
});

test('incidents are not held back', () => {
  const table = createSeriesTable({ limits: { perObject: 0, total: 100 } });
  table.count(incident(), start);
  expect(kinds(table)).toEqual(['incident']);
});

test('past the total, packets are only counted', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 2 } });
  table.count(drop(1), start);
  table.count(drop(2), start);
  table.count(drop(3), start, 7);
  table.count(drop(1), start);
  expect(table.counts.uncounted).toBe(7);
  expect(table.due(Infinity).map(({ count }) => count)).toEqual([2, 1]);
});

test('past the total, an object whose places are full still gets one Event about the others', () => {
  const table = createSeriesTable({ limits: { perObject: 1, total: 1 } });
  table.count(dropFrom(1, '203.0.113.1'), start);
  for (const port of [2, 3]) table.count(dropFrom(port, `203.0.113.${port}`), start, 5);
  expect([kinds(table), table.counts]).toEqual([['flow', 'overflow'], { uncounted: 0, overflowed: 10 }]);
});

test('a published series makes room when its window is over', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 1 } });
  table.count(drop(1), start + windowLength - minute);
  write(table, start + windowLength - second);
  table.count(drop(2), start + windowLength);
  expect(table.counts.uncounted).toBe(0);
});

/** A drop on a Pod of its own, by a peer of its own. */
function dropOnPod(number: number): Finding {
  const [name, address] = [`web-${number}`, `203.0.${number >> 8}.${number & 255}`];
  const details = flow({ port: 80, peer: externalEnd({ address }) });
  return drop(80, { identity: name, regarding: podRef(name), details });
}

test('past the total, a packet does not search all series, however many objects there are', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 5000 }, now: () => start });
  for (let pod = 0; pod < 5000; pod++) table.count(dropOnPod(pod), start);
  using looks = vi.spyOn(Map.prototype, 'values');
  for (let pod = 5000; pod < 6000; pod++) table.count(dropOnPod(pod), start);
  expect(table.counts.uncounted).toBe(1000);
  expect(looks.mock.calls.length).toBeLessThan(10);
});

test('the total applies across windows, however long nothing can be written', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 3 } });
  for (let hour = 0; hour < 5; hour++) for (const port of [1, 2]) table.count(drop(port), start + hour * windowLength);
  expect(table.due(Infinity).length).toBeLessThanOrEqual(3);
});

const countedFindings = [
  drop(1),
  finding({ identity: 'martian', details: flow({ martian: true }) }),
  finding({ identity: 'connection', details: flow({ logger: connectFailure }) }),
  ...(['kernel', 'felix', 'kube-proxy'] as const).map((failing) =>
    // The incident opened long after the time from which it counts.
    incident({ identity: failing, details: incidentDetails({ failing, since: start - 5 * second }) }),
  ),
];

test('in a flood in which each line reports a loss, a report does not search all series', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 5000 }, now: () => start });
  let looks = 0;
  for (let pod = 0; pod < 5000; pod++) {
    const one = dropOnPod(pod);
    table.count(one, start);
    Object.defineProperty(one, 'node', { get: () => (looks++, 'node-a') });
  }
  for (let line = 1; line <= 20_000; line++) table.suppress(report('everything'), 'node-a', start + line / 10);
  expect(looks).toBe(5000);
});

test('a series that was quiet at the last reports of losses is marked by the first one after its packet', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  for (const seconds of [20, 21]) table.suppress(report('everything'), 'node-a', at(seconds));
  expect(only(table).suppressed).toBe(false);
  table.count(drop(1), at(21.5));
  table.suppress(report('everything'), 'node-a', at(22));
  expect(only(table).suppressed).toBe(true);
});

test.each<[Suppressed['affects'], string[]]>([
  ['everything', ['connection', 'drop 1', 'felix', 'kernel', 'kube-proxy', 'martian']],
  ['kernel-warnings', ['kernel', 'martian']],
  ['connections', ['connection']],
  ['felix', ['felix']],
  ['nothing', []],
])('a loss that affects %s marks the series whose lines may be missing, before and after it', (affects, expected) => {
  const before = createSeriesTable();
  for (const each of countedFindings) before.count(each, start);
  before.suppress(report(affects), 'node-a', start + 5 * second);
  expect(marked(before)).toEqual(expected);

  const after = createSeriesTable();
  after.suppress(report(affects), 'node-a', start);
  for (const each of countedFindings) after.count(each, start + 5 * second);
  expect(marked(after)).toEqual(expected);
});

test('a loss of lines that an incident counts marks the incident, even if it opens long after', () => {
  const table = createSeriesTable();
  table.suppress(report('everything'), 'node-a', start);
  for (const each of countedFindings) table.count(each, start + 60 * second);
  expect(marked(table)).toEqual(['felix', 'kernel', 'kube-proxy']);
});

test.each([
  ['another node', 'node-b', 5 * second],
  ['a time long before', 'node-a', 11 * second],
])('a loss does not mark a series of %s', (_, node, later) => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  table.suppress(report('everything'), node, start + later);
  expect(marked(table)).toEqual([]);
});

test('a loss does not mark a series that begins much later', () => {
  const table = createSeriesTable();
  table.suppress(report('everything'), 'node-a', start);
  table.count(drop(1), start + 11 * second);
  expect(marked(table)).toEqual([]);
});

test('a count published as exact is corrected', () => {
  const table = createSeriesTable();
  table.count(drop(1), start);
  write(table, start + second);
  table.suppress(report('everything'), 'node-a', start + 2 * second);
  expect(marked(table)).toEqual(['drop 1']);
  write(table, start + minute);
  table.suppress(report('everything'), 'node-a', start + 3 * second);
  expect(table.due(Infinity)).toEqual([]);
});

test('objects without a packet for hours are forgotten, also on disk', () => {
  const table = createSeriesTable();
  const objects = (): number => [...table.entries()].filter(([, key]) => key.startsWith('object ')).length;
  for (let pod = 0; pod < 8; pod++) table.count(drop(pod, { regarding: podRef(`web-${pod}`) }), start);
  write(table, start + second);
  expect(objects()).toBe(8);
  table.count(drop(1), start + 3 * windowLength);
  expect(objects()).toBe(1);
});

test('no packet is lost or counted twice, whatever the order', () => {
  const packets = fc.array(
    fc.record({
      port: fc.integer({ min: 1, max: 14 }),
      object: fc.constantFrom('web-0', 'web-1'),
      time: fc.integer({ min: 0, max: 5 * 3600 }).map((value) => start + value * second),
      weight: fc.integer({ min: 1, max: 4 }),
      written: fc.boolean(),
    }),
    { maxLength: 80 },
  );
  forAll(
    [packets, fc.record({ perObject: fc.integer({ min: 1, max: 8 }), total: fc.integer({ min: 1, max: 30 }) })],
    {
      numRuns: runs(2000),
    },
    (list, limits) => {
      const table = createSeriesTable({ limits });
      const all = new Set<Series>();
      let counted = 0;
      for (const { port, object, time, weight, written } of list) {
        table.count(drop(port, { identity: `${object} ${port}`, regarding: podRef(object) }), time, weight);
        counted += weight;
        for (const series of table.due(Infinity)) all.add(series);
        if (written) write(table, time + minute);
      }
      // Events that no longer count anything were withdrawn for an Event of many ports.
      const events = [...all].filter(({ due, published }) => due !== null || published.writes > 0);
      const sum = events.reduce((total, { count }) => total + count, 0);
      expect(sum + table.counts.uncounted).toBe(counted);
    },
  );
});
