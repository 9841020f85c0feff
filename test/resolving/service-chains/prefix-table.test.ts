import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrefixTable } from '../../../src/resolving/service-chains/prefix-table.ts';

const items = Array.from({ length: 5 }, (_, id) => ({ id }));

/** Few, and such as fall on the same slots, over the end of the table too. */
const prefixes = fc.constantFrom(0, 1, 15, 16, 31, 0x7fff_ffff, 0x8000_000f, 0xffff_ffff, 0xffff_fff0, 14);

const byNumber = (a: number, b: number): number => a - b;

/** Spread over all 32 bits. */
const prefixOf = (id: number): number => (id * 2_654_435_761) % 2 ** 32;

const edits = fc.array(
  fc.record({
    prefix: prefixes,
    item: fc.constantFrom(...items),
    adds: fc.boolean(),
    times: fc.constantFrom(1, 1, 20),
  }),
  { maxLength: 60 },
);

test('has what a plain list has', () => {
  fc.assert(
    fc.property(edits, (program) => {
      const table = createPrefixTable<{ id: number }>();
      const model: { prefix: number; item: { id: number } }[] = [];
      for (const { prefix, item, adds, times } of program) {
        for (let time = 0; time < times; time++) {
          if (adds) {
            table.add(prefix, item);
            model.push({ prefix, item });
          } else {
            table.remove(prefix, item);
            const at = model.findIndex((each) => each.prefix === prefix && each.item === item);
            if (at >= 0) model.splice(at, 1);
          }
        }
        expect(table.size).toBe(model.length);
        for (const each of new Set(program.map((edit) => edit.prefix))) {
          const seen: number[] = [];
          table.find(each, ({ id }) => void seen.push(id));
          const expected = model.filter((row) => row.prefix === each).map((row) => row.item.id);
          expect(seen.toSorted(byNumber)).toEqual(expected.toSorted(byNumber));
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('the first that is verified is the answer', () => {
  const table = createPrefixTable<{ id: number }>();
  for (const item of items) table.add(7, item);
  expect(table.find(7, ({ id }) => (id === 3 ? 'three' : undefined))).toBe('three');
  expect(table.find(8, () => 'any')).toBeUndefined();
});

test('grows, and shrinks again', () => {
  const table = createPrefixTable<{ id: number }>();
  const many = Array.from({ length: 10_000 }, (_, id) => ({ id }));
  for (const item of many) table.add(prefixOf(item.id), item);
  for (const item of many) expect(table.find(prefixOf(item.id), (each) => each === item || undefined)).toBe(true);
  for (const item of many.slice(10)) table.remove(prefixOf(item.id), item);
  for (const item of many)
    expect(table.find(prefixOf(item.id), (each) => each === item || undefined)).toBe(item.id < 10 ? true : undefined);
  expect(table.size).toBe(10);
});
