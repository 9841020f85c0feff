import { expect, test, vi } from 'vitest';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { createLiveFlows, type LiveFlows, type LiveFlowsOptions } from '../../../src/publish/audit/live-flows.ts';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import { ends, externalEnd, nine, observation, packet, podEnd, podRef, workerEnd } from '../../builders.ts';

const tables: { flows: object[] } = {
  // The flows that a request asks for.
  flows: [
    {
      'network.packets': 6,
      'event.start': '2026-11-21T09:00:00.000Z',
      'event.end': '2026-11-21T09:05:00.000Z',
      'destination.port': 5432,
      'event.action': 'dropped',
    },
  ],
};

const minute = 60_000;

function open(given: Partial<LiveFlowsOptions> = {}) {
  let now = nine;
  const table = createLiveFlows({
    node: 'node-a',
    redact: undefined,
    clock: { now: () => now, toWall: (time) => time },
    ...given,
  });
  return {
    table,
    at: (minutes: number): void => void (now = nine + minutes * minute),
    drop: (found: Ends = ends(), port = 5432, meaning: object = {}, packets = 1, time = now): void => {
      const of = () => ({
        observation: observation({ packet: packet({ destinationPort: port, sourcePort: 50_000 }) }),
        ends: found,
        node: 'node-a',
        noise: undefined,
      });
      table.count(meaning, of, packets, time);
    },
    answer: async (): Promise<LiveFlows> => JSON.parse(String(await table.text())) as LiveFlows,
  };
}

const toWorker = () => ends({ source: workerEnd(1), destination: podEnd() });
const limits = { total: 100, perSubject: 50, joined: 10, bytes: 1_000_000 };

test('packets of one flow are one flow with the first and the last time, and equal meanings are described once', async () => {
  const redact = vi.fn<(fields: FlowRecord) => FlowRecord>((fields) => fields);
  const { drop, at, answer } = open({ redact });
  const meaning = {};
  drop(toWorker(), 5432, meaning, 2);
  at(5);
  drop(toWorker(), 5432, meaning, 3);
  drop(toWorker(), 5432);
  expect(redact).toHaveBeenCalledTimes(2);
  const { version, node, time, flows } = await answer();
  expect({ version, node, time }).toEqual({ version: 1, node: 'node-a', time: '2026-11-21T09:05:00.000Z' });
  expect(flows).toMatchObject(tables.flows);
});

test('a flow of several Pods of one workload names only the workload, with the first address', async () => {
  const { drop, answer } = open();
  drop(toWorker());
  drop(ends({ source: workerEnd(2), destination: podEnd() }));
  drop(toWorker());
  const { flows } = await answer();
  const workload = { 'source.k8s.owner.name': 'worker', 'source.address': '10.65.2.1' };
  expect(flows).toMatchObject([{ 'network.packets': 3, ...workload }]);
  expect(flows[0]).not.toHaveProperty(['source.k8s.pod.name']);
  expect(flows[0]).toHaveProperty(['destination.k8s.pod.name']);
});

test('another port is another flow; the newest comes first', async () => {
  const { drop, at, answer } = open();
  drop(toWorker(), 1);
  at(1);
  drop(toWorker(), 2);
  expect((await answer()).flows.map((flow) => flow['destination.port'])).toEqual([2, 1]);
});

test('a flow without a packet for an hour is removed, and starts from one when it returns', async () => {
  const { drop, at, answer, table } = open();
  const meaning = {};
  drop(toWorker(), 1, meaning, 5);
  at(59);
  drop(toWorker(), 2);
  at(61);
  expect((await answer()).flows.map((flow) => flow['destination.port'])).toEqual([2]);
  drop(toWorker(), 1, meaning);
  expect((await answer()).flows).toMatchObject([{ 'network.packets': 1 }, { 'destination.port': 2 }]);
  at(200);
  expect((await answer()).flows).toEqual([]);
  expect(table.sizes).toEqual({ flows: 0, bytes: 0 });
});

test('log, interfaces and evidence are not kept, because the answer does not have them', async () => {
  const { drop, answer } = open();
  drop(toWorker());
  const names = Object.keys((await answer()).flows[0] ?? {});
  expect(names).toContain('source.k8s.pod.name');
  expect(names.filter((name) => /^log\.|^interface\.|evidence/.test(name))).toEqual([]);
});

