import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCertificate } from '../../../src/agent/directory/certificate.ts';
import { startDirectoryServer } from '../../../src/agent/directory/server.ts';
import { type RunningServer, startServer } from '../../../src/agent/telemetry/server.ts';
import { nine } from '../../builders.ts';

/** Tricks of clients at each server that strangers reach: each gets at most one answer, and the next client is served. */

const day = 86_400_000;
const certificate = createCertificate('127.0.0.1', Date.now() - day, Date.now() + day);
const servers = ['metrics', 'health', 'drops', 'directory'] as const;
type Server = (typeof servers)[number];

const paths: Readonly<Record<Server, string>> = {
  metrics: '/metrics',
  health: '/healthz',
  drops: '/drops',
  directory: '/v1/owners/10.65.2.9',
};
const ports = {} as Record<Server, number>;
const stops: (() => Promise<void>)[] = [];
let made = 0;

const text = async (): Promise<string> => `${'x'.repeat(20_000)}${++made}\n`;

beforeAll(async () => {
  const health = { live: () => [], ready: () => [] };
  const common = {
    address: '127.0.0.1:0',
    health,
    timeout: 60_000,
    isOfNode: (host: string) => host === 'node-b.example',
  };
  const started: Record<Exclude<Server, 'directory'>, RunningServer> = {
    metrics: await startServer({
      ...common,
      setting: 'METRICS_ADDRESS',
      metrics: { contentType: 'text/plain', text },
      scrapeInterval: 0,
    }),
    health: await startServer({ ...common, setting: 'HEALTH_ADDRESS' }),
    drops: await startServer({ ...common, setting: 'DROPS_ADDRESS', drops: text }),
  };
  for (const [name, server] of Object.entries(started)) {
    ports[name as Server] = Number(server.address.split(':')[1]);
    stops.push(server.stop);
  }
  const directory = await startDirectoryServer({
    address: { host: '127.0.0.1', port: 0 },
    certificate,
    check: (authorization) => Promise.resolve(authorization === 'Bearer agent' ? 'agent' : 'stranger'),
    ownersOf: () => ({ pods: [], node: 'node-b' }),
    onAnswer: () => {},
    clock: { toWall: () => nine },
  });
  ports.directory = directory.port;
  stops.push(directory.stop);
});
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
});

let clients = 0;

