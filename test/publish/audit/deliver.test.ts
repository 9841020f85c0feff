import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RefusedForNowError, startDelivery } from '../../../src/publish/audit/deliver.ts';
import { createAuditQueue } from '../../../src/publish/audit/queue.ts';

/** A receiver that treats each batch as the list says, and then accepts all. */
function scene(answers: ('fail' | 'busy' | 'hang' | number)[], { most = 1000, rows = ['a', 'b', 'c'] } = {}) {
  const queue = createAuditQueue({ sinks: ['otlp'], most, namespaceOf: () => 'shop', now: () => 0 });
  const sent: string[][] = [];
  const attempts: { rows?: number; refused?: number; error?: unknown }[] = [];
  for (const row of rows) queue.add(row, 'shop');
  queue.release(queue.newest);
  let isClosed = false;
  const delivery = startDelivery({
    queue,
    sink: {
      name: 'otlp',
      mostRows: 2,
      send(batch) {
        sent.push([...batch]);
        const answer = answers.shift() ?? 0;
        if (answer === 'hang') return new Promise(() => {});
        if (answer === 'busy') return Promise.reject(new RefusedForNowError('busy', 100));
        return answer === 'fail' ? Promise.reject(new Error('away')) : Promise.resolve(answer);
      },
      close() {
        isClosed = true;
        return Promise.resolve();
      },
    },
    gapRow: (sink, lost) => `${sink} lost ${lost.rows}`,
    report: {
      sent: (_, of, refused) => void attempts.push({ rows: of, refused }),
      failed: (_, error) => void attempts.push({ error }),
    },
    backOff: { first: 1, longest: 2 },
  });
  return { queue, sent, attempts, delivery, isClosed: () => isClosed };
}

test('batches are sent one after another, and the sink is closed after the last', async () => {
  const { sent, delivery, queue, isClosed } = scene([]);
  await delivery.stop(60_000);
  expect(sent).toEqual([['a', 'b'], ['c']]);
  expect(queue.sizes.rows).toBe(0);
  expect(isClosed()).toBe(true);
});

test('later rows are sent when they are released', async () => {
  const { sent, delivery, queue } = scene([], { rows: [] });
  queue.add('a', 'shop');
  queue.release(1);
  delivery.wake();
  await delivery.stop(60_000);
  expect(sent).toEqual([['a']]);
});

test('a failed batch is sent again unchanged until it is accepted', async () => {
  const { sent, attempts, queue } = scene(['fail', 'fail', 0, 'fail']);
  await expect.poll(() => queue.sizes.rows).toBe(0);
  expect(sent).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['c'], ['c']]);
  expect(attempts.filter(({ error }) => error !== undefined)).toHaveLength(3);
});

test('a batch is not sent again earlier than a busy receiver asks for', async () => {
  const began = performance.now();
  const { sent, queue } = scene(['busy']);
  await expect.poll(() => queue.sizes.rows).toBe(0);
  expect(sent).toHaveLength(3);
  expect(performance.now() - began).toBeGreaterThan(95);
});

test('refused rows are counted and not sent again', async () => {
  const { sent, attempts, delivery } = scene([1]);
  await delivery.stop(60_000);
  expect(sent).toHaveLength(2);
  expect(attempts.map(({ refused }) => refused)).toEqual([1, 0]);
});

test('the loss of the queue is the first row of the next batch', async () => {
  const { sent, delivery } = scene([], { most: 2 });
  await delivery.stop(60_000);
  expect(sent).toEqual([['otlp lost 1', 'b', 'c']]);
});

test('the end does not wait for an absent receiver, and unsent rows stay in the queue', async () => {
  const { delivery, queue } = scene(Array.from({ length: 100 }, () => 'fail' as const));
  await delivery.stop(60_000);
  expect(queue.sizes.rows).toBe(3);
});

test('the end waits for a hanging disk only for a limited time', async () => {
  const { delivery, queue } = scene(['hang']);
  const ended = delivery.stop(10).then(() => 'ended');
  expect(await Promise.race([ended, delay(5000, 'waits', { ref: false })])).toBe('ended');
  expect(queue.sizes.rows).toBe(3);
});
