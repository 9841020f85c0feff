import { expect, test } from 'vitest';
import { listAll } from '../../src/kubernetes/list-watch.ts';
import { refusalOfError, RefusedError, TooLargeError } from '../../src/kubernetes/http.ts';
import type { Connection } from '../../src/kubernetes/connection.ts';
import type { Json } from '../../src/platform/json.ts';

/** An API server with objects of these sizes, whose answer may have `most` of it together. Notes the limit of each request. */
function serverWith(sizes: readonly number[], most: number) {
  const limits: unknown[] = [];
  const request: Connection['request'] = async (_verb, _path, options) => {
    const query = options?.query ?? {};
    limits.push(query['limit']);
    const from = Number(query['continue'] ?? 0);
    const to = Math.min(sizes.length, from + Number(query['limit'] ?? sizes.length));
    const size = sizes.slice(from, to).reduce((sum, each) => sum + each, 0);
    if (size > most) return refusalOfError(new TooLargeError('too large'));
    const items = sizes.slice(from, to).map((_size, index) => from + index);
    const next = to < sizes.length ? String(to) : undefined;
    return { kind: 'answered', body: { items, metadata: { resourceVersion: '7', continue: next } } };
  };
  return { request, limits };
}

const small = (length: number): number[] => Array.from({ length }, () => 1);
const asNumber = (object: Json): number => object as number;

test.each([
  ['all at once from the cache', undefined, small(110).fill(90, 40, 55)],
  ['a hundred a page', 100, small(350).fill(90, 120, 140)],
  ['each as large as an answer may be', 100, Array.from({ length: 9 }, () => 160)],
])('a list of large objects is read in smaller pages, each object once: %s', async (_, pageSize, sizes) => {
  const { request } = serverWith(sizes, 160);
  const { items, resourceVersion } = await listAll({ request }, '/', { pageSize }, asNumber);
  expect(items).toEqual([...sizes.keys()]);
  expect(resourceVersion).toBe('7');
});

test('after large objects the pages of a list become larger again, not larger than before', async () => {
  const { request, limits } = serverWith(small(500).fill(90, 0, 3), 160);
  await listAll({ request }, '/', { pageSize: 50 }, asNumber);
  expect(limits.slice(-3)).toEqual([50, 50, 50]);
  expect(limits.length).toBeLessThan(30);
});

test('a list that is too large even with one object a page is refused', async () => {
  const { request, limits } = serverWith([200, 200], 160);
  await expect(listAll({ request }, '/', { pageSize: undefined }, asNumber)).rejects.toThrow(RefusedError);
  expect(limits).toEqual([undefined, 10, 1]);
});
