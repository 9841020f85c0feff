import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import { createRecorder, mostNodes, type Recorder, type WriteRequest } from '../../../src/publish/events/recorder.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowLength, windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, podRef } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
/** The start of a window of the first Pod that the tests use. */
const start = windowOf(Date.UTC(2026, 10, 21, 9), podRef().uid).end;

interface Recording {
  recorder: Recorder<SeriesTable>;
  writes: WriteRequest[];
  /** Counts as the pipeline does: due series are written first. */
  take: (finding: Finding, time: number, weight?: number) => void;
}

function record(): Recording {
  const writes: WriteRequest[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf: ({ finding: { identity } }) => identity,
    onWrite: (write) => writes.push(write),
  });
  const take: Recording['take'] = (each, time, weight) => {
    recorder.advance(each.node, time);
    recorder.series(each.node).count(each, time, weight);
  };
  return { recorder, writes, take };
}

/** A drop with a Pod and a peer of its own, so that no limit of one Pod or peer applies. */
const drop = (identity: string, given: Partial<Finding> = {}): Finding =>
  finding({ identity, regarding: podRef(identity), details: flow({ peer: externalEnd({ identity }) }), ...given });

const textsOf = (writes: WriteRequest[]): string[] =>
  writes.map(({ time, verb, event }) => `${(time - start) / second} ${verb} ${event.message} x${event.count}`);

test('writes at the due time, with all packets counted until then', () => {
  const { recorder, writes, take } = record();
  for (const offset of [0, 0.5, 2, 3, 40]) take(drop('web-0'), start + offset * second);
  expect(textsOf(writes)).toEqual(['1 create web-0 x2', '31 patch web-0 x4']);
  recorder.finish();
  expect(textsOf(writes).slice(2)).toEqual(['91 patch web-0 x5']);
});

test('a published series is not written again', () => {
  const { recorder, writes, take } = record();
  take(drop('web-0'), start);
  recorder.finish();
  recorder.finish();
  recorder.advance('node-a', start + windowLength);
  expect(textsOf(writes)).toEqual(['1 create web-0 x1']);
});

test('Events written at one time are listed in the order in which they became due, whatever their counts', () => {
  const { recorder, writes, take } = record();
  for (const [identity, port, weight] of [
    ['few', 1, 1],
    ['many', 2, 9],
  ] as const)
    take(drop(identity, { regarding: podRef(), details: flow({ port }) }), start, weight);
  recorder.finish();
  expect(textsOf(writes)).toEqual(['1 create few x1', '1 create many x9']);
});

test('each window has its own Event', () => {
  const { recorder, writes, take } = record();
  take(drop('web-0'), start + windowLength - second);
  take(drop('web-0'), start + windowLength);
  recorder.finish();
  expect(writes.map(({ verb }) => verb)).toEqual(['create', 'create']);
  expect(new Set(writes.map(({ event }) => event.metadata.name)).size).toBe(2);
  expect(recorder.events.size).toBe(2);
});

const many = Array.from({ length: 40 }, (_, index) => `pod-${String(index).padStart(2, '0')}`);

test('the budget allows 25 at once, then seven first Events a second', () => {
  const { recorder, writes, take } = record();
  for (const name of many) take(drop(name), start);
  recorder.finish();
  const tenths = writes.map(({ time }) => Math.floor((time - start) / 100));
  expect(tenths).toEqual([
    ...Array.from({ length: 25 }, () => 10),
    ...Array.from({ length: 15 }, (_, index) => Math.floor(10 + ((index + 1) * 10) / 7)),
  ]);
});

test('each node has its own budget', () => {
  const { recorder, writes, take } = record();
  for (const node of ['node-a', 'node-b'])
    for (const name of many.slice(0, 25)) take(drop(`${name}-${node}`, { node }), start);
  recorder.finish();
  expect(recorder.tables()).toEqual(['node-a', 'node-b'].map((node) => recorder.series(node)));
  expect(writes.every(({ time }) => time === start + second)).toBe(true);
  expect(writes).toHaveLength(50);
});

test('past the node count of the largest clusters, all further hosts of a log share one table, and their Events name each host', () => {
  const { recorder, take } = record();
  for (let number = 0; number < mostNodes; number++) recorder.series(`node-${number}`);
  const further = ['far-a', 'far-b'].map((node) => recorder.series(node));
  expect(further[0]).toBe(further[1]);
  expect(recorder.series('node-7')).not.toBe(further[0]);
  expect(recorder.tables()).toHaveLength(mostNodes + 1);
  for (const node of ['far-a', 'far-b']) take(drop(`web of ${node}`, { node }), start);
  recorder.finish();
  expect([...recorder.events.values()].map(({ source }) => source.host)).toEqual(['far-a', 'far-b']);
});

