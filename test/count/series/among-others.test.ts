import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Finding, FlowDetails, FlowSide } from '../../../src/base/model/finding.ts';
import { createSeriesTable, type SeriesTable, windowLength } from '../../../src/count/series/series.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../../builders.ts';
import { forAll } from '../../for-all.ts';
import { stateOf } from './state-of.ts';
import { beginAll, publish } from './writing.ts';

/** Tests that packets past an object's slots are counted the same without their findings. */

const limits = { perObject: 3, total: 40 };

interface Lost {
  pod: string;
  peer: number;
  isPeerPod: boolean;
  port: number | undefined;
  protocol: string;
  direction: FlowDetails['direction'];
  reply: boolean;
  node: string;
}

function findingOf({ pod, peer, isPeerPod, port, protocol, direction, reply, node }: Lost): Finding {
  const address = `203.0.113.${peer}`;
  const end = isPeerPod
    ? podEnd({ object: podRef(`peer-${peer}`), identity: `Pod/shop/peer-${peer}` })
    : externalEnd({ address, identity: address });
  const regarding = podRef(pod);
  const details = flow({ peer: end, port, protocol, direction, reply });
  const identity = [regarding.uid, node, end.identity, port, protocol, direction, reply].join('|');
  return finding({ identity, regarding, node, related: end.object, details });
}

function sideOf({ regarding, node, details }: Finding): FlowSide {
  const { peer, direction, reply, protocol, port } = details as FlowDetails;
  return { regarding, node, peer, direction, reply, protocol, port };
}

function countBySide(table: SeriesTable, given: Finding, time: number, weight: number): boolean {
  const isCounted = table.countAmongOthers(sideOf(given), time, weight);
  if (!isCounted) table.count(given, time, weight);
  return isCounted;
}

const lost = fc.record<Lost>({
  pod: fc.constantFrom('db-0', 'db-1'),
  peer: fc.nat({ max: 30 }),
  isPeerPod: fc.boolean(),
  port: fc.constantFrom(undefined, 80, 443, 5432),
  protocol: fc.constantFrom('TCP', 'UDP'),
  direction: fc.constantFrom('receiving', 'receiving', 'sending'),
  reply: fc.constantFrom(false, false, true),
  node: fc.constantFrom('node-a', 'node-a', 'node-b'),
});

const steps = fc.array(
  fc.record({
    given: lost,
    weight: fc.integer({ min: 1, max: 3 }),
    pause: fc.constantFrom(0, 0, 0, 1000, -500, windowLength / 3),
    what: fc.constantFrom('count', 'count', 'count', 'count', 'publish', 'lose'),
  }),
  { minLength: 20, maxLength: 120 },
);

test('counts equal those with findings', () => {
  forAll([steps], {}, (all) => {
    const [byFindings, bySides] = [createSeriesTable({ limits }), createSeriesTable({ limits })];
    let time = nine;
    for (const { given, weight, pause, what } of all) {
      time += pause;
      for (const table of [byFindings, bySides]) {
        if (what === 'publish') for (const series of beginAll(table, time)) publish(table, series, time);
        if (what === 'lose')
          table.suppress({ kind: 'suppressed', by: 'kernel', count: 1, affects: 'everything' }, given.node, time);
      }
      byFindings.count(findingOf(given), time, weight);
      countBySide(bySides, findingOf(given), time, weight);
    }
    expect(stateOf(bySides)).toEqual(stateOf(byFindings));
    expect(bySides.nextDue()).toBe(byFindings.nextDue());
    expect(bySides.counts).toEqual(byFindings.counts);
  });
});

test('past the slots of an object, any number of peers and ports is counted without a finding', () => {
  const [byFindings, bySides] = [createSeriesTable({ limits }), createSeriesTable({ limits })];
  let amongOthers = 0;
  for (let number = 0; number < 2000; number++) {
    const given = findingOf({
      pod: 'db-0',
      peer: number,
      isPeerPod: false,
      port: 1 + ((number * 7) % 1500),
      protocol: number % 3 === 0 ? 'UDP' : 'TCP',
      direction: 'receiving',
      reply: false,
      node: 'node-a',
    });
    byFindings.count(given, nine + number);
    if (countBySide(bySides, given, nine + number, 1)) amongOthers++;
  }
  expect(stateOf(bySides)).toEqual(stateOf(byFindings));
  // The first packet without a slot opens the series of the others.
  expect(amongOthers).toBe(2000 - limits.perObject - 1);
});
