/**
 * `npm run bench -- storm`: the Events of a storm and their times, in virtual time: one Pod scans 110 others while another tenant has a
 * problem.
 */
import { alignColumns } from '../../src/cli/describe.ts';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { createRecorder, type WriteRequest } from '../../src/publish/events/recorder.ts';
import type { Endpoint } from '../../src/base/model/endpoint.ts';
import type { Finding } from '../../src/base/model/finding.ts';
import { messageOf } from '../../src/count/pipeline/message.ts';
import { createSeriesTable } from '../../src/count/series/series.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../builders.ts';
import { quantile } from './quantile.ts';

const second = 1000;

for (const [name, scanner] of [
  ['a Pod', podEnd({ address: '10.65.9.9', object: podRef('scan', 'lab'), identity: 'Pod/lab/scan' })],
  ['an address', externalEnd({ address: '203.0.113.66' })],
] as const) {
  const writes = play((count) => {
    for (let packet = 0; packet < 36_000; packet++) {
      const time = packet * 100;
      const target = `web-${packet % 110}`;
      const port = 1 + Math.floor(packet / 110);
      count(received(target, 'victims', scanner, port), time);
      if (scanner.kind === 'pod') count(sentTo(target, port), time);
      // Another tenant's problem begins after ten minutes.
      if (packet >= 6000 && packet % 10 === 0)
        count(received('db-0', 'another', externalEnd({ address: '192.0.2.1' }), 5432), time);
    }
  });
  const ofDb = writes.filter(({ event }) => event.involvedObject.name === 'db-0').map(({ time }) => since(time) - 600);
  const firsts = new Map<string, number>();
  for (const { event, time } of writes)
    if (!firsts.has(event.involvedObject.name)) firsts.set(event.involvedObject.name, since(time));
  const waits = [...firsts].filter(([each]) => each.startsWith('web-')).map(([, time]) => time);
  const events = new Map(writes.map(({ event }) => [`${event.metadata.namespace}/${event.metadata.name}`, event]));
  const bytes = [...events.values()].reduce((sum, event) => sum + sizeOf(event), 0) / events.size;
  const hour = writes.filter(({ time }) => since(time) < 3600);
  const rows = [
    ["another tenant's drop", `published after ${ofDb[0]?.toFixed(1)} s, updated after ${ofDb[1]?.toFixed(0)} s`],
    ['Events on the scanner', `${[...events.values()].filter(({ reason }) => reason === 'NetworkScan').length}`],
    ['first Event of a Pod', `last after ${quantile(waits, 1).toFixed(1)} s (it is tried after 11)`],
    ['an hour', `${events.size} Events of ${bytes.toFixed(0)} bytes as JSON, ${hour.length} writes`],
    [
      '5,000 such nodes',
      `${((events.size * 5000) / 1e6).toFixed(2)} M Events, ${((events.size * bytes * 5000) / 1e9).toFixed(2)} GB in etcd, ${((hour.length * 5000) / 3600).toFixed(0)} writes/s`,
    ],
  ];
  console.log(`\n${name} scans 110 Pods at 10 packets/s for an hour\n${alignColumns(rows).join('\n')}`);
}

/** Returns the writes of a node at the times of the packets, and for an hour after them. */
function play(packets: (count: (finding: Finding, time: number) => void) => void): WriteRequest[] {
  const writes: WriteRequest[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable({ limits: { perObject: 8, total: 5000 } }),
    messageOf,
    onWrite: (write) => void writes.push(structuredClone(write)),
  });
  packets((each, time) => {
    recorder.advance(each.node, nine + time);
    recorder.series(each.node).count(each, nine + time);
  });
  recorder.finish();
  return writes;
}

function received(pod: string, namespace: string, peer: Endpoint, port: number): Finding {
  const identity = `${pod} ${peer.identity} ${port}`;
  return finding({ identity, regarding: podRef(pod, namespace), related: peer.object, details: flow({ peer, port }) });
}

function sentTo(pod: string, port: number): Finding {
  const object = podRef(pod, 'victims');
  const peer = podEnd({ object, identity: `Pod/victims/${pod}` });
  return finding({
    identity: `to ${pod} ${port}`,
    regarding: podRef('scan', 'lab'),
    related: object,
    details: flow({ direction: 'sending', peer, port }),
  });
}

/** Seconds. */
function since(time: number): number {
  return (time - nine) / second;
}

function sizeOf(event: CoreEvent): number {
  return Buffer.byteLength(JSON.stringify(event));
}
