import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPublisher } from '../../../src/publish/events/publisher.ts';
import { createWriteBudget, nodeLimits, type WriteBudget } from '../../../src/publish/events/write-budget.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import type { WriteBudgetState } from '../../../src/base/model/series.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { createLookupQueue } from '../../../src/count/pipeline/lookup-queue.ts';
import { createKeptState } from '../../../src/publish/state/kept-state.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import { textOfChange } from '../../../src/publish/state/segments.ts';
import { finding, nine } from '../../builders.ts';
import { refusal } from './memory-store.ts';
import { createVirtualTime } from '../../simulate/virtual-time.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const { burst, rate } = nodeLimits.hour;

type Step =
  | { kind: 'pass' | 'step' | 'reboot'; by: number }
  | { kind: 'write'; count: number }
  | { kind: 'kill' | 'kill before keeping' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), by: fc.nat(20 * minute) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), count: fc.integer({ min: 1, max: 150 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'kill before keeping' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('step' as const), by: fc.integer({ min: -9, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reboot' as const), by: fc.nat(5 * minute) }) },
);

/**
 * Plays the steps; each write comes once the budget and the budget on disk allow it. Returns when each was written, by
 * a clock that cannot be set.
 */
function writesOf(steps: readonly Step[]): number[] {
  const times: number[] = [];
  let time = 0;
  let bootedAt = -10 * hour;
  let wallAhead = 0;
  let disk: string | undefined;
  // The agent's clock is the wall time at the start of the process, and runs steadily from then on.
  let aheadAtStart = 0;
  const now = (): number => nine + aheadAtStart + time;
  let budget = start();
  for (const each of steps)
    switch (each.kind) {
      case 'pass':
        time += each.by;
        break;
      case 'step':
        wallAhead += each.by * hour;
        break;
      case 'reboot':
        // The machine is down for a while.
        time += each.by;
        bootedAt = time;
        budget = start();
        break;
      case 'write':
        for (let tries = 0; tries < each.count; tries++, time += second)
          if (budget.spend(now(), 'more')) {
            keep();
            times.push(time);
          }
        break;
      case 'kill before keeping':
        budget.spend(now(), 'more');
        budget = start();
        break;
      case 'kill':
        budget = start();
        break;
      default:
        each satisfies never;
    }
  return times;

  function start(): WriteBudget {
    aheadAtStart = wallAhead;
    const restored = disk === undefined ? undefined : (JSON.parse(disk) as WriteBudgetState);
    return createWriteBudget({ restored, monotonic: () => time - bootedAt });
  }

  function keep(): void {
    disk = JSON.stringify(budget.state());
  }
}

/** In any period, at most the burst and what is refilled in that time may be written. */
function mostAbove(times: readonly number[]): number {
  let most = -Infinity;
  for (let first = 0; first < times.length; first++)
    for (let last = first; last < times.length; last++) {
      const [from = 0, to = 0] = [times[first], times[last]];
      most = Math.max(most, last - first + 1 - (burst + ((to - from) / second) * rate));
    }
  return most;
}

test('killed at any moments, over clock steps and reboots, no hour has more than 120 writes beyond the 240 of each', () => {
  forAll([fc.array(step, { maxLength: 25 })], { numRuns: 300 }, (steps) => {
    expect(mostAbove(writesOf(steps))).toBeLessThanOrEqual(1e-6);
  });
});

test('an agent that is killed after each write writes as many as one that keeps running', () => {
  const kept = Array.from({ length: 60 }, (): Step[] => [{ kind: 'write', count: 60 }]).flat();
  const killed = kept.flatMap((each): Step[] => [each, { kind: 'kill' }]);
  expect(writesOf(kept)).toHaveLength(359);
  // Writes that were refilled in the last second before a kill may be unknown.
  expect(writesOf(killed).length).toBeGreaterThan(355);
  expect(writesOf(killed).length).toBeLessThanOrEqual(359);
});

const at = 5 * hour;
const leftOf = (restored: WriteBudgetState | undefined, monotonic = at): number =>
  createWriteBudget({ restored, monotonic: () => monotonic }).state().left;

test.each<[title: string, restored: WriteBudgetState | undefined, monotonic: number, expected: number]>([
  ['a moment ago', { left: 3.5, at }, at, 3.5],
  ['a quarter of an hour ago', { left: 3.5, at }, at + 15 * minute, 63.5],
  ['a day ago', { left: 3.5, at }, at + 24 * hour, 120],
  ['before a restart of the machine, which runs for five minutes', { left: 3.5, at }, 5 * minute, 23.5],
  ['with more than there can be', { left: 1e9, at }, at, 120],
  ['with less than nothing', { left: -1e9, at }, at, 0],
  ['for the first time', undefined, at, 120],
])('a saved budget: %s', (_, restored, monotonic, expected) => {
  expect(leftOf(restored, monotonic)).toBeCloseTo(expected, 6);
});

test('returned writes stay available in the hour, and other kinds of writes do not use them', () => {
  const budget = createWriteBudget();
  for (const kind of ['more', 'more', 'first', 'final'] as const) budget.spend(0, kind);
  for (const kind of ['more', 'first', 'final'] as const) budget.refund(kind);
  expect(budget.state().left).toBe(burst - 1);
});

test("the hour's budget is on disk before the Event is written, even if nothing else has changed", async () => {
  const time = createVirtualTime(nine);
  const table = createSeriesTable({ now: time.now, onEarlier: () => publisher.wake() });
  const budget = createWriteBudget({ monotonic: time.now });
  const state = createKeptState({
    agent: { id: '', node: '' },
    sources: [],
    dedupe: { state: () => ({}) },
    table,
    queue: createLookupQueue(1),
    incidents: { revision: 0, state: () => ({}) as never },
    budget,
  });
  const disk = new Map<string, unknown>();
  let revision: number | undefined;
  const answers = [409, 409];
  const leftAtWrites: number[] = [];
  const publisher = createPublisher({
    table,
    budget,
    async keep() {
      await Promise.resolve();
      if (revision === state.revision()) return;
      revision = state.revision();
      for (const change of state.takeChanges()) applyChange(JSON.parse(textOfChange(change)) as StateChange, disk);
    },
    async write({ count, published }) {
      leftAtWrites.push((disk.get('budget') as WriteBudgetState).left);
      if (published.writes > 0 && answers.length > 0)
        return { kind: 'refused', verb: 'update', refusal: refusal(answers.pop() ?? 0) };
      const after = { ...published, count, writes: published.writes + 1, at: time.now() };
      return { kind: 'written', verb: 'create', packets: count, published: after };
    },
    report: { attempted: () => {}, abandoned: () => {} },
    now: time.now,
    schedule: time.schedule,
  });
  void publisher.run();
  table.count(finding(), time.now());
  await time.runUntil(nine + 10 * second);
  table.count(finding(), time.now());
  await time.runUntil(nine + minute);
  // An object's first Event does not count here; its update is refused twice.
  expect(leftAtWrites.map((left) => Math.floor(left))).toEqual([120, 119, 118, 117]);
});
