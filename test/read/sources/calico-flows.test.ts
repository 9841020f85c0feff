import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from '../../../src/read/parsing/parsing.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createCalicoFlows, calicoFlowsObstacle } from '../../../src/read/sources/calico-flows/calico-flows.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { fakeTime } from './fake-time.ts';
import { listening } from './heard.ts';
import { temporaryFolder } from './temporary-folder.ts';

const tables: { read: (object | undefined)[] } = {
  // What is read of flows that Felix sends. A continuing flow without packets gives nothing.
  read: [
    {
      verdict: 'dropped',
      policySide: 'receiver',
      policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'postgres' },
      packet: {
        source: 'batch/worker-84f9d6c5bb-*',
        destination: 'shop/postgres-*',
        protocol: 'TCP',
        destinationPort: 5432,
      },
      repeat: 3,
    },
    {
      policySide: 'sender',
      policy: { kind: 'NetworkPolicy.projectcalico.org', namespace: 'shop', name: 'no-payments', tier: 'default' },
      packet: { source: 'shop/cart-79d4c5b6c8-*', destination: 'public network', destinationPort: 443 },
      repeat: 5,
    },
    // Felix remembers a flow for a while after its last packet.
    undefined,
    {
      policy: { kind: 'ClusterNetworkPolicy', name: 'lockdown', tier: 'kube-admin' },
      packet: { source: 'NetworkSet shop/partners' },
      repeat: 1,
    },
  ],
};

/**
 * Tests how the flows of Calico's Felix are taken. The messages are those that Felix's own code makes of flows
 * (felix/collector/goldmane, 2026-08).
 */
const messages = {
  denied:
    'CqYBCncKE3dvcmtlci04NGY5ZDZjNWJiLSoSBWJhdGNoGAEiCnBvc3RncmVzLSoqBHNob3AwATi4KmIDdGNwaAJwAno3CjUICiIHZGVmYXVsdCgCOP///////////wFCGwgGEgRzaG9wGghwb3N0Z3JlcyIHZGVmYXVsdBCs7IXYBhis7IXYBiIKYXBwPXdvcmtlcioMYXBwPXBvc3RncmVzMANAtAFgAQ==',
  allowed:
    'CoABClEKE3dvcmtlci04NGY5ZDZjNWJiLSoSBWJhdGNoGAEiCnBvc3RncmVzLSoqBHNob3AwATi4KmIDdGNwaAFwAXoRCg8ICRoJa25zLmJhdGNoKAEQrOyF2AYYrOyF2AYiCmFwcD13b3JrZXIqDGFwcD1wb3N0Z3JlczADQLQBYAE=',
  egress:
    'CoYBClcKEWNhcnQtNzlkNGM1YjZjOC0qEgRzaG9wGAEiA3B1YioBLTAEOLsDYgN0Y3BoAXACeiQKIggBEgRzaG9wGgtuby1wYXltZW50cyIHZGVmYXVsdCgCOAEQrOyF2AYYrOyF2AYiCmFwcD13b3JrZXIqDGFwcD1wb3N0Z3JlczAFQKwCYAE=',
  withoutPackets:
    'CnMKSQoGbm9kZS1iEgEtGAIiCnBvc3RncmVzLSoqBHNob3AwATi4KmIDdGNwaAJwAnoaChgIAhoIbG9ja2Rvd24iCHBsYXRmb3JtKAIQrOyF2AYYrOyF2AYiCmFwcD13b3JrZXIqDGFwcD1wb3N0Z3Jlc2AB',
  fromSet:
    'Cn4KUAoIcGFydG5lcnMSBHNob3AYAyIKcG9zdGdyZXMtKioEc2hvcDABOLgqYgN0Y3BoAnACehwKGggLGghsb2NrZG93biIKa3ViZS1hZG1pbigCEKzshdgGGKzshdgGIgphcHA9d29ya2VyKgxhcHA9cG9zdGdyZXMwAUA8YAE=',
};
type Message = keyof typeof messages;

const start = 1_795_258_000_000;
const temporary = temporaryFolder();
let folder: string;
let sources: Source[];
let clients: Client[];

