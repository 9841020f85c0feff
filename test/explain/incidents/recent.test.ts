import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecent, type RecentState } from '../../../src/explain/incidents/facts.ts';
import { nine } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;

test('the last record of each program is kept for an hour', () => {
  const recent = createRecent();
  recent.noteBackend('kube-proxy', 'nf_tables', nine - minute);
  recent.noteBackend('kube-proxy', 'legacy', nine);
  recent.noteBackend('felix', 'nf_tables', nine + minute);
  expect(recent.backends(nine + 60 * minute)).toEqual({ 'kube-proxy': 'legacy', felix: 'nf_tables' });
  expect(recent.backends(nine + 60 * minute + 1)).toEqual({ felix: 'nf_tables' });
  expect(recent.backends(nine + 62 * minute)).toEqual({});
});

test('an older line that arrives late changes nothing', () => {
  const recent = createRecent();
  recent.noteBackend('felix', 'legacy', nine);
  recent.noteBackend('felix', 'nf_tables', nine - second);
  expect(recent.backends(nine)).toEqual({ felix: 'legacy' });
});

/** Drops at these seconds after nine. */
function dropsAt(...seconds: readonly number[]): ReturnType<typeof createRecent> {
  const recent = createRecent();
  for (const at of seconds) recent.noteFirewallDrop(nine + at * second);
  return recent;
}

test.each([
  { at: 0, began: 60, isNear: true },
  { at: 0, began: -60, isNear: true },
  { at: 0, began: 61, isNear: false },
  { at: 0, began: -61, isNear: false },
])('drops that began $began s from it are near: $isNear', ({ at, began, isNear }) => {
  const recent = dropsAt(began, began + 1, began + 200);
  expect(recent.firewallDropsSince(nine + at * second)).toBe(isNear ? nine + began * second : undefined);
});

test('without drops there is no beginning', () => {
  expect(createRecent().firewallDropsSince(nine)).toBeUndefined();
});

test('continuing drops have one beginning', () => {
  const recent = dropsAt(...Array.from({ length: 10 }, (_, index) => index * 300));
  expect(recent.firewallDropsSince(nine)).toBe(nine);
  expect(recent.firewallDropsSince(nine + 300 * second)).toBeUndefined();
});

test('drops present before do not count as a beginning', () => {
  expect(dropsAt(-1200, -800, -400, 0, 1).firewallDropsSince(nine)).toBeUndefined();
  expect(dropsAt(-400, -401, -402, 0).firewallDropsSince(nine)).toBeUndefined();
});

test('drops in the hour before count as present before, older ones do not', () => {
  expect(dropsAt(-3600, -3600, -3600, 0).firewallDropsSince(nine)).toBeUndefined();
  expect(dropsAt(-3601, -3601, -3601, 0).firewallDropsSince(nine)).toBe(nine);
});

test('a stray packet, or drops many hours ago, do not count as present before', () => {
  expect(dropsAt(-1200, -600, 0, 1).firewallDropsSince(nine)).toBe(nine);
  const longAgo = Array.from({ length: 9 }, (_, index) => -7000 + index);
  expect(dropsAt(...longAgo, 0).firewallDropsSince(nine)).toBe(nine);
});

test('drops that are logged late are sorted in by time', () => {
  expect(dropsAt(3, 2, 0, 1).firewallDropsSince(nine)).toBe(nine);
  expect(dropsAt(0, 1, -400, -401, -402).firewallDropsSince(nine)).toBeUndefined();
});

test('survives a restart', () => {
  const recent = dropsAt(0, 1);
  recent.noteBackend('felix', 'legacy', nine);
  const restored = createRecent(JSON.parse(JSON.stringify(recent.state())) as RecentState);
  expect(restored.state()).toEqual(recent.state());
  restored.noteFirewallDrop(nine + 300 * second);
  expect(restored.firewallDropsSince(nine)).toBe(nine);
  expect(restored.firewallDropsSince(nine + 300 * second)).toBeUndefined();
  expect(restored.backends(nine)).toEqual({ felix: 'legacy' });
});

test('a state is a copy', () => {
  const recent = dropsAt(0);
  const state = recent.state();
  recent.noteFirewallDrop(nine + second);
  recent.noteBackend('felix', 'legacy', nine);
  expect(state).toEqual({ backends: {}, runs: [{ first: nine, last: nine, drops: 1 }] });
});

test.each([
  [undefined],
  [null],
  [{}],
  [{ backends: {}, runs: [{ first: 'x' }] }],
  [{ backends: { felix: 'legacy' }, runs: [] }],
])('a state of another version is forgotten: %j', (state) => {
  expect(createRecent(state as never).state()).toEqual({ backends: {}, runs: [] });
});

test('keeps only the newest runs in order, however often one begins', () => {
  forAll([fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 300 })], {}, (seconds) => {
    const { runs } = dropsAt(...seconds).state();
    expect(runs.length).toBeLessThanOrEqual(16);
    for (const [index, { first, last, drops }] of runs.entries()) {
      expect(first).toBeLessThanOrEqual(last);
      expect(drops).toBeGreaterThan(0);
      const next = runs[index + 1];
      if (next !== undefined) expect(next.first).toBeGreaterThan(last);
    }
  });
});
