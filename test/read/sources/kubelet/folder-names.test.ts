import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFolderNames } from '../../../../src/read/sources/kubelet/folder-names.ts';
import { forAll } from '../../../for-all.ts';

/** Folders whose clock has steps, and the requests for them. */
function scene() {
  const folders = new Map<string, { names: string[]; changed: number }>();
  const asked = { lists: 0, times: 0 };
  const time = { now: 1_000_000 };
  const of = (path: string): { names: string[]; changed: number } => {
    const folder = folders.get(path);
    if (folder === undefined) throw new Error('ENOENT');
    return folder;
  };
  const read = createFolderNames(
    () => time.now,
    (path) => (asked.lists++, of(path).names.slice()),
    (path) => (asked.times++, of(path).changed),
  );
  const change = (path: string, names: string[]): void => {
    folders.set(path, { names, changed: Math.floor(time.now / 4) * 4 });
  };
  return { read, change, asked, time, folders };
}

test('unchanged folders are not listed again, and many take turns to be checked', () => {
  const { read, change, asked, time } = scene();
  const cost = (count: number): { lists: number; times: number } => {
    for (let i = 0; i < count; i++) change(`/${i}`, ['c']);
    for (let turn = 0; turn < 200; turn++) {
      if (turn === 100) Object.assign(asked, { lists: 0, times: 0 });
      time.now += 500;
      read.begin();
      for (let i = 0; i < count; i++) read.names(`/${i}`);
    }
    return { lists: asked.lists, times: asked.times / 100 };
  };
  expect(cost(100)).toEqual({ lists: 0, times: 100 });
  const many = cost(6000);
  expect(many.lists).toBe(0);
  expect(many.times).toBeLessThanOrEqual(512);
});

test('each change is seen: at once with few folders, within a number of turns with many', () => {
  const step = fc.tuple(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 3000 }));
  forAll([fc.constantFrom(3, 900), fc.array(step, { maxLength: 20 })], { numRuns: 60 }, (count, steps) => {
    const { read, change, time, folders } = scene();
    for (let i = 0; i < count; i++) change(`/${i}`, []);
    const turn = (): string[] => {
      read.begin();
      return Array.from({ length: count }, (_, i) => read.names(`/${i}`).join());
    };
    turn();
    for (const [index, [which, later]] of steps.entries()) {
      time.now += later;
      change(`/${which % count}`, [`${index}`]);
      // Two changes in a row may have the same time.
      turn();
      change(`/${which % count}`, [`${index}`, 'more']);
      for (let turns = 0; turns < Math.ceil(count / 512); turns++) turn();
      expect(turn()[which % count]).toBe(`${index},more`);
    }
    folders.delete('/0');
    expect(() => read.latest('/0')).toThrow('ENOENT');
  });
});
