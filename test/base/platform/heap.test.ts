import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap } from '../../../src/base/platform/heap.ts';
import { forAll } from '../../for-all.ts';

test('returns values in order, whatever the order of changes', () => {
  forAll([fc.array(fc.option(fc.integer({ min: -5, max: 5 }), { nil: undefined }))], {}, (steps) => {
    const heap = new Heap<number>((a, b) => a - b);
    let sorted: number[] = [];
    // A number is pushed; undefined pops the least.
    for (const step of steps) {
      if (step !== undefined) {
        heap.push(step);
        sorted = [...sorted, step].toSorted((a, b) => a - b);
      } else expect(heap.pop()).toBe(sorted.shift());
      expect(heap.peek()).toBe(sorted[0]);
      expect(heap.size).toBe(sorted.length);
    }
  });
});
