/** What Pods of a busy node do all the time: HTTP and DNS requests, health checks, and connections to closed ports. */
import { createSocket } from 'node:dgram';
import { createServer as createWeb, get } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export const servicePorts = { http: 80, dns: 53, check: 8080, closed: 81 };

export interface Loop {
  kind: keyof typeof servicePorts;
  to: string;
  /** How many run at the same time. */
  beside: number;
  /** Milliseconds between the end of one and the next. */
  pause: number;
}

export interface LoopCounts {
  kind: string;
  /** How often there was each outcome. */
  outcomes: Record<string, number>;
}

/** Answers all loops except those to a closed port. */
export async function startServers(): Promise<void> {
  const web = createWeb((_, response) => response.end('ok'));
  const check = createServer((socket) => socket.on('error', () => {}).end());
  const overTcp = createServer((socket) => socket.on('error', () => {}).end());
  const overUdp = createSocket('udp6');
  overUdp.on('message', (message, { port, address }) => overUdp.send(message, port, address));
  await Promise.all([
    new Promise<void>((resolve) => web.listen(servicePorts.http, '::', resolve)),
    new Promise<void>((resolve) => check.listen(servicePorts.check, '::', resolve)),
    new Promise<void>((resolve) => overTcp.listen(servicePorts.dns, '::', resolve)),
    new Promise<void>((resolve) => overUdp.bind(servicePorts.dns, '::', resolve)),
  ]);
}

/** Returns a function that ends the loop and resolves when its last turn has ended. */
export function startLoop({ kind, to, beside, pause: between }: Loop): () => Promise<LoopCounts> {
  const outcomes: Record<string, number> = {};
  const end = new AbortController();
  const workers = Array.from({ length: beside }, async (_, worker) => {
    for (let turn = worker; !end.signal.aborted; turn++) {
      const outcome = await once(kind, to, turn);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (between > 0) await pause(between);
    }
  });
  return async () => {
    end.abort();
    await Promise.all(workers);
    return { kind, outcomes };
  };
}

/** A tenth of DNS goes over TCP. */
function once(kind: Loop['kind'], to: string, turn: number): Promise<string> {
  if (kind === 'http') return request(to);
  return kind === 'dns' && turn % 10 > 0 ? query(to) : open(to, servicePorts[kind]);
}

function request(host: string): Promise<string> {
  return new Promise((resolve) => {
    // A new connection for each request, as with curl.
    get({ host, port: servicePorts.http, agent: false }, (response) =>
      response.resume().on('end', () => resolve('ok')),
    ).on('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code));
  });
}

function query(to: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const timer = setTimeout(() => end('no answer'), 2000);
    socket.on('message', () => end('ok')).on('error', () => end('error'));
    socket.send('who', servicePorts.dns, to);

    function end(outcome: string): void {
      clearTimeout(timer);
      socket.close();
      resolve(outcome);
    }
  });
}

function open(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.on('connect', () => end('ok')).on('error', ({ code = '' }: NodeJS.ErrnoException) => end(code));

    function end(outcome: string): void {
      socket.destroy();
      resolve(outcome);
    }
  });
}
