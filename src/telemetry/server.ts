import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Millis } from '../model/log-line.ts';
import { printable } from '../platform/printable.ts';
import { hostAndPort, type ListenAddress, parseListenAddress } from '../platform/address.ts';

/** Each function is called at each request, and returns the reasons why the program is not healthy. */
export interface Health {
  live: () => readonly string[];
  ready: () => readonly string[];
}

export interface MetricsText {
  readonly contentType: string;
  text: () => Promise<string>;
}

export interface ServerOptions {
  setting: 'METRICS_ADDRESS' | 'HEALTH_ADDRESS' | 'DROPS_ADDRESS';
  /** `HOST:PORT`, `:PORT` or `[IPv6]:PORT`. */
  address: string;
  metrics?: MetricsText | undefined;
  /** The answer to `/drops`, as JSON. */
  drops?: (() => Promise<string>) | undefined;
  health: Health;
  /** The longest time to send a request, to take the answer, and between two requests; each has this limit. */
  timeout?: Millis | undefined;
  /** All requests within this time get the same text. Default: 1000. */
  scrapeInterval?: Millis | undefined;
}

export type RunningServer = Awaited<ReturnType<typeof startServer>>;

interface Answer {
  status: number;
  type?: string;
  body: string;
}

/** The most open connections. Each takes 20 KB; Prometheus and the kubelet need three. */
const ownLimits = { total: 64, perAddress: 8 };

/** If it cannot listen, rejects with an error that names the setting. */
export async function startServer(given: ServerOptions) {
  const { address, setting, metrics, drops, timeout = 5000, scrapeInterval = 1000 } = given;
  const options = {
    ...given,
    metrics: metrics && { ...metrics, text: shared(metrics.text, scrapeInterval) },
    drops: drops && shared(drops, scrapeInterval),
  };
  const where = parseListenAddress(address);
  if (where === undefined) throw new Error(`${setting} is "${address}": expected HOST:PORT, :PORT or [IPv6]:PORT`);
  const server = createServer({
    headersTimeout: timeout,
    requestTimeout: timeout,
    keepAliveTimeout: timeout,
    connectionsCheckingInterval: timeout / 2,
    maxHeaderSize: 8192,
  });
  // This timeout also disconnects clients that do not take their answer.
  server.setTimeout(timeout);
  limitConnections(server, ownLimits);
  const answering = new Set<ServerResponse>();
  server.on('request', (request, response) => {
    answering.add(response);
    response.on('close', () => answering.delete(response));
    void answer(request, response, options);
  });
  await listen(server, where, given);
  // Ignored: if a connection cannot be accepted (too many open files), its client sees that.
  server.on('error', () => {});
  const bound = server.address() as AddressInfo;
  return {
    /** The address with the real port, even if the setting has port 0. */
    address: hostAndPort(bound.address, bound.port),
    /** Ends idle connections at once, and others after their answer, or after `timeout`. */
    stop: () => stop(server, answering),
  };
}

function shared(text: () => Promise<string>, interval: Millis): () => Promise<string> {
  let latest: Promise<string> | undefined;
  return () => {
    if (latest === undefined) {
      latest = text();
      setTimeout(() => (latest = undefined), interval).unref();
    }
    return latest;
  };
}

async function listen(server: Server, where: ListenAddress, { address, setting }: ServerOptions): Promise<void> {
  try {
    await once(server.listen(where), 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = (code !== undefined && failures[code]) || message;
    throw new Error(`${setting} is "${address}": cannot listen there: ${reason}`, { cause: error });
  }
}

const failures: Record<string, string> = {
  EADDRINUSE: 'another program does',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
  ENOTFOUND: 'no such host',
};

async function answer(request: IncomingMessage, response: ServerResponse, options: ServerOptions): Promise<void> {
  const { status, type = 'text/plain; charset=utf-8', body } = await answerTo(request, options);
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers).end(body);
}

async function answerTo(
  { method, url = '' }: IncomingMessage,
  { metrics, drops, health }: ServerOptions,
): Promise<Answer> {
  const [path] = url.split('?');
  const data = [
    ...(metrics === undefined ? [] : [{ at: '/metrics', type: metrics.contentType, text: metrics.text }]),
    ...(drops === undefined ? [] : [{ at: '/drops', type: 'application/json', text: drops }]),
  ];
  const served = data.find(({ at }) => at === path);
  if (served === undefined && path !== '/healthz' && path !== '/readyz')
    return { status: 404, body: `There is ${data.map(({ at }) => `${at}, `).join('')}/healthz and /readyz.\n` };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'Only GET and HEAD.\n' };
  try {
    if (served !== undefined) return { status: 200, type: served.type, body: await served.text() };
    return healthOf(path === '/healthz' ? health.live() : health.ready());
  } catch (error) {
    return { status: 500, body: `${printable(String(error))}\n` };
  }
}

function healthOf(reasons: readonly string[]): Answer {
  if (reasons.length === 0) return { status: 200, body: 'ok\n' };
  return { status: 503, body: reasons.map((reason) => `${printable(reason)}\n`).join('') };
}

async function stop(server: Server, answering: ReadonlySet<ServerResponse>): Promise<void> {
  const closed = once(server.close(), 'close');
  for (const response of answering) await once(response, 'close');
  // Node.js does not count a connection without a request as idle, and would wait for it.
  server.closeAllConnections();
  await closed;
}

/** Keeps the newest connections: past a limit, closes the oldest idle one, of the same address or of the address with the most. */
export function limitConnections(server: Server, limits: Readonly<{ total: number; perAddress: number }>): void {
  const open = new Map<string, Set<Socket>>();
  const answering = new Set<Socket>();
  let count = 0;

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = open.get(address) ?? new Set();
    open.set(address, own.add(socket));
    count++;
    socket.once('close', () => {
      count--;
      own.delete(socket);
      if (own.size === 0) open.delete(address);
    });
    if (own.size > limits.perAddress) closeOne(own, socket);
    else if (count > limits.total) closeOne(largest(), socket);
  });
  server.on('request', ({ socket }, response) => {
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
  });

  function closeOne(sockets: ReadonlySet<Socket>, newest: Socket): void {
    const older = [...sockets].filter((socket) => socket !== newest && !socket.destroyed);
    (older.find((socket) => !answering.has(socket)) ?? older[0])?.destroy();
  }

  function largest(): ReadonlySet<Socket> {
    return [...open.values()].reduce((most, each) => (each.size > most.size ? each : most));
  }
}
