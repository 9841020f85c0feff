import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { canonicalAddress, type ListenAddress } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';
import { limitConnections } from '../telemetry/server.ts';
import { encodeAnswer } from './directory.ts';
import type { Verdict } from './authenticator.ts';
import type { Certificate } from './certificate.ts';

const results = ['hit', 'miss', 'stranger', 'busy', 'wrong'] as const;
export type Result = (typeof results)[number];

export interface DirectoryServerOptions {
  address: ListenAddress;
  certificate: Certificate;
  check: (authorization: string | undefined) => Promise<Verdict>;
  /** Undefined while the list of Pods is not complete. */
  ownersOf: (address: string) => Owners | undefined;
  onAnswer: (result: Result) => void;
  clock: Pick<Clock, 'toWall'>;
}

export interface DirectoryServer {
  readonly port: number;
  stop: () => Promise<void>;
}

/** An idle connection of an agent ends after 30 s, so that only those that ask are connected; each costs some 40 KB. */
const limits = { total: 4096, perAddress: 4 };
const timeout = 5000;

const statuses: Readonly<Record<Result, number>> = { hit: 200, miss: 200, stranger: 401, busy: 503, wrong: 400 };

/** `GET /v1/owners/ADDRESS` over HTTPS, for agents alone. Rejects when it cannot listen. */
export async function startDirectoryServer(options: DirectoryServerOptions): Promise<DirectoryServer> {
  const { address, certificate } = options;
  const server = createServer({
    key: certificate.key,
    cert: certificate.certificate,
    minVersion: 'TLSv1.3',
    headersTimeout: timeout,
    requestTimeout: timeout,
    handshakeTimeout: timeout,
    keepAliveTimeout: 30_000,
    maxHeaderSize: 16_384,
  });
  limitConnections(server, limits);
  server.on('request', (request, response) => {
    void respond(request, response, options);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(address, resolve);
  await promise;
  server.removeListener('error', reject).on('error', () => {});
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      setTimeout(() => server.closeAllConnections(), 1000).unref();
      server.closeIdleConnections();
      await closed;
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: DirectoryServerOptions,
): Promise<void> {
  const [result, body] = await answer(request, options);
  options.onAnswer(result);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(statuses[result], headers).end(body);
}

async function answer(
  { method, url = '', headers }: IncomingMessage,
  { check, ownersOf, clock }: DirectoryServerOptions,
): Promise<[Result, string]> {
  const verdict = await check(headers.authorization);
  if (verdict !== 'agent') return [verdict, '{}'];
  const given = /^\/v1\/owners\/([\da-fA-F.:%]{2,130})$/.exec(url)?.[1];
  const address = method === 'GET' && given !== undefined ? canonicalAddress(given.replaceAll(/%3A/gi, ':')) : '';
  if (address === '') return ['wrong', '{}'];
  const owners = ownersOf(address);
  if (owners === undefined) return ['busy', '{}'];
  return [owners.pods.length > 0 || owners.node !== undefined ? 'hit' : 'miss', encodeAnswer(owners, clock)];
}
