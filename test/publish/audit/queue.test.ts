import { expect, test } from 'vitest';
import { type AuditQueueOptions, createAuditQueue } from '../../../src/publish/audit/queue.ts';

const queueOf = (given: Partial<AuditQueueOptions> = {}) =>
  createAuditQueue({ sinks: ['file', 'otlp'], most: 1000, namespaceOf: () => 'shop', now: () => 5000, ...given });

test('a sink gets rows in order once they are on disk, as many as it accepts', () => {
  const queue = queueOf();
  for (const row of ['a', 'b', 'c']) queue.add(row, 'shop');
  expect(queue.next('file', 2)).toBeUndefined();
  queue.release(queue.newest);
  queue.add('d', 'shop');
  const first = queue.next('file', 2);
  expect(first?.rows).toEqual(['a', 'b']);
  expect(queue.next('file', 2)).toEqual(first);
  if (first) queue.confirm('file', first);
  expect(queue.next('file', 2)?.rows).toEqual(['c']);
});

test('a row is held until every sink has confirmed it', () => {
  const queue = queueOf();
  queue.add('a', 'shop');
  queue.release(1);
  for (const sink of ['file', 'otlp']) {
    expect(queue.sizes).toEqual({ rows: 1, bytes: 1 });
    const batch = queue.next(sink, 10);
    if (batch) queue.confirm(sink, batch);
  }
  expect(queue.sizes).toEqual({ rows: 0, bytes: 0 });
});

test('a full queue drops the oldest rows, counts them for the sinks that have not received them, and reports them once', () => {
  const queue = queueOf({ most: 3 });
  queue.add('a', 'shop');
  queue.release(1);
  const had = queue.next('file', 10);
  if (had) queue.confirm('file', had);
  for (const row of ['b', 'c', 'd', 'e']) queue.add(row, 'shop');
  queue.release(queue.newest);
  expect(queue.sinks).toEqual({ file: { behind: 3, lost: 1 }, otlp: { behind: 3, lost: 2 } });
  const batch = queue.next('otlp', 10);
  expect(batch).toEqual({ rows: ['c', 'd', 'e'], through: 5, lost: { rows: 2, first: 5000, last: 5000 } });
  if (batch) queue.confirm('otlp', batch);
  queue.add('f', 'shop');
  queue.release(6);
  expect(queue.next('otlp', 10)).toEqual({ rows: ['f'], through: 6, lost: undefined });
});

test('rows are measured in bytes of UTF-8, before and after a restart', () => {
  const queue = queueOf({ most: 8 });
  for (const row of ['é', '日本', '€']) queue.add(row, 'shop');
  expect(queue.sizes).toEqual({ rows: 1, bytes: 3 });
  const after = queueOf({ restored: { state: structuredClone(queue.state), rows: [['3', '€']] } });
  expect(after.sizes).toEqual({ rows: 1, bytes: 3 });
});

test('rows lost while a batch is being sent are reported with the next one', () => {
  const queue = queueOf({ sinks: ['otlp'], most: 2 });
  for (const row of ['a', 'b', 'c']) queue.add(row, 'shop');
  queue.release(3);
  const batch = queue.next('otlp', 1);
  expect(batch?.lost?.rows).toBe(1);
  queue.add('d', 'shop');
  queue.add('e', 'shop');
  queue.release(5);
  if (batch) queue.confirm('otlp', batch);
  expect(queue.next('otlp', 10)).toMatchObject({ rows: ['d', 'e'], lost: { rows: 3 } });
});

test('after a restart, each sink continues from its place, and a new sink begins with the oldest row', () => {
  const before = queueOf();
  for (const row of ['a', 'b', 'c']) before.add(row, 'shop');
  before.release(3);
  const batch = before.next('file', 2);
  if (batch) before.confirm('file', batch);
  const rows = [...before.changes.entries()].map(
    (change) => [change[1].slice('record '.length), String(change[2])] as const,
  );
  const queue = queueOf({ sinks: ['file', 'stdout'], restored: { state: structuredClone(before.state), rows } });
  expect(queue.sizes).toEqual({ rows: 3, bytes: 3 });
  expect(queue.next('file', 10)?.rows).toEqual(['c']);
  expect(queue.next('stdout', 10)?.rows).toEqual(['a', 'b', 'c']);
});
