import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Access } from '../../../src/agent/kubernetes/http.ts';

export interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  response: ServerResponse;
  /** Whether the client has gone. */
  readonly closed: boolean;
}

/** An API server that answers as the test wants, for faults that a real one cannot be made to show. */
export interface ScriptedServer {
  readonly url: string;
  /** All requests, in order. */
  readonly asked: readonly Asked[];
  /** The request with that number, counted from 0; waits for it. */
  readonly request: (number: number) => Promise<Asked>;
  /** Makes the access, with a token. */
  readonly access: (token?: string) => Access;
  /** Breaks all connections and refuses new ones, as a server that is gone. */
  readonly stop: () => Promise<void>;
}

/** `answer` may leave a request unanswered. */
export async function startScriptedServer(answer: (asked: Asked) => void): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://server');
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const one: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
        response,
        get closed() {
          return response.destroyed;
        },
      };
      asked.push(one);
      arrivals.emit('request');
      answer(one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    asked,
    async request(number) {
      for (;;) {
        const one = asked[number];
        if (one !== undefined) return one;
        await once(arrivals, 'request', { signal: AbortSignal.timeout(60_000) });
      }
    },
    access: (token = 'a-token') => ({
      server: url,
      authenticate: async () => ({ headers: { authorization: `Bearer ${token}` } }),
    }),
    async stop() {
      server.closeAllConnections();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Adds the fields that every object has. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const whole = { ...frameOf(status, Object(body) as object), ...Object(body) };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(whole));
}

function frameOf(code: number, body: object): object {
  if (code >= 400) return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code };
  if ('resources' in body) return { kind: 'APIResourceList', apiVersion: 'v1' };
  return { kind: 'items' in body ? 'List' : 'Object', apiVersion: 'v1', metadata: {} };
}

export function refuse(
  response: ServerResponse,
  code: number,
  reason = '',
  headers: Record<string, string> = {},
): void {
  json(response, code, { reason, message: `refused with ${code}` }, headers);
}

/** One event of a watch, which stays open. */
export function sendEvent(response: ServerResponse, type: string, object: unknown): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
  response.write(`${JSON.stringify({ type, object })}\n`);
}
