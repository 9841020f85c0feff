import { expect, test } from 'vitest';
import { createAudit, type FlowRecord, noNamespace } from '../../../src/publish/audit/audit.ts';
import { ends, nine, observation, packet } from '../../builders.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { received: object[] };

test('a receiver hears which rows the node had no room for, and is closed at the end', async () => {
  let now = nine;
  const received: FlowRecord[] = [];
  let isClosed = false;
  const audit = createAudit({
    node: 'node-a',
    cluster: 'prod',
    interval: 60_000,
    sinks: [
      {
        name: 'otlp',
        mostRows: 100,
        send(rows) {
          received.push(...rows.map((row) => JSON.parse(row) as FlowRecord));
          return Promise.resolve(0);
        },
        close() {
          isClosed = true;
          return Promise.resolve();
        },
      },
    ],
    // One row is always kept, whatever its size.
    queueSize: 1,
    restored: undefined,
    privacy: { peers: 'shown', bits: { ipv4: 32, ipv6: 128 }, isHidden: noNamespace, labels: [] },
    clock: { now: () => now, toWall: (time) => time + 1000 },
    report: { sent: () => {}, failed: () => {} },
  });
  for (const destinationPort of [80, 443, 5432]) {
    const found = { observation: observation({ packet: packet({ destinationPort }) }), ends: ends(), node: 'node-a' };
    audit.count({}, () => ({ ...found, noise: undefined }), 1, now);
  }
  now += 66_000;
  // Packets counted since the last look stay open.
  for (let rounds = 0; rounds < 2; rounds++) await audit.round(() => Promise.resolve());
  audit.start();
  await audit.stop(1000);
  expect(isClosed).toBe(true);
  expect(received).toMatchObject(tables.received);
});
