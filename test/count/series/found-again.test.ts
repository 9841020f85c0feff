import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { type Endpoint, objectKey } from '../../../src/base/model/endpoint.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../../builders.ts';
import { beginAll, publish } from './writing.ts';
import { stateOf } from './state-of.ts';
import { forAll } from '../../for-all.ts';

const targets = Array.from({ length: 11 }, (_, number) => podRef(`web-${number}`));
const peers = [
  externalEnd({ address: '203.0.113.1', identity: '203.0.113.1' }),
  podEnd({ identity: 'Pod/shop/worker' }),
];

/** Enough findings for scans, for objects without a slot, and for peers that exceed their share. */
const findings: Finding[] = targets.flatMap((regarding) =>
  peers.flatMap((peer) =>
    [80, 81, 82, 83, 84].map((port) =>
      finding({
        identity: `${objectKey(regarding)} ${peer.identity} ${port}`,
        regarding,
        related: peer.object,
        details: flow({ port, peer }),
      }),
    ),
  ),
);

/** A little before a window of the first object ends. */
const start = windowOf(nine, objectKey(targets[0] as Finding['regarding'])).end - 20_000;

const step = fc.record({
  finding: fc.nat(),
  seconds: fc.constantFrom(0, 0, 0, 0, 0, 0, 0.5, 1, 1, 5, 5, 900),
  lines: fc.integer({ min: 1, max: 3 }),
  written: fc.nat(20).map((number) => number === 0),
});

/** A few findings, which come again without a new one in between; a scan; or all findings. */
const some = fc.oneof(
  fc.subarray(findings, { minLength: 2, maxLength: 12 }),
  fc.constant(
    findings.filter(({ details }) => details.kind === 'flow' && details.port === 80 && details.peer === peers[0]),
  ),
  fc.constant(findings),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function tableOf(
  counted: readonly Finding[],
  steps: readonly Step[],
  isSame: boolean,
  look?: (table: SeriesTable) => unknown,
): SeriesTable {
  const table = createSeriesTable({ limits: { perObject: 4, perPeer: 2, total: 60 } });
  let time = start;
  for (const { finding: index, seconds, lines, written } of steps) {
    time += seconds * 1000;
    const one = counted[index % counted.length] as Finding;
    table.count(isSame ? one : { ...one }, time, lines, time);
    look?.(table);
    if (written) for (const series of beginAll(table, time)) publish(table, series, time);
  }
  return table;
}

test('an equal finding counts the same as the identical one', () => {
  forAll([some, fc.array(step, { minLength: 20, maxLength: 250 })], { numRuns: 200 }, (counted, steps) => {
    expect(stateOf(tableOf(counted, steps, true))).toEqual(stateOf(tableOf(counted, steps, false)));
  });
});

function onDisk(changes: Iterable<StateChange>, values = new Map<string, unknown>()): Map<string, unknown> {
  for (const change of JSON.parse(JSON.stringify([...changes])) as StateChange[]) applyChange(change, values);
  return values;
}

test('the disk has the same scans, ports and overflows as the table, and no finished ones', () => {
  forAll([some, fc.array(step, { minLength: 20, maxLength: 120 })], { numRuns: 200 }, (counted, steps) => {
    const values = new Map<string, unknown>();
    const table = tableOf(counted, steps, true, (each) => onDisk(each.takeChanges(), values));
    expect(onDisk(table.takeChanges(), values)).toEqual(onDisk(table.entries()));
  });
});

test('the disk has the number of forgotten ports of a peer', () => {
  const table = createSeriesTable();
  const values = new Map<string, unknown>();
  const peer = externalEnd();
  for (let port = 1; port <= 520; port++) {
    table.count(finding({ identity: `${port}`, details: flow({ port, peer }) }), start);
    if (port > 510) onDisk(table.takeChanges(), values);
  }
  expect(table.due(Infinity)).toMatchObject([{ count: 520, ports: { past: 8 } }]);
  expect(values).toEqual(onDisk(table.entries()));
});

const workload = { kind: 'Deployment', namespace: 'shop', name: 'worker' } as const;

test('a packet without a new peer or port is written as counts only', () => {
  const table = createSeriesTable();
  const written = (name: string, given: Partial<Endpoint> = { workload }): string[] => {
    table.count(finding({ details: flow({ peer: podEnd({ object: podRef(name), ...given }) }) }), start);
    return table.takeChanges().map(([kind, key]) => `${kind} ${key}`);
  };
  expect(written('one', {})).toEqual(['set series 1', expect.stringContaining('set object')]);
  expect(written('one')).toEqual(['merge series 1', 'set peers 1']);
  expect(written('two')).toEqual(['merge series 1', 'extend peers 1']);
  expect(written('two')).toEqual(['merge series 1']);
});
