import { expect, test } from 'vitest';
import { createAudit, type FlowRecord, noNamespace } from '../../../src/publish/audit/audit.ts';
import { ends, nine, observation, packet } from '../../builders.ts';

const tables: { received: object[] } = {
  // Records that are written after the queue was full.
  received: [
    {
      '@timestamp': '2026-11-21T09:01:07.000Z',
      'event.name': 'network.flow.gap',
      'event.action': 'lost',
      'event.reason': 'audit queue',
      'event.start': '2026-11-21T09:01:07.000Z',
      'event.end': '2026-11-21T09:01:07.000Z',
      'k8s.cluster.name': 'prod',
      'k8s.node.name': 'node-a',
      'log.records_lost': 2,
    },
    { 'event.name': 'network.flow.drop', 'destination.port': 5432 },
  ],
};

test('a receiver learns which rows had no room on the node, and is closed at the end', async () => {
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
  await audit.stop(60_000);
  expect(isClosed).toBe(true);
  expect(received).toMatchObject(tables.received);
});
