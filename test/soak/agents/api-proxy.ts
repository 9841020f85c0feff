import { readFileSync } from 'node:fs';
import { request as httpsRequest, createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Address } from '../../e2e/control-plane/connection.ts';
import { CERTIFICATES } from '../../e2e/control-plane/servers.ts';

/** `away`: nobody listens, and what was connected is cut off. `throttled`: writes of Events get 429. `failing`: everything gets 500. */
export type Fault = 'none' | 'away' | 'throttled' | 'failing';

/** Stands before a real API server and answers as that server does when it is overloaded or fails, or not at all. */
export interface ApiProxy {
  /** The address to be used in place of the server's; it has the same certificate. */
  readonly url: string;
  readonly fault: Fault;
  /** Requests that were refused or cut off. */
  readonly refused: number;
  readonly set: (fault: Fault) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function createApiProxy({ server: target, certificateAuthority, folder }: Address): Promise<ApiProxy> {
  const file = (extension: string): string =>
    readFileSync(join(folder, CERTIFICATES, `apiserver.${extension}`), 'utf8');
  const server = createServer({ cert: file('crt'), key: file('key') }, handle);
  let fault: Fault = 'none';
  let refused = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://127.0.0.1:${port}`,
    get fault() {
      return fault;
    },
    get refused() {
      return refused;
    },
    async set(next) {
      if (next === 'away' && fault !== 'away') await close();
      if (next !== 'away' && fault === 'away') {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      }
      fault = next;
    },
    stop: close,
  };

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const isEventWrite = request.method !== 'GET' && /\/events(\/|\?|$)/.test(request.url ?? '');
    if (fault === 'throttled' && isEventWrite) return refuse(response, 429, { 'retry-after': '1' });
    if (fault === 'failing') return refuse(response, 500);
    const { method = 'GET', headers } = request;
    const call = httpsRequest(`${target}${request.url}`, { method, headers, ca: certificateAuthority }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // The server does the same: a watch has begun before its first event.
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    call.on('error', () => response.destroy());
    response.on('close', () => call.destroy());
    request.pipe(call);
  }

  function refuse(response: ServerResponse, code: number, headers: Record<string, string> = {}): void {
    refused++;
    const reason = code === 429 ? 'TooManyRequests' : 'InternalError';
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason };
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(status));
  }
}
