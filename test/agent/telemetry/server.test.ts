import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test, vi } from 'vitest';
import { createArrivals } from '../../../src/base/platform/arrivals.ts';
import { processorTime } from '../../../src/base/platform/clock.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../src/agent/telemetry/server.ts';

const plain = 'text/plain; charset=utf-8';
const well = { live: () => [], ready: () => [] };
const metrics = { contentType: 'text/plain; version=0.0.4', text: async () => 'é 1\n' };

const running: RunningServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function start(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const server = await startServer({
    setting: 'METRICS_ADDRESS',
    address: '127.0.0.1:0',
    metrics,
    health: well,
    // On a busy machine a usual client is also slow.
    timeout: 60_000,
    ...options,
  });
  running.push(server);
  return server;
}

/** A server whose scrape calls `began` and ends with the result of `scraped`. */
async function startScraped(options: Partial<ServerOptions> = {}) {
  const [began, scraped] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const scrape = (): Promise<string> => (began.resolve(), scraped.promise);
  return { server: await start({ metrics: { ...metrics, text: scrape }, ...options }), began: began.promise, scraped };
}

const drops = async (): Promise<string> => '{"version":1}\n';

function fail(): never {
  throw new Error('broken');
}

async function ask({ address }: RunningServer, path: string, method = 'GET') {
  const asked = request(`http://${address}${path}`, { method, agent: false });
  const [response] = await once(asked.end(), 'response');
  const { 'content-type': type, 'content-length': length, allow } = response.headers;
  return { status: response.statusCode, type, length, allow, body: await text(response) };
}