/** Each client has another address unless one is given. */
async function open(
  server: Server,
  localAddress = `127.0.${1 + Math.floor(++clients / 250)}.${1 + (clients % 250)}`,
): Promise<Socket> {
  const where = { host: '127.0.0.1', port: ports[server], allowHalfOpen: true, localAddress };
  const socket = server === 'directory' ? connectTls({ ...where, ca: certificate.certificate }) : connect(where);
  socket.on('error', () => {});
  socket.once('end', () => socket.end());
  await once(socket, server === 'directory' ? 'secureConnect' : 'connect');
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

/** Sends the bytes, and returns the statuses of all answers until the connection is closed. */
async function statusesOf(server: Server, sent: string): Promise<number[]> {
  const socket = await open(server);
  let received = '';
  socket.on('data', (chunk: Buffer) => void (received += chunk.toString('latin1')));
  const end = closed(socket);
  socket.write(sent, 'latin1');
  // The directory keeps the connection open after an answer, so the client ends it.
  socket.once('data', () => {
    if (/connection: keep-alive/i.test(received)) socket.end();
  });
  await end;
  return [...received.matchAll(/^HTTP\/1\.1 (\d+) /gm)].map(([, status]) => Number(status));
}

const one = (path: string, headers = '', line = `GET ${path} HTTP/1.1`): string =>
  `${line}\r\nHost: 127.0.0.1\r\nAuthorization: Bearer agent\r\n${headers}\r\n`;

const withHost = (path: string, host: string, headers = ''): string =>
  one(path, headers).replace('Host: 127.0.0.1', `Host: ${host}`);

/** The status at all servers. If the servers differ: a list in the order of `servers`. */
const tricks: Readonly<Record<string, [(path: string) => string, number | readonly number[]]>> = {
  'a usual request': [(path) => one(path), 200],
  'a query': [(path) => one(`${path}?x=/healthz`), [200, 200, 200, 400]],
  'HTTP/1.0 without a Host': [(path) => `GET ${path} HTTP/1.0\r\nAuthorization: Bearer agent\r\n\r\n`, 200],
  'an absolute URI': [(path) => one(path, '', `GET http://127.0.0.1:9${path} HTTP/1.1`), 200],
  'an absolute URI of another name': [(path) => one(path, '', `GET http://evil.example${path} HTTP/1.1`), 421],
  'a page of another name (DNS rebinding)': [
    (path) => withHost(path, 'evil.example:9090', 'Origin: http://evil.example\r\n'),
    421,
  ],
  'another name with a last dot': [(path) => withHost(path, 'EVIL.example.'), 421],
  'a name that only begins like a Service': [(path) => withHost(path, 'a.b.svc.evil.example'), 421],
  'a name that only begins like an address': [(path) => withHost(path, '127.0.0.1.evil.example'), 421],
  'a page that says the API server had sent it': [
    (path) => withHost(path, 'evil.example', 'X-Forwarded-Uri: /api/v1/namespaces/x\r\nAccept-Language: en\r\n'),
    421,
  ],
  "the API server's proxy": [
    (path) =>
      withHost(path, 'abc.eks.example.com', 'X-Forwarded-Uri: /api/v1/namespaces/a/pods/b:9092/proxy/drops\r\n'),
    200,
  ],
  'a port that is forwarded': [(path) => withHost(path, 'localhost:1234'), 200],
  'an IPv6 address': [(path) => withHost(path, '[fd00::1]:9090'), 200],
  'a Service': [(path) => withHost(path, 'agent.kube-netfilter-tailer.svc:9090'), 200],
  'a Service with the domain of the cluster': [(path) => withHost(path, 'agent.drops.svc.cluster.local'), 200],
  'a Node': [(path) => withHost(path, 'node-b.example'), [200, 200, 200, 421]],
  'an empty Host': [(path) => withHost(path, ''), 200],
  'no Host': [(path) => `GET ${path} HTTP/1.1\r\n\r\n`, 400],
  'two Hosts': [(path) => one(path, 'Host: evil.example\r\n'), 400],
  'a Host with a user': [(path) => withHost(path, 'user@127.0.0.1'), 400],
  'an upgrade': [(path) => one(path, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), 200],
  'an upgrade to HTTP/2': [
    (path) => one(path, 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n'),
    200,
  ],
  'HTTP/2 at once': [() => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  CONNECT: [(path) => one(path, '', 'CONNECT a.example:1 HTTP/1.1'), 405],
  TRACE: [(path) => one(path, '', `TRACE ${path} HTTP/1.1`), [405, 405, 405, 400]],
  OPTIONS: [(path) => one(path, '', 'OPTIONS * HTTP/1.1'), [404, 404, 404, 400]],
  'a body': [(path) => `${one(path, 'Content-Length: 5\r\n')}hello`, 413],
  'a body in a POST': [(path) => `${one(path, 'Content-Length: 5\r\n', `POST ${path} HTTP/1.1`)}hello`, 413],
  'an empty body': [(path) => one(path, 'Content-Length: 0\r\n'), 200],
  'chunks with a trailer': [(path) => `${one(path, 'Transfer-Encoding: chunked\r\n')}0\r\nX: y\r\n\r\n`, 413],
  'two lengths': [(path) => `${one(path, 'Content-Length: 0\r\nContent-Length: 5\r\n')}hello`, 400],
  'a request in the chunks of another': [
    (path) => `${one(path, 'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n${one(path)}`,
    400,
  ],
  'an expectation': [(path) => one(path, 'Expect: 100-continue\r\n'), 417],
  'two requests at once': [(path) => one(path).repeat(2), 200],
  'a request and a bit more': [(path) => `${one(path)}G`, 200],
  'a request that ends the connection, and one behind it': [
    (path) => one(path, 'Connection: close\r\n') + one(path),
    200,
  ],
  'two requests, of which the first is refused': [(path) => withHost(path, 'evil.example') + one(path), 421],
  '2,000 requests at once': [(path) => one(path).repeat(2000), 200],
  'a request behind a blank line': [(path) => `\r\n${one(path)}`, 200],
  'a header of 20 KB': [(path) => one(path, `A: ${'a'.repeat(20_000)}\r\n`), 431],
  '1,500 headers': [(path) => one(path, 'a:b\r\n'.repeat(1500)), 431],
  'a folded header': [(path) => one(path, 'A: b\r\n c\r\n'), 400],
  'a blank before a colon': [(path) => one(path, 'A : b\r\n'), 400],
  'line feeds alone': [(path) => `GET ${path} HTTP/1.1\nHost: 127.0.0.1\n\n\r\n\r\n`, 400],
  'a NUL': [(path) => one(`${path}\0`), 400],
  'a control character in a header': [(path) => one(path, 'A: \x01\r\n'), 400],
  'no HTTP': [() => '\x16\x03\x01\x00\xff\r\n\r\n', 400],
  'two slashes': [(path) => one(`/${path}`), [404, 404, 404, 400]],
  'a way around': [(path) => one(`/healthz/..${path}`), [404, 404, 404, 400]],
  'an encoded path': [
    (path) => one(path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)),
    [404, 404, 404, 400],
  ],
  'a line break in the path': [() => one('/%0d%0aSet-Cookie:x'), [404, 404, 404, 400]],
};

describe.each(servers)('%s', (server) => {
  test.each(Object.entries(tricks))('a client that tries %s has one answer', async (_, [request, statuses]) => {
    const expected = typeof statuses === 'number' ? statuses : statuses[servers.indexOf(server)];
    expect(await statusesOf(server, request(paths[server]))).toEqual([expected]);
  });

  test('a client that half-closes after its request gets its answer', async () => {
    const socket = await open(server);
    socket.end(one(paths[server]));
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
  });

  test('a request in single bytes is answered', async () => {
    const socket = await open(server);
    socket.setNoDelay(true);
    for (const byte of one(paths[server])) socket.write(byte);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
  });
});

test('several requests that arrive at once get one answer: the others are not read', async () => {
  const before = made;
  const sockets = await Promise.all(Array.from({ length: 8 }, () => open('metrics')));
  for (const socket of sockets) socket.resume().write(one('/metrics').repeat(5000));
  await Promise.all(sockets.map((socket) => closed(socket)));
  expect(made - before).toBe(sockets.length);
  expect(sockets.every(({ bytesRead }) => bytesRead < 21_000)).toBe(true);
});

test('over TLS, the idle connection is closed, not the one being answered', async () => {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const server = await startDirectoryServer({
    address: { host: '127.0.0.1', port: 0 },
    certificate,
    check: async () => (await late, 'agent'),
    ownersOf: () => ({ pods: [], node: 'node-b' }),
    onAnswer: () => {},
    clock: { toWall: () => nine },
  });
  const usual = ports.directory;
  ports.directory = server.port;
  const busy = await open('directory', '127.0.9.9');
  busy.write(one(paths.directory));
  const answered = once(busy, 'data') as Promise<[Buffer]>;
  const idle = await open('directory', '127.0.9.9');
  const ended = once(idle.resume(), 'close');
  for (let more = 0; more < 3; more++) await open('directory', '127.0.9.9');
  await ended;
  resolve();
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 200 OK/);
  ports.directory = usual;
  await server.stop();
});
