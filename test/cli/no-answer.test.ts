import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../src/agent/directory/certificate.ts';
import { createDirectoryFinder } from '../../src/agent/directory/client.ts';
import { encodeReplica } from '../../src/agent/directory/replicas.ts';
import { createConnection } from '../../src/agent/kubernetes/connection.ts';
import { askAgent } from '../../src/cli/doctor/machine.ts';
import { createOtlpSink } from '../../src/publish/audit/sinks/otlp.ts';

/** Another program in place of a server may send anything but an answer: each client reports that at once, long before its time limit. */

const clock = { now: Date.now, wall: Date.now, fromWall: (time: number) => time };
const api = (port: number, timeout = 60_000) =>
  createConnection({
    access: { server: `http://127.0.0.1:${port}`, authenticate: () => Promise.resolve({}) },
    userAgent: 'test',
    clock,
    timeout,
  });
const never = new AbortController().signal;
const event = { kind: 'Event', metadata: { name: 'web.1' } };

/** Each resolves to the reported message. */
const clients: Record<string, (port: number) => Promise<string>> = {
  'the agent’s GET': async (port) => reasonIn(await api(port).request('GET', '/api/v1/nodes')),
  'the agent’s POST': async (port) =>
    reasonIn(await api(port).request('POST', '/api/v1/namespaces/shop/events', { body: event })),
  'the agent’s watch': (port) => refusalOf(api(port).stream('/api/v1/pods', {}, never)),
  'doctor’s question to the agent': async (port) => {
    const answer = await askAgent(`127.0.0.1:${port}`);
    return answer.kind === 'silent' ? answer.reason : answer.kind;
  },
  'the audit’s receiver': (port) => {
    const url = `http://127.0.0.1:${port}`;
    const sink = createOtlpSink({ url, headers: () => ({}), ca: undefined, resource: {}, timeout: 60_000 });
    onTestFinished(() => sink.close());
    return refusalOf(sink.send(['{}'], never));
  },
};

const informational = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';

const endless = 'x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(1000);

const strangers: [string, string, RegExp][] = [
  ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n', /status 101/],
  ['101 without a protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', /status 101/],
  [
    '101 with a body',
    'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\ncontent-length: 5\r\n\r\nhello',
    /status 101/,
  ],
  ['1xx without end', informational.repeat(1000), /status 103 without end/],
  ['100 without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), /status 100 without end/],
  ['headers without end', `HTTP/1.1 200 OK\r\n${endless}`, /Header overflow/],
];

describe.each(strangers)('a server that sends %s', (_, text, reason) => {
  test.each(Object.keys(clients))('fails %s at once', async (name) => {
    const port = await listen(createServer(answering(text)));
    expect(await (clients[name] as (typeof clients)[string])(port)).toMatch(reason);
  });

  test('fails a look-up in the shared directory at once', async () => {
    const now = Date.now();
    const certificate = createCertificate('127.0.0.1', now - 60_000, now + 60_000);
    const { key, certificate: cert } = certificate;
    const port = await listen(createTlsServer({ key, cert }, answering(text)));
    const folder = mkdtempSync(join(tmpdir(), 'no-answer-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'token'), 'a-token\n');
    writeFileSync(join(folder, 'one'), encodeReplica({ host: '127.0.0.1', port, certificate: cert }));
    const { find } = createDirectoryFinder({ folder, clock, random: () => 0.5, timeout: 60_000 });
    expect(await refusalOf(find('10.65.2.9', 'shop'))).toMatch(reason);
  });
});

test('if a server answers 101 once, the connection is tried again', async () => {
  let asked = 0;
  const page = '{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}';
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${page.length}\r\n\r\n${page}`;
  const switching = strangers[0]?.[1] ?? '';
  const port = await listen(createServer((socket) => answering(asked++ === 0 ? switching : answer)(socket)));
  const { request } = api(port);
  expect(await request('GET', '/api/v1/nodes')).toMatchObject({ kind: 'refused', status: 0 });
  expect(await request('GET', '/api/v1/nodes')).toMatchObject({ kind: 'answered' });
});

function answering(text: string) {
  return (socket: Socket): void => {
    socket.on('error', () => {}).once('data', () => socket.write(text));
  };
}

async function listen(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function reasonIn(answer: Awaited<ReturnType<ReturnType<typeof api>['request']>>): string {
  return answer.kind === 'refused' ? answer.message : 'answered';
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'fulfilled',
    (error: unknown) => String(error),
  );
}
