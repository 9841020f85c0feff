import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkAgent } from '../../../src/commands/doctor/checks/agent.ts';
import { httpGet, type HttpGet, reachableAt } from '../../../src/commands/doctor/http-get.ts';
import { readMetrics } from '../../../src/commands/doctor/metrics-text.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { nine } from '../../builders.ts';

const now = (): number => nine;

/** Returns what doctor finds of an agent with these metrics. */
async function found(set: (metrics: Metrics) => void, ready = { status: 200, body: 'ok\n' }): Promise<Check> {
  const metrics = createMetrics({ version: '0.1.0' });
  metrics.lines.add(1234, { source: '/var/log/kern.log' });
  metrics.packets.add(5, { verdict: 'dropped' });
  metrics.packets.add(9, { verdict: 'logged' });
  metrics.eventWrites.add(2, { verb: 'create', result: 'ok' });
  metrics.eventWrites.add(4, { verb: 'create', result: 'forbidden' });
  metrics.lastDrop.set((nine - 3000) / 1000);
  metrics.configInForce.set(1);
  set(metrics);
  const body = await metrics.text();
  const get: HttpGet = (_, path) => Promise.resolve(path === '/readyz' ? ready : { status: 200, body });
  return await checkAgent('127.0.0.1:9090', get, false, now);
}
/** How much, and how long ago: the drops without those that were only logged, the writes without those that failed. */
const counts = /\b1234 .* 5 .* 2 .* 3s ago/;

test.each<[(metrics: Metrics) => void, status: string, subject: string]>([
  [() => {}, 'ok', ''],
  [(metrics) => metrics.missingPermission.set(1, { verb: 'patch', resource: 'events' }), 'problem', 'patch events'],
  [(metrics) => metrics.missingPermission.set(0, { verb: 'patch', resource: 'events' }), 'ok', ''],
  [(metrics) => metrics.sourceState.set(1, { source: 'journal', state: 'failed' }), 'problem', 'journal'],
  [(metrics) => metrics.stateErrors.add(3, { operation: 'save' }), 'warning', '; 3 '],
  [(metrics) => metrics.lostBytes.add(70, { source: 'a' }), 'warning', '; 70 '],
  [(metrics) => metrics.configInForce.set(0), 'warning', 'config file'],
])('an agent that runs %#: %s', async (set, status, subject) => {
  const check = await found(set);
  expect(check.status).toBe(status);
  expect(check.finding).toMatch(counts);
  expect(check.finding).toContain(subject);
});

test('an agent that is not ready says for what it waits', async () => {
  await expect(found(() => {}, { status: 503, body: 'not listed yet: pods\nx\n' })).resolves.toMatchObject({
    status: 'warning',
    finding: expect.stringContaining('not listed yet: pods; x') as string,
  });
});

test('an agent without the metrics of the last times', async () => {
  const body = 'kube_netfilter_tailer_build_info{version="0.1.0"} 1\n';
  const check = await checkAgent(':9090', () => Promise.resolve({ status: 200, body }), false, now);
  expect(check).toMatchObject({ status: 'ok', finding: 'runs: 0 lines read, 0 drops, 0 writes of Events' });
});

test.each([
  [false, 'unknown'],
  [true, 'warning'],
])('no agent answers, in a Pod: %j', async (isPod, status) => {
  const check = await checkAgent(':9090', () => Promise.resolve({ error: 'no' }), isPod, now);
  expect(check).toMatchObject({
    status,
    finding: expect.stringMatching(/ 127\.0\.0\.1:9090: no$/) as string,
  });
});

test('another program listens at the address of the agent', async () => {
  const check = await checkAgent(':9090', () => Promise.resolve({ status: 200, body: 'up 1\n' }), false, now);
  expect(check).toMatchObject({ status: 'unknown' });
});

test.each([':0', 'what'])('METRICS_ADDRESS %s names no address', async (address) => {
  await expect(checkAgent(address, () => expect.unreachable(), false, now)).resolves.toMatchObject({
    status: 'unknown',
  });
});

test.each([
  [{ host: undefined, port: 1 }, '127.0.0.1:1'],
  [{ host: '0.0.0.0', port: 1 }, '127.0.0.1:1'],
  [{ host: '::', port: 1 }, '127.0.0.1:1'],
  [{ host: '::1', port: 1 }, '[::1]:1'],
  [{ host: '10.0.0.1', port: 1 }, '10.0.0.1:1'],
])('who listens at %j', (where, expected) => {
  expect(reachableAt(where)).toBe(expected);
});

test('the text of metrics', () => {
  expect(
    readMetrics('# HELP a b\na 1\nb_total{x="1,2",y="a\\"b\\\\c\\nd"} 2.5 1700000000000\nnonsense\nc{} NaN\n'),
  ).toEqual([
    { name: 'a', labels: {}, value: 1 },
    { name: 'b_total', labels: { x: '1,2', y: 'a"b\\c\nd' }, value: 2.5 },
    { name: 'c', labels: {}, value: NaN },
  ]);
});

describe('asking', () => {
  const server = createServer((request, response) => void response.writeHead(201).end(request.url));
  afterEach(() => void server.close());

  test('a server that answers once and is gone', async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(httpGet(address, '/x')).resolves.toEqual({ status: 201, body: '/x' });
    server.close();
    await once(server, 'close');
    await expect(httpGet(address, '/x')).resolves.toEqual({ error: expect.stringContaining('ECONNREFUSED') as string });
  });
});
