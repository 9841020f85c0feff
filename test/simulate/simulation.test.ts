import { beforeAll, describe, expect, test } from 'vitest';
import type { Results } from './measurements.ts';
import { max, table, writeLimit } from './report.ts';
import { scenarioNamed, scenarios } from './scenarios.ts';
import { simulate } from './simulation.ts';
import { createEventStore } from '../../src/agent/kubernetes/written-objects.ts';
import { createEventWriter } from '../../src/publish/events/event-writer.ts';
import { series } from '../builders.ts';
import { createApiServer } from './api-server.ts';
import { createCluster } from './cluster.ts';
import { createMeasurements } from './measurements.ts';
import { createVirtualTime } from './virtual-time.ts';

const sample = { nodes: 25, of: 5000, podsPerNode: 30, seed: 7 };
const share = (writeLimit * sample.nodes) / sample.of;

/** The largest mean over this many consecutive seconds. */
function busiest(values: Float64Array, seconds: number): number {
  let sum = 0;
  let most = 0;
  for (const [index, value] of values.entries()) {
    sum += value - (values[index - seconds] ?? 0);
    most = Math.max(most, sum / seconds);
  }
  return most;
}

describe.each(scenarios.map(({ name }) => name))('25 of 5,000 nodes in the scenario %s', (name) => {
  /** The simulation takes seconds, so several tests look at one run. */
  let played: Promise<Results>;
  beforeAll(() => {
    played = simulate(scenarioNamed(name), sample);
  });

  test('stay within their share of 500 writes a second in each minute; single seconds exceed it at most four times', async () => {
    const { writes } = await played;
    expect(busiest(writes, 60)).toBeLessThan(share);
    expect(busiest(writes, 10)).toBeLessThan(1.6 * share);
    expect(max(writes)).toBeLessThan(4 * share);
  });

  test('are never throttled, and nine of ten have written something', async () => {
    const { throttled, nodes } = await played;
    expect(throttled).toBe(0);
    // By chance a node may have none of the refused connections of a quiet day.
    expect(nodes.filter((writes) => writes > 0).length).toBeGreaterThan(0.9 * sample.nodes);
  });

  test('leave no Pod without its Event', async () => {
    const { affected, waits } = await played;
    expect(affected).toBeGreaterThan(sample.nodes / 2);
    // 20 Pods of a node are notified of a conflict, and 10 are named in the Events of the others.
    expect(waits.length).toBeGreaterThan((name === 'conflict' ? 0.6 : 0.97) * affected);
  });
});

function play(seed: number): Promise<Results> {
  return simulate(scenarioNamed('api-away'), { ...sample, nodes: 5, seed });
}

test('the same seed gives the same figures, another seed others', async () => {
  const [one, same, other] = [await play(1), await play(1), await play(2)];
  expect(one).toEqual(same);
  expect(one.writes).not.toEqual(other.writes);
});

async function writesOf(nodes: number): Promise<number> {
  const { writes } = await simulate(scenarioNamed('conflict'), { ...sample, nodes });
  return writes.reduce((sum, each) => sum + each, 0);
}

test("a sample of a cluster's nodes shows the whole: twice as many write twice as much", async () => {
  const ratio = (await writesOf(20)) / (await writesOf(10));
  expect(ratio).toBeGreaterThan(1.9);
  expect(ratio).toBeLessThan(2.1);
});

test('the table has a row for the simulated scenario', async () => {
  const results = await simulate(scenarioNamed('noisy-policy'), { ...sample, nodes: 3 });
  expect(table([{ scenario: scenarioNamed('noisy-policy'), results }]).split('\n')).toHaveLength(4);
});

test('an Event is read as it was written, so an agent without state continues it', async () => {
  const time = createVirtualTime(0);
  const cluster = createCluster(1, 1, 1);
  const api = createApiServer(time, cluster, createMeasurements(0, 60_000, 1, time.now));
  const store = createEventStore(api.connectionOf(0));
  const write = createEventWriter({ store, messageOf: () => 'a message', stateId: 'ours', now: time.now });
  const written = [write(series()), write(series({ count: 2 }))];
  await time.runUntil(60_000);
  expect(await Promise.all(written)).toMatchObject([{ verb: 'create' }, { verb: 'update' }]);
});
