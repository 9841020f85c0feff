import { expect, test } from 'vitest';
import { createTombstones } from '../../src/resolving/tombstones.ts';

function rig() {
  const forgotten: string[] = [];
  return {
    forgotten,
    tombstones: createTombstones<string, number>({ age: 100, count: 2 }, (key) => forgotten.push(key)),
  };
}

test('past the limit the oldest goes, and what is put again is the newest', () => {
  const { tombstones, forgotten } = rig();
  tombstones.put('a', 1, 0);
  tombstones.put('b', 2, 1);
  tombstones.put('a', 3, 2);
  expect([forgotten, tombstones.size]).toEqual([[], 2]);
  tombstones.put('c', 4, 3);
  expect([forgotten, tombstones.size]).toEqual([['b'], 2]);
  expect([...tombstones.entries()]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
  expect([tombstones.get('a'), tombstones.get('b')]).toEqual([3, undefined]);
});

test('what has the age given is forgotten, and what is younger stays', () => {
  const { tombstones, forgotten } = rig();
  tombstones.put('a', 1, 0);
  tombstones.put('b', 2, 1);
  tombstones.sweep(99);
  expect(forgotten).toEqual([]);
  tombstones.sweep(100);
  expect(forgotten).toEqual(['a']);
  tombstones.sweep(1000);
  expect([forgotten, tombstones.size]).toEqual([['a', 'b'], 0]);
});
