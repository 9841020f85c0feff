import { beforeAll, describe, expect, test } from 'vitest';
import { messageOf } from '../../../src/count/pipeline/message.ts';
import type { Millis } from '../../../src/base/model/log-line.ts';
import type { Series } from '../../../src/base/model/series.ts';
import type { CoreEvent } from '../../../src/publish/events/event.ts';
import { createEventWriter } from '../../../src/publish/events/event-writer.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { nine, nodeRef, postgresService } from '../../builders.ts';
import { beginAll } from '../series/writing.ts';
import { createMemoryStore, type MemoryStore } from '../../publish/events/memory-store.ts';
import { complete, incidentScene, type Published } from './incident-scene.ts';

const second = 1000;
const minute = 60 * second;

/**
 * Returns what one node publishes about the Service if kube-proxy fails twice a minute for this long, and then
 * recovers.
 */
function detailsOf(duration: Millis): Published[] {
  const { published, fail, say } = incidentScene({
    node: 'node-0',
    nodeRef: () => nodeRef('node-0'),
    chains: { ownerOf: () => ({ service: postgresService, port: '5432', deleted: false }), backendsOf: () => [] },
  });
  for (let at = nine; at <= nine + duration; at += 30 * second) fail(at, 'kube-proxy');
  say(complete, nine + duration + 30 * second, 'kube-proxy');
  return published.filter(({ finding }) => finding.regarding.kind === 'Service');
}

/** All nodes have the same events at the same time, each with its own agent, and write due series twice a minute. */
async function play(nodes: number, duration: Millis): Promise<MemoryStore> {
  const store = createMemoryStore();
  const details = detailsOf(duration);
  let now = nine;
  const agents = Array.from({ length: nodes }, (_, i) => createAgent(store, `node-${i}`, () => now));
  for (let done = 0; done < details.length || now <= nine + duration + 10 * minute; now += 15 * second) {
    const first = done;
    while (details[done] !== undefined && (details[done]?.time ?? 0) <= now) done++;
    const counted = details.slice(first, done);
    for (const agent of agents) await agent(counted);
  }
  return store;
}

function createAgent(store: MemoryStore, node: string, now: () => Millis) {
  const table: SeriesTable = createSeriesTable({ now });
  const write = createEventWriter({ store, messageOf, stateId: `state of ${node}`, now });
  return async (counted: readonly Published[]): Promise<void> => {
    for (const { finding, time, weight } of counted)
      table.count({ ...finding, node, related: nodeRef(node) }, time, weight);
    if (table.nextDue() > now()) return;
    for (const series of beginAll(table, now())) await publish(series);
  };

  async function publish(series: Series): Promise<void> {
    const outcome = await write(series);
    if (outcome.kind === 'written') table.end(series, { kind: 'published', published: outcome.published });
    else throw new Error(`not written: ${JSON.stringify(outcome)}`);
  }
}

function requestsOf({ requests }: MemoryStore, verb: 'create' | 'read' | 'update'): number {
  return requests.filter((each) => each === verb).length;
}

describe('five hundred nodes that fail at once', () => {
  const nodes = 500;
  let store: MemoryStore;
  let events: CoreEvent[];

  beforeAll(async () => {
    store = await play(nodes, minute);
    events = [...store.events.values()];
  });

  test('write one Event on the Service, and one for its end', () => {
    expect(events.map(({ reason }) => reason).toSorted()).toEqual(['ServiceChainMissing', 'ServiceChainsRestored']);
    expect(new Set(events.map(({ source }) => source.host)).size).toBe(1);
    expect(events.map(({ involvedObject }) => involvedObject.uid)).toEqual(['uid-of-postgres', 'uid-of-postgres']);
  });

  test('have the count of one of them', () => {
    expect(events.find(({ type }) => type === 'Warning')?.count).toBe(3);
    expect(events.find(({ type }) => type === 'Normal')?.count).toBe(1);
  });

  test('change it only once, and ask twice whenever they have a change', () => {
    expect(requestsOf(store, 'update')).toBeLessThanOrEqual(2);
    // Three failures, and the end of them.
    expect(store.requests.length / nodes).toBeLessThanOrEqual(4 * 2);
  });
});

describe('nodes that fail for an hour', () => {
  const nodes = 60;
  let store: MemoryStore;

  beforeAll(async () => {
    store = await play(nodes, 60 * minute);
  });

  test('keep one Event for each hour, and its end', () => {
    const events = [...store.events.values()];
    expect(events.filter(({ type }) => type === 'Warning').length).toBeLessThanOrEqual(2);
    expect(events.filter(({ type }) => type === 'Normal')).toHaveLength(1);
  });

  test('back off: the more often they have asked, the less often they ask', () => {
    expect(requestsOf(store, 'update')).toBeLessThanOrEqual(12);
    expect(store.requests.length / nodes).toBeLessThanOrEqual(30);
  });
});
