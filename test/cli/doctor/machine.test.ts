import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readMetrics } from '../../../src/cli/doctor/checks/agent.ts';
import { askAgent, findOwnPod, reachableAt } from '../../../src/cli/doctor/machine.ts';
import { found } from './scene.ts';
import { agentWith } from './sentences.ts';

test('a right that was granted since is not a problem', async () => {
  const agent = await agentWith((metrics) => metrics.missingPermission.set(0, { verb: 'patch', resource: 'events' }));
  expect(found('agent', agent)).toMatchObject([{ status: 'ok' }]);
});

test('an agent without the latest metrics reports its counts', () => {
  const metrics = 'kube_netfilter_tailer_build_info{version="0.1.0"} 1\n';
  const agent = { kind: 'answers', address: '127.0.0.1:9090', status: 200, readiness: 'ok', metrics } as const;
  expect(found('agent', { agent })).toMatchObject([
    { status: 'ok', finding: 'runs: 0 lines read, 0 drops, 0 writes of Events' },
  ]);
});

test('the own Pod is the one that POD_NAME and POD_NAMESPACE name', () => {
  expect(findOwnPod({ POD_NAME: 'a', POD_NAMESPACE: 'b' })).toEqual({ namespace: 'b', name: 'a' });
});

test.each([
  [{ host: undefined, port: 1 }, '127.0.0.1:1'],
  [{ host: '0.0.0.0', port: 1 }, '127.0.0.1:1'],
  [{ host: '::', port: 1 }, '127.0.0.1:1'],
  [{ host: '::1', port: 1 }, '[::1]:1'],
  [{ host: '10.0.0.1', port: 1 }, '10.0.0.1:1'],
])('an agent that listens on %j is asked at %s', (where, expected) => {
  expect(reachableAt(where)).toBe(expected);
});

test('the text of metrics is read with labels and their escapes', () => {
  expect(
    readMetrics('# HELP a b\na 1\nb_total{x="1,2",y="a\\"b\\\\c\\nd"} 2.5 1700000000000\nnonsense\nc{} NaN\n'),
  ).toEqual([
    { name: 'a', labels: {}, value: 1 },
    { name: 'b_total', labels: { x: '1,2', y: 'a"b\\c\nd' }, value: 2.5 },
    { name: 'c', labels: {}, value: NaN },
  ]);
});

test.each([':0', 'what'])('METRICS_ADDRESS %s does not name an address', async (address) => {
  await expect(askAgent(address)).resolves.toEqual({ kind: 'nowhere' });
});

test('a server with a too long answer counts as silent', async () => {
  const server = createServer((_, response) => void response.end(Buffer.alloc((16 << 20) + 1)));
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(askAgent(`127.0.0.1:${port}`)).resolves.toMatchObject({
    kind: 'silent',
    reason: expect.stringContaining('too long') as string,
  });
});

test('a server is asked for readiness and metrics, and counts as silent once it is gone', async () => {
  const server = createServer((request, response) => void response.writeHead(201).end(request.url));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(askAgent(address)).resolves.toEqual({
    kind: 'answers',
    address,
    status: 201,
    readiness: '/readyz',
    metrics: '/metrics',
  });
  server.close();
  await once(server, 'close');
  await expect(askAgent(address)).resolves.toEqual({
    kind: 'silent',
    address,
    reason: expect.stringContaining('ECONNREFUSED') as string,
  });
});
