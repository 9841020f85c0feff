import { expect, onTestFinished, test } from 'vitest';
import { createConnection } from '../../../src/agent/kubernetes/connection.ts';
import { askAgents, listAgents } from '../../../src/cli/top/agents.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import { plainText } from '../../../src/cli/top/view.ts';
import { type Asked, startScriptedServer } from '../../agent/kubernetes/scripted-server.ts';
import { flow } from './flows.ts';

type List = typeof listAgents;

const options = { agents: { namespace: 'drops', port: undefined }, node: undefined } as Parameters<List>[1];
const pod = (name: string, labels: Record<string, string>, ports: readonly object[]) => ({
  metadata: { name, labels },
  spec: { nodeName: 'node-a', containers: [{ ports }] },
  status: { phase: 'Running' },
});
const ours = { 'app.kubernetes.io/name': 'kube-netfilter-tailer' };
const drops = { name: 'drops', containerPort: 9999 };

/** Serves Pods, by the label that is asked for. */
function serving(...pods: readonly ReturnType<typeof pod>[]): Parameters<List>[0] {
  const request = (_: string, __: string, { query = {} }: { query?: Record<string, unknown> } = {}) => {
    const [key = '', value] = (query['labelSelector'] as string | undefined)?.split('=') ?? [];
    const items = pods.filter(({ metadata }) => key === '' || metadata.labels[key] === value);
    return Promise.resolve({ kind: 'answered', body: { items } });
  };
  return { request } as unknown as Parameters<List>[0];
}

test('agents are the Pods with the label, at their port "drops" or the usual one', async () => {
  const connection = serving(pod('a', ours, [drops]), pod('b', ours, []), pod('c', {}, [drops]));
  expect(await listAgents(connection, options)).toMatchObject([
    { name: 'a', port: 9999 },
    { name: 'b', port: 9092 },
  ]);
});

test('if no Pod has the label, as with nameOverride, agents are the Pods with the port', async () => {
  const other = { 'app.kubernetes.io/name': 'other' };
  const connection = serving(pod('a', other, [drops]), pod('b', other, [{ name: 'http', containerPort: 80 }]));
  expect(await listAgents(connection, options)).toEqual([{ name: 'a', node: 'node-a', port: 9999 }]);
});

const nested = '['.repeat(200_000) + ']'.repeat(200_000);
const status = (code: number) =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no', reason: 'Forbidden' });

const strangers: [string, (asked: Asked) => unknown, RegExp | undefined][] = [
  ['is no JSON', ({ response }) => response.end('<html>'), /^it answers version none/],
  ['is empty', ({ response }) => response.end(), /^it answers version none/],
  ['is a text', ({ response }) => response.end('"x"'), /^it answers version none/],
  ['is nested', ({ response }) => response.end(nested), /^it answers version none/],
  ['has a nested version', ({ response }) => response.end(`{"version":${nested}}`), /^it answers version none/],
  [
    'has a long version',
    ({ response }) => response.end(`{"version":"${'x'.repeat(9999)}"}`),
    /^it answers version x{1,32}…/,
  ],
  ['has no flows', ({ response }) => response.end('{"version":1,"flows":{}}'), /^its answer has no list of flows$/],
  [
    'is too large',
    ({ response }) => response.end(`{"version":1,"flows":["${'x'.repeat(5_000_000)}"]}`),
    /^no answer: the answer has too much/,
  ],
  ['is a refusal', ({ response }) => response.writeHead(403).end(status(403)), /^no$/],
  ['is not to be known', ({ response }) => response.writeHead(401).end(status(401)), /^no$/],
  [
    'breaks off',
    ({ response }) => response.writeHead(200, { 'content-length': 99 }).write('{') && response.destroy(),
    /^no answer/,
  ],
  [
    'switches protocols',
    ({ response }) => response.socket?.end('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    /status 101/,
  ],
  ['never comes', () => {}, /^no answer: .*time/],
  [
    'has nested fields',
    ({ response }) => response.end(`{"version":1,"flows":[{"source.address":${nested},"network.packets":${nested}}]}`),
    undefined,
  ],
  [
    'has counts without end',
    ({ response }) => response.end('{"version":1,"flows":[{"network.packets":1e999},{"network.packets":-1}]}'),
    undefined,
  ],
];

test.each(strangers)('an agent whose answer %s hides no rows of others', async (_, stranger, problem) => {
  const good = JSON.stringify({ version: 1, flows: [flow()] });
  const server = await startScriptedServer((asked) => {
    if (asked.path.includes('/good:')) asked.response.end(good);
    else stranger(asked);
  });
  onTestFinished(() => server.stop());
  const clock = { now: Date.now, wall: Date.now };
  // Only the answer that never comes runs into the time limit.
  const timeout = problem?.source.endsWith('time') === true ? 500 : 30_000;
  const connection = createConnection({ access: server.access(), userAgent: 'test', clock, timeout });
  const { take } = createRates();
  const pods = ['good', 'bad'].map((name) => ({ name, node: `node-of-${name}`, port: 9092 }));
  for (const now of [0, 1000]) {
    const look = await askAgents(connection, options, pods);
    const [[said, nodes] = []] = look.problems;
    expect(nodes).toEqual(problem && ['node-of-bad']);
    if (problem !== undefined) expect(said).toMatch(problem);
    const rows = take(look.flows, now);
    expect(rows.find(({ from }) => from.startsWith('batch/worker'))).toMatchObject({ packets: 36 });
    const scope = 'all namespaces';
    const view = { rows, agents: { asked: 2, answered: 1 }, problem: said, sort: 'rate', filter: '', scope } as const;
    expect(plainText({ ...view, reversed: false, isTyping: false, selected: 0 }, now)).not.toMatch(/NaN|Infinity/);
  }
});

test('if all agents refuse, as without the right to ask them, their refusal is the reason', async () => {
  const server = await startScriptedServer(({ response }) => response.writeHead(403).end(status(403)));
  onTestFinished(() => server.stop());
  const clock = { now: Date.now, wall: Date.now };
  const connection = createConnection({ access: server.access(), userAgent: 'test', clock });
  await expect(askAgents(connection, options, [{ name: 'a', node: 'node-a', port: 1 }])).rejects.toThrow('no');
});