beforeEach((context) => {
  folder = temporary(context.task.id);
  mkdirSync(folder);
  [sources, clients] = [[], []];
});
afterEach(() => {
  for (const client of clients) client.close();
  for (const source of sources) source.stop();
});

type Listening = Awaited<ReturnType<typeof listen>>;

async function listen(saved?: Position) {
  const { heard, listener } = listening();
  const time = fakeTime(start);
  const source = createCalicoFlows({ folder, saved, listener, timing: time });
  sources.push(source);
  source.start();
  // A look at the socket ends by setting a timer for the next one.
  await expect.poll(() => time.pending).toBe(1);
  return { heard, source, time };
}

/** Lets the next look at the socket happen. */
async function lookAgain(time: Listening['time']): Promise<void> {
  expect(time.step()).toBe(10_000);
  await expect.poll(() => time.pending).toBe(1);
}

function socket(): string {
  return join(folder, 'flows.sock');
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function connect(method = '/goldmane.FlowCollector/Connect'): ClientDuplexStream<Buffer, Buffer> {
  const client = new Client(`unix:${socket()}`, credentials.createInsecure());
  clients.push(client);
  // A test that closes its client cancels its streams.
  return client.makeBidiStreamRequest(method, same, same).on('error', () => {});
}

/** Sends as Felix does: each message after the receipt of the previous one. */
async function send(stream: ClientDuplexStream<Buffer, Buffer>, ...given: (Message | Buffer)[]): Promise<void> {
  for (const each of given) {
    const receipt = once(stream, 'data');
    stream.write(typeof each === 'string' ? Buffer.from(messages[each], 'base64') : each);
    expect(await receipt).toEqual([Buffer.alloc(0)]);
  }
}

async function failureOf(stream: ClientDuplexStream<Buffer, Buffer>): Promise<number> {
  const [error] = (await once(stream, 'error')) as [ServiceError];
  return error.code;
}

test('denied flows are handed over, each with a receipt', async () => {
  const { heard, source } = await listen();
  expect(source.state).toBe('reading');
  await send(connect(), 'denied', 'allowed', 'egress', 'fromSet');
  expect(heard.lines.map(({ line }) => line)).toEqual([1, 3, 4]);
  const common = { source: 'calico-flows', program: 'calico-flows', origin: 'kernel', timeIsExact: false };
  for (const line of heard.lines) expect(line).toMatchObject({ ...common, time: 1_795_257_900_000 });
  expect(source.counts).toMatchObject({ lines: 4, tooLong: 0 });
  expect(heard.notices).toEqual([]);
});

test('a flow from Felix is read as a packet', async () => {
  const { heard } = await listen();
  await send(connect(), 'denied', 'egress', 'withoutPackets', 'fromSet');
  const prefixes = createPrefixTable([]);
  expect(heard.lines.map(({ text, origin, program }) => parse(text, prefixes, origin, program))).toMatchObject(
    tables.read,
  );
});

test('flows that are sent again are counted once, also by the next agent', async () => {
  const { heard, source } = await listen();
  await send(connect(), 'denied', 'egress');
  await send(connect(), 'egress', 'denied');
  expect(heard.lines).toHaveLength(2);
  const { position } = source;
  source.stop();
  const next = await listen(JSON.parse(JSON.stringify(position)) as Position);
  await send(connect(), 'denied', 'fromSet', 'egress');
  expect(next.heard.lines.map(({ line }) => line)).toEqual([2]);
});

test('a flow is forgotten after Felix has forgotten it, and past a limit the oldest is', async () => {
  const { source, time } = await listen();
  const stream = connect();
  await send(stream, 'denied');
  time.setWallClock(start + 360_001);
  await send(stream, 'egress');
  expect(source.position?.['taken']).toHaveLength(1);
});

test('a position of another kind is not used', async () => {
  for (const saved of [{ taken: 7 }, { taken: [7, [1, 2], ['a'], null] }, {}]) {
    const { heard, source } = await listen(saved);
    await send(connect(), 'denied');
    expect(heard.lines).toHaveLength(1);
    source.stop();
  }
});

test('a broken message of Felix ends only its own connection', async () => {
  const { heard, source } = await listen();
  const stream = connect();
  stream.write(Buffer.from('0a7f0a', 'hex'));
  expect(await failureOf(stream)).toBe(status.INTERNAL);
  const long = connect();
  long.write(Buffer.alloc((1 << 20) + 1));
  expect(await failureOf(long)).toBe(status.RESOURCE_EXHAUSTED);
  expect(await failureOf(connect('/goldmane.Flows/List'))).toBe(status.UNIMPLEMENTED);
  const bare = createConnection(socket()).end('GET / HTTP/1.1\r\n\r\n');
  await once(bare.resume(), 'close');
  await send(connect(), Buffer.alloc(0), 'denied');
  expect(heard.lines).toHaveLength(1);
  expect(source.state).toBe('reading');
});

/** A field of a message whose length takes three bytes. */
function fieldOf(id: number, bytes: Buffer): Buffer {
  const { length } = bytes;
  return Buffer.concat([
    Buffer.from([(id << 3) | 2, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]),
    bytes,
  ]);
}

test('a flow with endless names is counted and not handed over', async () => {
  const { heard, source } = await listen();
  const name = Buffer.alloc(70_000, 'a');
  const key = Buffer.concat([fieldOf(1, name), Buffer.from([14 << 3, 2])]);
  await send(connect(), fieldOf(1, fieldOf(1, key)), 'denied');
  expect(heard.lines).toHaveLength(1);
  expect(source.counts.tooLong).toBe(1);
});

test('a socket of another program is left alone until that program ends', async () => {
  const other = createServer().listen(socket());
  await once(other, 'listening');
  const { heard, source, time } = await listen();
  expect(source.state).toBe('failed');
  expect(heard.notices).toMatchObject([
    { level: 'error', key: 'failed', text: expect.stringContaining('another program') as string },
  ]);
  other.close();
  await once(other, 'close');
  await lookAgain(time);
  expect(source.state).toBe('reading');
  expect(heard.notices.slice(1)).toMatchObject([{ level: 'info', key: 'well' }]);
  await send(connect(), 'denied');
  expect(heard.lines).toHaveLength(1);
});

test('a socket that a killed program has left is replaced, and a removed one is created again', async () => {
  const listener = spawn(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(socket())}, () => console.log())`,
  ]);
  await once(listener.stdout, 'data');
  listener.kill('SIGKILL');
  await once(listener, 'exit');
  expect(lstatSync(socket()).isSocket()).toBe(true);
  const { heard, time } = await listen();
  await send(connect(), 'denied');
  rmSync(socket());
  await lookAgain(time);
  await send(connect(), 'egress');
  expect(heard.lines).toHaveLength(2);
});

test('a program that takes over the socket keeps it, and gives it back by removing it', async () => {
  const { heard, source, time } = await listen();
  await send(connect(), 'denied');
  rmSync(socket());
  const other = createServer((each) => each.destroy()).listen(socket());
  await once(other, 'listening');
  await lookAgain(time);
  expect(source.state).toBe('failed');
  await once(createConnection(socket()).resume(), 'close');
  other.close();
  await once(other, 'close');
  await lookAgain(time);
  await send(connect(), 'denied', 'egress');
  expect(heard.lines).toHaveLength(2);
});

test('the file stays after a stop, so that Felix keeps its flows for the next agent', async () => {
  const { source } = await listen();
  await send(connect(), 'denied');
  source.stop();
  expect(lstatSync(socket()).isSocket()).toBe(true);
  expect(readdirSync(folder)).toEqual(['flows.sock']);
  const [error] = (await once(createConnection(socket()), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('a folder in place of the socket that cannot be removed is reported', async () => {
  mkdirSync(socket());
  const { heard, source } = await listen();
  expect(source.state).toBe('failed');
  expect(heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
});

test('if the folder is missing, the notice and the check say so', async () => {
  rmSync(folder, { recursive: true });
  const { heard, source } = await listen();
  expect(source.state).toBe('failed');
  expect(heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
  expect(calicoFlowsObstacle(folder)).toContain('no such file');
  expect(calicoFlowsObstacle(temporary())).toBeUndefined();
});
