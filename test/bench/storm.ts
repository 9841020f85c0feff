/**
 * `npm run bench -- storm`: what is published in a storm, and when.
 *
 *     1. in real time: 1 M drops in 60 s, each of another flow, on 390 Pods, through the series, the log of changes on a disk and
 *        the publisher, to an API server that takes 10 ms: first Events of Pods, Events written, event loop, memory
 *     2. in virtual time: one Pod scans 110 others while another tenant has a problem
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { alignColumns } from '../../src/events/describe.ts';
import type { CoreEvent } from '../../src/events/event.ts';
import { eventOf } from '../../src/events/event.ts';
import { createPublisher } from '../../src/events/publisher.ts';
import { createWriteBudget } from '../../src/events/write-budget.ts';
import { createRecorder, type Write } from '../../src/events/recorder.ts';
import type { Endpoint } from '../../src/model/endpoint.ts';
import type { Finding } from '../../src/model/finding.ts';
import { messageOf } from '../../src/pipeline/message.ts';
import { createSeriesTable, type SeriesTable } from '../../src/series/series.ts';
import { createSegment, encodeBatch } from '../../src/state/segments.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../builders.ts';
import { quantile } from './quantile.ts';

const pods = 390;
const tenants = 13;
const drops = 1_000_000;
const stormSeconds = 60;
const watchedSeconds = 80;
const second = 1000;
const dropsInBlock = 300;

await storm();
scan();

async function storm(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
  const segment = await createSegment(folder, 1);
  const table: SeriesTable = createSeriesTable({
    limits: { perObject: 8, total: 5000 },
    now,
    onEarlier: () => publisher.wake(),
  });
  /** By object, when it had its first Event. */
  const firsts = new Map<string, number>();
  let written = 0;
  let saved = 0;
  const publisher = createPublisher({
    table,
    async keep() {
      const batch = [...encodeBatch([...table.takeChanges(), ['set', 'series', table.rest()]])];
      saved += batch.reduce((sum, line) => sum + line.length, 0);
      await segment.append(batch);
    },
    async write(series) {
      const { count, published, finding: of } = series;
      const event = eventOf(series, messageOf(series), now());
      await sleep(10);
      written++;
      if (!firsts.has(event.involvedObject.name)) firsts.set(event.involvedObject.name, (now() - began) / second);
      const writes = published.writes + 1;
      return {
        kind: 'written',
        verb: writes === 1 ? 'create' : 'update',
        packets: count - published.count,
        published: { ...published, count, suppressed: series.suppressed, writes, at: now(), resourceVersion: of.node },
      };
    },
    report: { attempted: () => {}, abandoned: () => {} },
    budget: createWriteBudget(),
    now,
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const began = now();
  let counted = 0;
  let peak = 0;
  void publisher.run();
  while (now() - began < watchedSeconds * second) {
    const until = Math.min(drops, Math.floor(((now() - began) / (stormSeconds * second)) * drops));
    // At most one block of a log is written at a time: a machine that cannot keep up must not look like an event loop that is blocked.
    for (const end = Math.min(until, counted + dropsInBlock); counted < end; counted++)
      table.count(dropOf(counted), now());
    peak = Math.max(peak, process.memoryUsage.rss());
    await (counted < until ? setImmediate() : sleep(5));
  }
  await publisher.stop(0);
  await segment.close();
  rmSync(folder, { recursive: true });

  const times = [...firsts].filter(([name]) => name.startsWith('web-')).map(([, time]) => time);
  const byTenant = Map.groupBy([...firsts], ([name]) => Number(name.slice(4)) % tenants);
  const means = [...byTenant.values()].map((each) => each.reduce((sum, [, time]) => sum + time, 0) / each.length);
  print(`${drops.toLocaleString('en-US')} drops in ${stormSeconds} s, ${pods} Pods of ${tenants} namespaces`, [
    ['Pods with an Event', `${times.length} of ${pods}`],
    ['first Event of a Pod', `median ${quantile(times, 0.5).toFixed(1)} s, last ${quantile(times, 1).toFixed(1)} s`],
    ['the same, mean of a namespace', `${quantile(means, 0).toFixed(1)} to ${quantile(means, 1).toFixed(1)} s`],
    [`Events written in ${watchedSeconds} s`, `${written}`],
    ['drops counted', counted.toLocaleString('en-US')],
    [
      'event loop',
      `late by ${(delay.mean / 1e6 - 5).toFixed(1)} ms on average, ${(delay.max / 1e6).toFixed(0)} at most`,
    ],
    ['resident memory', `${(peak / 1e6).toFixed(0)} MB at most, of a program without a heap limit`],
    ['saved', `${(saved / 1e6).toFixed(1)} MB`],
    ['problems, uncounted packets', `${table.sizes.series}, ${table.counts.uncounted}`],
  ]);
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Each of another flow: no address comes twice. */
function dropOf(number: number): Finding {
  const pod = number % pods;
  const address = `${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}.1`;
  const port = 1024 + ((number * 7) % 60_000);
  return finding({
    identity: `web-${pod} ${address} ${port}`,
    regarding: podRef(`web-${pod}`, `tenant-${pod % tenants}`),
    details: flow({ port, peer: externalEnd({ address }) }),
  });
}

function scan(): void {
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
    const ofDb = writes
      .filter(({ event }) => event.involvedObject.name === 'db-0')
      .map(({ time }) => since(time) - 600);
    const firsts = new Map<string, number>();
    for (const { event, time } of writes)
      if (!firsts.has(event.involvedObject.name)) firsts.set(event.involvedObject.name, since(time));
    const waits = [...firsts].filter(([each]) => each.startsWith('web-')).map(([, time]) => time);
    const events = new Map(writes.map(({ event }) => [`${event.metadata.namespace}/${event.metadata.name}`, event]));
    const bytes = [...events.values()].reduce((sum, event) => sum + sizeOf(event), 0) / events.size;
    const hour = writes.filter(({ time }) => since(time) < 3600);
    print(`${name} scans 110 Pods at 10 packets/s for an hour`, [
      ["another tenant's drop", `published after ${ofDb[0]?.toFixed(1)} s, updated after ${ofDb[1]?.toFixed(0)} s`],
      ['Events on the scanner', `${[...events.values()].filter(({ reason }) => reason === 'NetworkScan').length}`],
      ['first Event of a Pod', `last after ${quantile(waits, 1).toFixed(1)} s (it is tried after 11)`],
      ['an hour', `${events.size} Events of ${bytes.toFixed(0)} bytes as JSON, ${hour.length} writes`],
      [
        '5,000 such nodes',
        `${((events.size * 5000) / 1e6).toFixed(2)} M Events, ${((events.size * bytes * 5000) / 1e9).toFixed(2)} GB in etcd, ${((hour.length * 5000) / 3600).toFixed(0)} writes/s`,
      ],
    ]);
  }
}

/** Writes as a node makes them, in the time of the packets, and for an hour after them. */
function play(packets: (count: (finding: Finding, time: number) => void) => void): Write[] {
  const writes: Write[] = [];
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

function print(title: string, rows: readonly (readonly string[])[]): void {
  console.log(`\n${title}\n${alignColumns(rows).join('\n')}`);
}
