/** Counts become stable: finished series are published soon, whatever continues. */
import { expect, test } from 'vitest';
import { createPublisher } from '../../../src/publish/events/publisher.ts';
import { createWriteBudget } from '../../../src/publish/events/write-budget.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { spreadOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, nine, podRef } from '../../builders.ts';
import { createVirtualTime } from '../../simulate/virtual-time.ts';
import { createRandom } from '../../soak/random.ts';

const second = 1000;
const minute = 60 * second;

/** An agent of a cluster with this many nodes, in virtual time, with what it has published about each problem. */
function agent(nodes: number) {
  const time = createVirtualTime(nine);
  const random = createRandom(1);
  const counts = new Map<string, number>();
  const writes: number[] = [];
  const table = createSeriesTable({
    now: time.now,
    onEarlier: () => publisher.wake(),
    spread: (series) => random() * spreadOf(series, nodes),
  });
  const publisher = createPublisher({
    table,
    keep: async () => {},
    async write(series) {
      await time.pause(20);
      const { count, suppressed, published, finding: of } = series;
      counts.set(of.identity, count);
      writes.push(time.now());
      const verb = published.writes === 0 ? 'create' : 'update';
      const next = { ...published, count, suppressed, writes: published.writes + 1, at: time.now() };
      return { kind: 'written', verb, packets: count - published.count, published: next };
    },
    report: { attempted: () => {}, abandoned: () => {} },
    budget: createWriteBudget({ nodeCount: () => nodes, random, monotonic: time.now }),
    now: time.now,
    schedule: time.schedule,
    random,
  });
  void publisher.run();
  return { time, table, counts, writes };
}

function drop(pod: number, port: number): Finding {
  const details = flow({ port, peer: externalEnd({ identity: `peer of ${pod}` }) });
  return finding({ identity: `web-${pod} ${port}`, regarding: podRef(`web-${pod}`), details });
}

test.each([1, 250])(
  'all of 236,300 packets in two minutes on 30 Pods are published five minutes after the last, in a cluster of %i nodes',
  async (nodes) => {
    const { time, table, counts } = agent(nodes);
    const packets = 236_300;
    for (let packet = 0; packet < packets; packet++) {
      await time.runUntil(nine + (packet * 2 * minute) / packets);
      table.count(drop(packet % 30, 1 + (Math.floor(packet / 30) % 3)), time.now());
    }
    const published = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
    expect(counts.size).toBeLessThanOrEqual(90);
    await time.runUntil(nine + 7 * minute);
    expect(published()).toBe(packets);
  },
);

test("the end of an incident is published before its updates, even if the hour's budget is used up", async () => {
  const { time, table, counts } = agent(1);
  for (let now = 0; now < 20 * minute; now += second) {
    await time.runUntil(nine + now);
    for (let pod = 0; pod < 60; pod++) table.count(drop(pod, 1), time.now());
    if (now < 10 * minute) table.count(drop(99, 1), time.now());
    if (now === 15 * minute) expect(counts.get('web-99 1')).toBe(600);
  }
});

test('one of 5,000 nodes writes its share of 250 a second', async () => {
  const { time, table, writes } = agent(5000);
  for (let now = 0; now < 20 * minute; now += second) {
    await time.runUntil(nine + now);
    // Each flow is over when the next one begins.
    const round = Math.floor(now / (2 * minute));
    for (let pod = 0; pod < 5; pod++) table.count(drop(round * 5 + pod, 1), time.now());
  }
  await time.runUntil(nine + 60 * minute);
  const updates = writes.length - 50;
  expect(updates).toBeLessThanOrEqual(3600 * 0.05 + 1);
});
