/**
 * The cost of a packet and of a turn of the event loop with many open flows, counted as work, because times depend on
 * the machine.
 */
import { afterEach, expect, test, vi } from 'vitest';
import type { AuditedFlow } from '../../../src/publish/audit/flow.ts';
import { createFlowRoom } from '../../../src/publish/audit/flow-room.ts';
import { createIntervals } from '../../../src/publish/audit/intervals.ts';
import { ends, externalEnd, nine, observation } from '../../builders.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

function flowOfNamespace(number: number): AuditedFlow & { start: number } {
  return { start: 0, key: `flow ${number}`, subject: `web ${number}`, namespace: `ns-${number}`, fields: {} };
}

test('past the limit of flows, the largest Namespace is searched once for all packets without a new flow', () => {
  const room = createFlowRoom({ total: 100, perSubject: 10, joined: 100 }, () => false);
  for (let number = 0; number < 100; number++) room.enter(flowOfNamespace(number));
  const searches = vi.spyOn(Map.prototype, 'values');
  const joined = Array.from({ length: 50 }, (_, number) => room.find(0, flowOfNamespace(1000 + number)).flow.key);
  expect(searches).toHaveBeenCalledTimes(1);
  expect(joined.every((key) => key.startsWith('["joined"'))).toBe(true);
});

test('a Namespace that has become the largest since then makes room', () => {
  const room = createFlowRoom({ total: 4, perSubject: 10, joined: 100 }, () => false);
  const flows = [1, 2, 3].map(flowOfNamespace);
  for (const flow of flows) room.enter(flow);
  room.enter({ ...flowOfNamespace(1), key: 'another' });
  expect(room.find(0, flowOfNamespace(9)).evicted.map(([{ key }]) => key)).toEqual(['another']);
  room.leave(flows[0] as AuditedFlow & { start: number });
  room.enter({ ...flowOfNamespace(2), key: 'more' });
  expect(room.find(0, flowOfNamespace(9)).evicted.map(([{ key }]) => key)).toEqual(['more']);
});

test('flows are closed until the turn of the event loop ends, but at least one per turn', () => {
  let now = nine;
  const intervals = createIntervals({ interval: 60_000, cluster: 'prod', now: () => now, toWall: (time) => time });
  for (let peer = 1; peer <= 5; peer++) {
    const source = externalEnd({ address: `203.0.113.${peer}`, identity: `peer ${peer}` });
    const packet = { observation: observation(), ends: ends({ source }), node: 'node-a', noise: undefined };
    intervals.count({}, () => packet, 1, nine + 1000);
  }
  now = nine + 65_000;
  const steps = [() => true, () => false, () => false, () => true].map((mayGoOn) => {
    const { records, isDone } = intervals.close(3, mayGoOn);
    return [records.length, isDone];
  });
  expect(steps).toEqual([
    [0, true],
    [1, false],
    [1, false],
    [3, true],
  ]);
});