async function open({ address }: RunningServer, from: { localAddress?: string } = {}): Promise<Socket> {
  const [host, port] = address.split(':');
  const socket = connect({ port: Number(port), host, ...from });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function openFrom(server: RunningServer, localAddress: string, count: number): Promise<Socket[]> {
  return await Promise.all(Array.from({ length: count }, () => open(server, { localAddress })));
}

/** Resolves when the socket is closed, even by a reset. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

test('metrics are served', async () => {
  const got = await ask(await start(), '/metrics?name=x');
  expect(got).toEqual({
    status: 200,
    type: 'text/plain; version=0.0.4',
    length: '5',
    allow: undefined,
    body: 'é 1\n',
  });
});

test.each([['/healthz'], ['/readyz']])('answers %s when all is well', async (path) => {
  expect(await ask(await start(), path)).toMatchObject({ status: 200, type: plain, body: 'ok\n' });
});

test('the answer has one line for each reason', async () => {
  const health = { live: () => ['no source'], ready: () => ['the list of Pods', 'line\nbreak\x1b'] };
  const server = await start({ health });
  expect(await ask(server, '/healthz')).toMatchObject({ status: 503, type: plain, body: 'no source\n' });
  expect(await ask(server, '/readyz')).toMatchObject({
    status: 503,
    body: 'the list of Pods\nline\\x0abreak\\x1b\n',
  });
});

test('health is checked for each request', async () => {
  const reasons = ['starting'];
  const server = await start({ health: { ...well, ready: () => reasons } });
  expect((await ask(server, '/readyz')).status).toBe(503);
  reasons.pop();
  expect((await ask(server, '/readyz')).status).toBe(200);
});

test.each([['/metrics'], ['/healthz'], ['/nowhere']])(
  'HEAD of %s gets the same answer without the body',
  async (path) => {
    const server = await start();
    const { body, ...rest } = await ask(server, path);
    expect(Number(rest.length)).toBe(Buffer.byteLength(body));
    expect(await ask(server, path, 'HEAD')).toEqual({ ...rest, body: '' });
  },
);

test.each([['/'], ['/metrics/'], ['/favicon.ico'], ['//metrics']])(
  'a request for %s gets 404 with a list of the paths',
  async (path) => {
    const got = await ask(await start(), path);
    expect(got).toMatchObject({ status: 404, type: plain, body: 'There is /metrics, /healthz and /readyz.\n' });
  },
);

test.each([['POST'], ['PUT'], ['DELETE'], ['OPTIONS']])('refuses %s', async (method) => {
  expect(await ask(await start(), '/metrics', method)).toMatchObject({ status: 405, allow: 'GET, HEAD' });
});

test('an exception in a check or a scrape gives an error answer, and the server stays up', async () => {
  const server = await start({
    health: { live: fail, ready: fail },
    metrics: { ...metrics, text: () => Promise.reject(new Error('broken')) },
  });
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect(await ask(server, path)).toMatchObject({ status: 500, type: plain, body: 'Error: broken\n' });
});

test('requests within a second share one scrape, and a request after a second gets a new one', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let texts = 0;
  const server = await start({ metrics: { ...metrics, text: async () => `${++texts}\n` } });
  const all = await Promise.all(Array.from({ length: 6 }, () => ask(server, '/metrics')));
  expect(new Set(all.map(({ body }) => body))).toEqual(new Set(['1\n']));
  vi.advanceTimersByTime(999);
  expect((await ask(server, '/metrics')).body).toBe('1\n');
  vi.advanceTimersByTime(1);
  expect((await ask(server, '/metrics')).body).toBe('2\n');
});

test('without metrics and flows, only health is served', async () => {
  const server = await start({ metrics: undefined });
  expect((await ask(server, '/readyz')).status).toBe(200);
  expect(await ask(server, '/metrics')).toMatchObject({ status: 404, body: 'There is /healthz and /readyz.\n' });
});

test('a server of flows and health has no metrics', async () => {
  const server = await start({ setting: 'DROPS_ADDRESS', metrics: undefined, drops });
  const answer = { status: 200, type: 'application/json', body: '{"version":1}\n' };
  expect(await ask(server, '/drops')).toMatchObject(answer);
  expect(await ask(server, '/drops', 'POST')).toMatchObject({ status: 405, allow: 'GET, HEAD' });
  expect(await ask(server, '/metrics')).toMatchObject({ status: 404 });
  expect(await ask(server, '/healthz')).toMatchObject({ status: 200 });
});

test('simultaneous requests for flows share one collection', async () => {
  let times = 0;
  const server = await start({ drops: async () => String(++times), scrapeInterval: 60_000 });
  const answers = await Promise.all([1, 2, 3].map(() => ask(server, '/drops')));
  expect(answers.map(({ body }) => body)).toEqual(['1', '1', '1']);
});

test.each([
  ['silent', ''],
  ['with half a request', 'GET /metrics HT'],
  ['with half a header', 'GET /metrics HTTP/1.1\r\nHost: x\r\nX-Y: '],
  ['with half a body', 'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx'],
  ['that asks nothing more', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
])('bad clients: a client %s is disconnected', async (_, sent) => {
  const socket = await open(await start({ timeout: 50 }));
  socket.resume().write(sent);
  await closed(socket);
});

test.each([
  ['a header', 'GET /metrics HTTP/1.1\r\n', 'X: y\r\n'],
  ['a body', 'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n', 'x'],
])('bad clients: a client that sends %s without end is disconnected', async (_, first, more) => {
  const socket = await open(await start({ timeout: 100 }));
  socket.resume().write(first);
  const dribble = setInterval(() => socket.write(more), 10);
  await closed(socket);
  clearInterval(dribble);
});

test('bad clients: a client that does not read its answer is disconnected', async () => {
  // More than the buffers between two sockets hold.
  const long = 'x'.repeat(64 * 1024 * 1024);
  const server = await start({ timeout: 50, metrics: { ...metrics, text: async () => long } });
  const socket = await open(server);
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'readable');
  // When later clients have been disconnected, the time of the first one is over.
  for (let i = 0; i < 3; i++) await closed((await open(server)).resume());
  await closed(socket.resume());
  expect(socket.bytesRead).toBeLessThan(long.length);
});

test('bad clients: many idle connections of one address do not delay a probe or a scrape, and few of them stay', async () => {
  const server = await start();
  const idle = await Promise.all(Array.from({ length: 300 }, () => open(server)));
  const ends = Promise.all(idle.slice(0, 292).map((socket) => closed(socket.resume())));
  for (const path of ['/healthz', '/readyz', '/metrics']) expect((await ask(server, path)).status).toBe(200);
  await ends;
});

test('bad clients: endless headers from one address do not delay a probe', async () => {
  const server = await start();
  const slow = await Promise.all(Array.from({ length: 300 }, () => open(server)));
  for (const socket of slow) socket.resume().write('GET /healthz HTTP/1.1\r\nX: y\r\n');
  for (let probe = 0; probe < 20; probe++) expect((await ask(server, '/healthz')).status).toBe(200);
});

test('bad clients: many addresses with a few connections each leave room: the address with most loses its oldest', async () => {
  const server = await start();
  const [first = [], ...others] = await Promise.all(
    Array.from({ length: 9 }, (_, address) => openFrom(server, `127.0.1.${address + 1}`, address === 0 ? 8 : 7)),
  );
  const oldest = first.slice(0, 2).map((socket) => closed(socket.resume()));
  // 64 connections are open: two more come from two other addresses.
  await openFrom(server, '127.0.2.1', 1);
  await openFrom(server, '127.0.2.2', 1);
  await oldest[0];
  expect((await ask(server, '/healthz')).status).toBe(200);
  expect(others.flat().filter(({ destroyed }) => destroyed).length).toBeLessThan(3);
});

test('bad clients: a connection that is being answered outlives idle ones', async () => {
  const { server, scraped } = await startScraped();
  const got = ask(server, '/metrics');
  const idle = await Promise.all(Array.from({ length: 30 }, () => open(server)));
  await closed((idle[0] as Socket).resume());
  scraped.resolve('late\n');
  expect(await got).toMatchObject({ status: 200, body: 'late\n' });
});

test.each([
  ['nonsense', '\x00\xff nonsense\r\n\r\n', 'HTTP/1.1 400 '],
  ['a long header', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(9000)}\r\n\r\n`, 'HTTP/1.1 431 '],
])('bad clients: %s is refused, and other clients are served', async (_, sent, expected) => {
  const server = await start();
  const socket = await open(server);
  socket.end(sent);
  expect(await text(socket)).toMatch(expected);
  expect((await ask(server, '/healthz')).status).toBe(200);
});

test('bad clients: a client may leave before its answer', async () => {
  const { server, began, scraped } = await startScraped();
  const socket = await open(server);
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
  await began;
  socket.resetAndDestroy();
  await closed(socket);
  scraped.resolve('late');
  expect((await ask(server, '/healthz')).status).toBe(200);
});

test('stop does not wait for idle clients', async () => {
  const server = await start();
  const silent = await open(server);
  const idle = await open(server);
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(idle, 'readable');
  const both = [silent, idle].map((socket) => closed(socket.resume()));
  await server.stop();
  await Promise.all(both);
  await expect(ask(server, '/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('stop waits for an answer that is being sent', async () => {
  const { server, began, scraped } = await startScraped();
  const got = ask(server, '/metrics');
  await began;
  const stopped = server.stop();
  scraped.resolve('last\n');
  expect(await got).toMatchObject({ status: 200, body: 'last\n' });
  await stopped;
});

test('stop gives up an answer that is never read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { server, began } = await startScraped({ timeout: 50 });
  const stop = async (): Promise<void> => {
    await began;
    const stopped = server.stop();
    vi.advanceTimersByTime(100);
    await stopped;
  };
  await Promise.all([expect(ask(server, '/metrics')).rejects.toThrow('socket hang up'), stop()]);
});

test('stop may be called twice', async () => {
  const server = await start();
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
});

test('port 0 gives a free port', async () => {
  expect((await start()).address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
});

test('listens on all addresses', async () => {
  const { address } = await start({ address: ':0' });
  const port = address.slice(address.lastIndexOf(':'));
  expect(await ask({ address: `127.0.0.1${port}`, stop: async () => {} }, '/healthz')).toMatchObject({ status: 200 });
});

test('refuses a port that is in use', async () => {
  const { address } = await start();
  await expect(start({ address })).rejects.toThrow(`METRICS_ADDRESS is "${address}": `);
});

test('refuses an address that this machine does not have', async () => {
  // TEST-NET-1 (RFC 5737).
  await expect(start({ address: '192.0.2.1:0' })).rejects.toThrow('METRICS_ADDRESS is "192.0.2.1:0": ');
});

test('refuses an address without a colon', async () => {
  await expect(start({ address: '9090' })).rejects.toThrow(
    'METRICS_ADDRESS is "9090": expected HOST:PORT, :PORT or [IPv6]:PORT',
  );
});

test('a hundred simultaneous connections wait for a few turns of other work, not for one turn each', async () => {
  const arrivals = createArrivals();
  const all = Promise.withResolvers<void>();
  let [arrived, turns] = [0, 0];
  const onArrival = (): void => {
    arrivals.note();
    if (++arrived === 100) all.resolve();
  };
  const server = await start({ onArrival });
  let cancel = arrivals.schedule(work, 0);
  function work(): void {
    turns++;
    for (const end = processorTime() + 5; processorTime() < end;);
    cancel = arrivals.schedule(work, 0);
  }
  const opening = openFrom(server, '127.0.0.2', 100);
  await all.promise;
  cancel();
  expect(turns).toBeLessThan(50);
  for (const socket of await opening) socket.destroy();
});
