import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { expect, test } from 'vitest';
import { RecentValues } from '../../../src/base/platform/recent-values.ts';
import { forAll } from '../../for-all.ts';

const keys = fc.integer({ min: 0, max: 9 }).map(String);
const steps = fc.array(fc.tuple(fc.boolean(), keys, fc.nat()), { maxLength: 60 });

test('keeps and drops the same values in the same order as an LRUCache', () => {
  forAll([steps, fc.integer({ min: 1, max: 6 })], {}, (list, most) => {
    const [dropped, droppedByModel]: [unknown[], unknown[]] = [[], []];
    const values = new RecentValues<number>(most, (key, value) => dropped.push([key, value]));
    const model = new LRUCache<string, number>({
      max: most,
      noDisposeOnSet: false,
      dispose: (value, key) => droppedByModel.push([key, value]),
    });
    for (const [isSet, key, value] of list) {
      if (!isSet) expect(values.get(key)).toBe(model.get(key));
      // The cache does not call `dispose` for a value that replaces itself.
      else if (model.peek(key) !== value) {
        values.set(key, value);
        model.set(key, value);
      }
    }
    expect(dropped).toEqual(droppedByModel);
  });
});