interface Counted {
  name: string;
  port: number;
  node: string;
  time: number;
  weight: number;
}

const packets: fc.Arbitrary<Counted[]> = fc.array(
  fc.record({
    name: fc.constantFrom('web-0', 'web-1', 'web-2'),
    port: fc.integer({ min: 1, max: 12 }),
    node: fc.constantFrom('node-a', 'node-b'),
    time: fc.integer({ min: 0, max: 4 * 3600 }).map((value) => start + value * second),
    weight: fc.integer({ min: 1, max: 5 }),
  }),
  { maxLength: 120 },
);

/** The number of packets according to the Events, and the number taken. */
function countBoth(list: Counted[]): [number, number] {
  const { recorder, take } = record();
  let taken = 0;
  for (const { name, port, node, time, weight } of list) {
    take(drop(`${name} ${port}`, { regarding: podRef(name), node, details: flow({ port }) }), time, weight);
    taken += weight;
  }
  recorder.finish();
  return [[...recorder.events.values()].reduce((sum, { count }) => sum + count, 0), taken];
}

test('the Events count every packet, for logs in order and in any order', () => {
  forAll([packets], { numRuns: 300 }, (list) => {
    for (const log of [list, list.toSorted((a, b) => a.time - b.time)]) {
      const [events, taken] = countBoth(log);
      expect(events).toBe(taken);
    }
  });
});

test('an Event never counts less than before', () => {
  forAll([packets], {}, (list) => {
    const { recorder, writes, take } = record();
    for (const { name, node, time, weight } of list) take(drop(name, { node }), time, weight);
    recorder.finish();
    const counts = new Map<string, number>();
    for (const { event } of writes) {
      expect(event.count).toBeGreaterThan(counts.get(event.metadata.name) ?? 0);
      counts.set(event.metadata.name, event.count);
    }
  });
});

describe('health checks that a policy denies: three addresses, thirty Pods, one port, every ten seconds for two hours', () => {
  const names = Array.from({ length: 30 }, (_, number) => `web-${number}`);
  const { recorder, writes, take } = record();
  const counted = new Map<string, number>();
  for (let after = 0; after < 2 * windowLength; after += 10 * second)
    for (const [index, name] of names.entries())
      for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
        const details = flow({ peer: externalEnd({ address }), port: 8080 });
        take(
          finding({ identity: `${name} ${address}`, regarding: podRef(name), details }),
          start + after + index * 300,
        );
        counted.set(name, (counted.get(name) ?? 0) + 1);
      }
  recorder.finish();
  const events = [...recorder.events.values()];

  test('an affected Pod has new counts as often as for any other problem', () => {
    const last = windowOf(start, podRef('web-20').uid).end;
    const ofPod = writes.filter(({ event, time }) => event.involvedObject.name === 'web-20' && time < last);
    const seconds = ofPod.map(({ time }) => Math.round((time - start) / second));
    const distances = seconds.slice(1).map((each, index) => each - (seconds[index] ?? 0));
    // The budget of the node delays updates of many Pods a little.
    expect(distances.slice(0, 3).map((each) => Math.floor(each / 10) * 10)).toEqual([30, 60, 120]);
    expect(Math.max(...distances)).toBeLessThan(1200);
    expect(ofPod.at(-1)?.event.lastTimestamp).not.toBe(ofPod[0]?.event.lastTimestamp);
  });

  test("each Pod's Events count all its packets, and summaries are only on the Node", () => {
    const sums = new Map<string, number>();
    for (const { involvedObject: object, count } of events)
      if (object.kind === 'Pod') sums.set(object.name, (sums.get(object.name) ?? 0) + count);
    expect(sums).toEqual(counted);
    const summaries = events.filter(
      ({ metadata }) => metadata.annotations?.['kube-netfilter-tailer/summary'] === 'true',
    );
    expect(summaries.map(({ involvedObject }) => involvedObject.kind)).toEqual(
      events.filter(({ involvedObject }) => involvedObject.kind === 'Node').map(() => 'Node'),
    );
    expect(summaries.length).toBeGreaterThanOrEqual(3);
  });

  test("updates are within a node's budget, 120 at once and 240 an hour, except for the last of each Event", () => {
    const last = new Map(writes.map(({ event, time }) => [event.metadata.name, time]));
    const updates = writes
      .filter(({ verb, event, time }) => verb === 'patch' && time !== last.get(event.metadata.name))
      .map(({ time }) => time);
    expect(updates.filter((time) => time < start + windowLength).length).toBeLessThanOrEqual(360);
    const later = updates.filter((time) => time >= start + windowLength && time < start + 2 * windowLength);
    expect(later.length).toBeLessThanOrEqual(241);
  });
});
