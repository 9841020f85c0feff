import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Certificate, createCertificate } from '../../../src/agent/directory/certificate.ts';
import type { Connection } from '../control-plane/connection.ts';

/** A request of the agent that is not answered yet. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly response: ServerResponse;
  /** Asks the real server; resolves when its whole answer has come. */
  readonly ask: () => Promise<{ status: number; body: Buffer }>;
  /** Asks the real server, and passes its answer on as it comes. */
  readonly pass: () => void;
}

/** Answers a request in place of the real server. */
export type Answer = (exchange: Exchange) => void | Promise<void>;

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

const day = 86_400_000;

/** Makes a certificate for the address of a proxy. */
export function certificateFor(): Certificate {
  return createCertificate('127.0.0.1', Date.now() - day, Date.now() + day);
}

/** An HTTPS server in front of the real API server. It passes everything on until it has to answer itself. */
export async function startFaultProxy({
  server: target,
  certificateAuthority,
}: Pick<Connection, 'server' | 'certificateAuthority'>) {
  const upstream = new Agent({ keepAlive: true, ca: certificateAuthority });
  let current = certificateFor();
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  /** Answers of the fault. If such an answer leaves its connection open, the connection ends with the fault. */
  const failed = new Set<ServerResponse>();
  let fault: { answer: Answer; concerns: RegExp } | undefined;

  const server = createServer({ key: current.key, cert: current.certificate }, (request, response) => {
    const { method = '', url = '' } = request;
    asked.push(`${method} ${url}`);
    // The client may have gone.
    response.on('error', () => {});
    const content = buffer(request);
    content.catch(() => response.destroy());
    const exchange: Exchange = {
      request,
      method,
      path: url,
      response,
      async ask() {
        const answer = await forward(request, await content);
        return { status: answer.statusCode ?? 0, body: await buffer(answer) };
      },
      pass() {
        void content.then((body) => relay(request, body, response)).catch(() => response.destroy());
      },
    };
    if (fault?.concerns.test(`${method} ${url}`) !== true) return exchange.pass();
    failed.add(response);
    void fault.answer(exchange);
  });
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    /** `METHOD path` of all requests. */
    asked,
    /** Shows another certificate from now on; open connections are broken. */
    present(certificate: Certificate): void {
      current = certificate;
      server.setSecureContext({ key: current.key, cert: current.certificate });
      breakAll();
    },
    /**
     * From now on `answer` handles these requests; all others pass. `cut` breaks open connections, so that watches are
     * requested again.
     */
    fail(answer: Answer, { concerns = /./, cut = false } = {}): void {
      fault = { answer, concerns };
      if (cut) breakAll();
    },
    /** All requests pass again. Connections that the fault has left open are broken. */
    heal(): void {
      fault = undefined;
      for (const response of failed) response.destroy();
      failed.clear();
    },
    /** A copy of `kubeconfig` that leads here. */
    kubeconfigOf(this: void, kubeconfig: string, path: string): string {
      const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: object }[] };
      const data = Buffer.from(current.certificate).toString('base64');
      const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': data };
      for (const each of config.clusters) each.cluster = cluster;
      writeFileSync(path, JSON.stringify(config));
      return path;
    },
    async stop(this: void): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      breakAll();
      upstream.destroy();
      await closed;
    },
  };

  async function relay(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const answer = await forward(request, body);
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    // The headers are sent at once, because a watch may bring nothing for a minute.
    response.flushHeaders();
    answer.on('error', () => response.destroy()).pipe(response);
    response.on('close', () => answer.destroy());
  }

  async function forward({ method, url: path, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const call = httpsRequest(`${target}${path}`, {
      method,
      agent: upstream,
      headers: { ...headers, host: new URL(target).host },
    });
    call.end(body);
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    return answer;
  }
}