test('a line with a future time does not keep its flow for ever', async () => {
  const { drop, at, answer } = open();
  drop(toWorker(), 1, {}, 1, nine + 1e9);
  at(61);
  expect((await answer()).flows).toEqual([]);
});

test('no flow has facts that privacy removes', async () => {
  const { drop, answer } = open({ redact: (fields) => ({ ...fields, 'source.address': undefined }) });
  drop(toWorker());
  expect((await answer()).flows[0]).not.toHaveProperty(['source.address']);
});

test('a scanning Pod has its own flows up to a limit, then one for all others, even if there is no more room', async () => {
  const { drop, answer } = open({ limits: { ...limits, perSubject: 5, total: 6 } });
  for (let port = 1; port <= 40; port++) drop(toWorker(), port);
  const { flows } = await answer();
  expect(flows).toHaveLength(6);
  expect(flows.find((flow) => flow['destination.kind'] === 'other')).toMatchObject({ 'network.packets': 35 });
});

test('each forgotten flow of a Pod makes room for one new flow', async () => {
  const { drop, at, answer } = open({ limits: { ...limits, perSubject: 3 } });
  for (const port of [1, 2, 3]) drop(toWorker(), port);
  at(50);
  drop(toWorker(), 1);
  at(61);
  await answer();
  for (let port = 4; port <= 10; port++) drop(toWorker(), port);
  const { flows } = await answer();
  expect(flows.map((flow) => flow['destination.port'])).toEqual([4, 5, undefined, 1]);
  expect(flows[2]).toMatchObject({ 'destination.kind': 'other', 'network.packets': 5 });
});

test('a namespace that floods leaves room for others', async () => {
  const { drop, at, answer, table } = open({ limits: { ...limits, total: 20 } });
  for (let port = 1; port <= 400; port++) drop(toWorker(), port);
  at(1);
  const other = podEnd({ identity: 'other/web', object: podRef('web-0', 'other') });
  drop(ends({ source: externalEnd(), destination: other }));
  const { flows, forgotten } = await answer();
  expect(flows[0]).toMatchObject({ 'destination.k8s.namespace.name': 'other' });
  expect(table.sizes.flows).toBeLessThanOrEqual(20 + limits.joined);
  expect(forgotten).toBeGreaterThan(0);
});

test('limits: bytes: the oldest flows are removed and counted', async () => {
  const { drop, answer, table } = open({ limits: { ...limits, bytes: 20_000 } });
  for (let port = 1; port <= 45; port++) drop(toWorker(), port);
  const { flows, forgotten } = await answer();
  expect(table.sizes.bytes).toBeLessThanOrEqual(20_000);
  expect(flows.length + forgotten).toBe(45);
  expect(flows.length).toBeGreaterThan(5);
  expect(flows.some((flow) => flow['destination.port'] === 1)).toBe(false);
});

test('cut labels stay if all Pods of a flow have them', async () => {
  const { drop, answer } = open();
  const source = { ...workerEnd(1), labels: `app=${'x'.repeat(300)}` };
  for (let packets = 0; packets < 2; packets++) drop(ends({ source, destination: podEnd() }));
  expect((await answer()).flows).toMatchObject([{ 'source.k8s.pod.labels': expect.stringMatching(/^app=x+…$/) }]);
});

test('a name of a megabyte is cut', async () => {
  const { drop, table } = open();
  drop(ends({ source: externalEnd({ address: 'x'.repeat(1_000_000), identity: 'x' }), destination: podEnd() }));
  expect((await table.text()).length).toBeLessThan(3000);
});

test('an answer of many flows lets other work run, and has no flow that is removed meanwhile', async () => {
  const { drop, at, table } = open({ limits: { ...limits, total: 2000, perSubject: 2000, bytes: 10_000_000 } });
  for (let port = 1; port <= 2000; port++) {
    at(port <= 1000 ? 0 : 1);
    drop(toWorker(), port);
  }
  let turns = 0;
  let isDone = false;
  const text = table.text().finally(() => void (isDone = true));
  const count = (): void => {
    turns++;
    // The first 1,000 are now older than an hour.
    at(60.5);
    drop(toWorker(), 10_000 + turns);
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { flows } = JSON.parse(String(await text)) as LiveFlows;
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(flows).toHaveLength(1000);
  expect(flows.every((flow) => Number(flow['network.packets']) > 0)).toBe(true);
});
