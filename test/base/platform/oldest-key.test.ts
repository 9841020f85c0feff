import fc from 'fast-check';
import { expect, test } from 'vitest';
import { oldestKeyOf } from '../../../src/base/platform/oldest-key.ts';
import { forAll } from '../../for-all.ts';

const keys = fc.integer({ min: 0, max: 9 });
const steps = fc.array(fc.tuple(fc.constantFrom('add', 'delete', 'take oldest'), keys), { maxLength: 60 });

test('returns the oldest key, also after keys were deleted and added again', () => {
  forAll([steps], {}, (list) => {
    const set = new Set<number>();
    const oldestKey = oldestKeyOf(set);
    for (const [step, key] of list) {
      if (step === 'add') set.add(key);
      else if (step === 'delete') set.delete(key);
      else {
        const [expected] = set;
        expect(oldestKey()).toBe(expected);
        if (expected !== undefined) set.delete(expected);
      }
    }
  });
});
