import { expect, test } from 'vitest';
import { startDelivery } from '../../../src/publish/audit/deliver.ts';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { createIntervals } from '../../../src/publish/audit/intervals.ts';
import { createAuditQueue } from '../../../src/publish/audit/queue.ts';
import { rowText } from '../../../src/publish/audit/record.ts';
import { ends, externalEnd, nine, observation, packet, podEnd } from '../../builders.ts';
import { closeAll } from './made-rows.ts';

/** A receiver that is away for ten minutes, with the default interval and queue size, in virtual time. */

const minutes = 10;
const queueSize = 8 * 1024 * 1024;

async function outage(flowsAMinute: number) {
  let now = nine;
  const queue = createAuditQueue({ sinks: ['otlp'], most: queueSize, namespaceOf: () => 'shop', now: () => now });
  const records: FlowRecord[] = [];
  const intervals = createIntervals({ interval: 60_000, cluster: 'prod', now: () => now, toWall: (time) => time });
  let isAway = true;
  const delivery = startDelivery({
    queue,
    sink: {
      name: 'otlp',
      mostRows: 500,
      send(rows) {
        if (isAway) return Promise.reject(new Error('away'));
        records.push(...rows.map((row) => JSON.parse(row) as FlowRecord));
        return Promise.resolve(0);
      },
      close: () => Promise.resolve(),
    },
    gapRow: (_, { rows }) => rowText({ 'event.name': 'network.flow.gap', 'log.records_lost': rows }),
    report: { sent: () => {}, failed: () => {} },
    backOff: { first: 1, longest: 2 },
  });
  for (let minute = 0; minute < minutes; minute++) {
    now = nine + minute * 60_000;
    for (let flow = 0; flow < flowsAMinute; flow++) {
      const address = `203.0.${flow >> 8}.${flow & 255}`;
      const found = ends({
        source: externalEnd({ address, identity: address }),
        destination: podEnd({ identity: `Pod/shop/web-${flow % 40}` }),
      });
      const of = () => ({
        observation: observation({ packet: packet({}) }),
        ends: found,
        node: 'node-a',
        noise: undefined,
      });
      intervals.count(of, of, 1, now);
    }
    now += 66_000;
    for (const record of closeAll(intervals)) queue.add(rowText(record), 'shop');
    queue.release(queue.newest);
    delivery.wake();
  }
  const held = queue.sizes;
  isAway = false;
  delivery.wake();
  await expect.poll(() => queue.sizes.rows).toBe(0);
  await delivery.stop(60_000);
  const lost = records.reduce((sum, record) => sum + (record['log.records_lost'] ?? 0), 0);
  return { records: records.filter((record) => record['event.name'] !== 'network.flow.gap'), lost, held };
}

test('an outage with 900 flows a minute, which fit into the queue, loses nothing', async () => {
  const { records, lost } = await outage(900);
  expect(records).toHaveLength(900 * minutes);
  expect(lost).toBe(0);
});

test('an outage with three times as many keeps the newest that fit, and a gap has the number of the others', async () => {
  const { records, lost, held } = await outage(2700);
  expect(lost).toBeGreaterThan(0);
  expect(records.length + lost).toBe(2700 * minutes);
  expect(records).toHaveLength(held.rows);
  expect(held.bytes).toBeLessThanOrEqual(queueSize);
  expect(held.bytes).toBeGreaterThan(queueSize * 0.99);
  expect(new Set(records.map((record) => record['event.id'])).size).toBe(records.length);
});
