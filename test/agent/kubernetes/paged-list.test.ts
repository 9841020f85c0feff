import { afterEach, expect, test } from 'vitest';
import { createConnection } from '../../../src/agent/kubernetes/connection.ts';
import { RefusedError } from '../../../src/agent/kubernetes/http.ts';
import { countAll, listAll } from '../../../src/agent/kubernetes/list-watch.ts';
import { createSteadyClock } from '../../../src/base/platform/clock.ts';
import { at, type Json } from '../../../src/base/platform/json.ts';
import { json, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
afterEach(() => server.stop());

/** An API server with objects of these sizes in bytes. */
async function connectionTo(sizes: readonly number[]) {
  server = await startScriptedServer(({ query, response }) => {
    const from = Number(query['continue'] ?? 0);
    const to = Math.min(sizes.length, from + Number(query['limit'] ?? sizes.length));
    const items = sizes.slice(from, to).map((size, index) => ({ number: from + index, text: 'x'.repeat(size) }));
    const next = to < sizes.length ? String(to) : undefined;
    const remainingItemCount = sizes.length - to || undefined;
    json(response, 200, { metadata: { resourceVersion: '7', continue: next, remainingItemCount }, items });
  });
  return createConnection({ access: server.access(), userAgent: 'test', clock: createSteadyClock() });
}

const number = (object: Json): number => at(object, 'number') as number;
const megabytes = (count: number, size: number): number[] => Array.from({ length: count }, () => size * 2 ** 20);

test.each([
  ['all at once from the cache', undefined, [...megabytes(10, 0), ...megabytes(25, 1.5), ...megabytes(10, 0)]],
  ['a hundred a page', 100, [...megabytes(150, 0), ...megabytes(30, 1.5), ...megabytes(100, 0)]],
  ['each as large as an object may be', 100, megabytes(4, 9)],
])('a list of large objects is read object by object, each one once: %s', async (_, pageSize, sizes) => {
  const { items, resourceVersion } = await listAll(await connectionTo(sizes), '/api/v1/pods', { pageSize }, number);
  expect(items).toEqual([...sizes.keys()]);
  expect(resourceVersion).toBe('7');
});

test('a list with an object that is larger than etcd takes is refused', async () => {
  const connection = await connectionTo([10, 11 * 2 ** 20]);
  await expect(listAll(connection, '/api/v1/pods', { pageSize: undefined }, number)).rejects.toThrow(RefusedError);
});

test('objects are counted, even if the first one is very large', async () => {
  expect(await countAll(await connectionTo([9 * 2 ** 20, 10, 10]), '/api/v1/pods')).toBe(3);
});
