import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { largestItem, TooLargeError } from '../../../src/agent/kubernetes/item-scanner.ts';
import { readItems } from '../../../src/agent/kubernetes/list-items.ts';
import type { Json } from '../../../src/base/platform/json.ts';
import { forAllAsync } from '../../for-all.ts';

async function read(chunks: Iterable<Buffer>): Promise<{ items: Json[]; frame: Json }> {
  const items: Json[] = [];
  const frame = await readItems(
    Readable.from(chunks),
    (item) => void items.push(item),
    () => true,
  );
  return { items, frame: JSON.parse(frame) as Json };
}

function cutAt(text: string, places: readonly number[]): Buffer[] {
  const whole = Buffer.from(text);
  const ends = [...places.map((place) => place % (whole.length + 1)), whole.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
}

test('a list read object by object equals the list read at once, wherever its bytes are cut and whatever its content', async () => {
  const value = fc.oneof(
    fc.json().map((text) => JSON.parse(text) as Json),
    fc.constantFrom('items', '"items":[', ']', '},{', '\\', '\\"', 'é日', '', null, [], {}),
  );
  const body = fc.record({
    kind: value,
    metadata: value,
    items: fc.array(value, { maxLength: 6 }),
    last: value,
  });
  const indent = fc.constantFrom(0, 1);
  await forAllAsync(
    [body, indent, fc.array(fc.nat(), { maxLength: 8 })],
    { numRuns: 2000 },
    async (list, spaces, places) => {
      const { items, frame } = await read(cutAt(JSON.stringify(list, undefined, spaces), places));
      expect(items).toEqual(JSON.parse(JSON.stringify(list.items)));
      expect(frame).toEqual({ ...(JSON.parse(JSON.stringify(list)) as object), items: [] });
    },
  );
});

test.each([
  '{"items":null}',
  '{"kind":"Status","items":{"a":[1]}}',
  '[1,2]',
  '{"metadata":{"items":[1]}}',
  '"items"',
  '{}',
])('an answer that is not a list is kept whole: %s', async (text) => {
  expect(await read(cutAt(text, [3, 7]))).toEqual({ items: [], frame: JSON.parse(text) });
});

test.each(['{"items":[{"a":1},', '{"items":[{"a":1}]', '<html>"items":[', '{"items":[{"a":]}', ''])(
  'a broken answer is not a list: %j',
  async (text) => {
    await expect(read([Buffer.from(text)])).rejects.toThrow(SyntaxError);
  },
);

test('waits for the turns of many large objects leave no listener on the answer', async () => {
  const item = Buffer.from(JSON.stringify({ name: 'x'.repeat(200_000) }));
  const chunks = Array.from({ length: 20 }, (_, index) => [Buffer.from(index === 0 ? '{"items":[' : ','), item]).flat();
  const body = Readable.from([...chunks, Buffer.from(']}')].flatMap((chunk) => halves(chunk)));
  const listeners: number[] = [];
  await readItems(
    body,
    () => void listeners.push(body.listenerCount('close')),
    () => true,
  );
  expect(listeners).toHaveLength(20);
  expect(new Set(listeners).size).toBe(1);
});

function halves(chunk: Buffer): Buffer[] {
  const middle = chunk.length - 10;
  return middle < 0 ? [chunk] : [chunk.subarray(0, middle), chunk.subarray(middle)];
}

function* endless(begin: string, part: string): Iterable<Buffer> {
  yield Buffer.from(begin);
  const chunk = Buffer.from(part.repeat(65_536 / part.length));
  for (let size = 0; size < 8 * largestItem; size += chunk.length) yield chunk;
}

test.each([
  ['an object', '{"items":[{"a":"', 'x'],
  ['a number', '{"items":[', '1'],
  ['the text beside its objects', '{"items":[],"a":"', 'x'],
])('%s that is too large ends the reading', async (_, begin, part) => {
  await expect(read(endless(begin, part))).rejects.toThrow(TooLargeError);
});

test('objects of an answer that does not begin like a list are not used', async () => {
  const taken: Json[] = [];
  const heads: Json[] = [];
  const body = Readable.from([Buffer.from('{"kind":"Page","items":[{"a":1},{"a":2}]}')]);
  const isList = (head: Json): boolean => {
    heads.push(head);
    return false;
  };
  expect(await readItems(body, (item) => void taken.push(item), isList)).toBe('{"kind":"Page","items":[]}');
  expect({ taken, heads }).toEqual({ taken: [], heads: [{ kind: 'Page', items: [] }] });
});
