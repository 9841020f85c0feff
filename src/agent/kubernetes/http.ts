import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Millis } from '../../base/model/log-line.ts';
import type { Refusal } from '../../publish/events/events.ts';
import { answerTo } from '../../base/platform/http-answer.ts';
import { printable } from '../../base/platform/printable.ts';
import { TooLargeError, wholeText } from './item-scanner.ts';

export type Credentials = Omit<RequestOptions, 'headers'> & { headers?: OutgoingHttpHeaders };

export interface Access {
  readonly server: string;
  /** Called before each request, because the token changes. */
  readonly authenticate: () => Promise<Credentials>;
  /** Called when the server refuses the credentials or cannot be reached, because its credentials or address may have changed. */
  readonly reload?: () => void;
}

export interface HttpRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  signal: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Readable;
}

/** Shorter than the 90 s after which the API server closes idle connections, because load balancers close them earlier. */
const longestIdle: Millis = 30_000;
const keep = { keepAlive: true, timeout: longestIdle };
const agents = { http: new HttpAgent(keep), https: new HttpsAgent(keep) };

/** The largest answer in bytes that is read at once: an object of etcd has 1.5 MiB. Lists are read object by object. */
const largestAnswer = 4 * 1024 * 1024;

/** Larger answers, and larger objects of lists, are read one by one, because sixty look-ups may be under way. */
export const largeAnswer = 128 * 1024;

/** Resolves when the answer begins. The client library's fetch would take 9 MB more than Node.js alone (docs/decisions.md). */
export async function send(access: Access, { method, path, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  const url = new URL(access.server + path);
  const plain = url.protocol === 'http:';
  const given = await access.authenticate();
  const options: RequestOptions = {
    agent: plain ? agents.http : agents.https,
    ...given,
    method,
    headers: { ...headers, ...given.headers },
    signal,
  };
  const request = (plain ? httpRequest : httpsRequest)(url, options);
  request.end(body);
  // Without this, an abort during the answer would look like a broken connection.
  const answer = addAbortSignal(signal, await answerTo(request));
  // If nobody reads the body, an error must not end the process.
  answer.on('error', () => {});
  const packed = answer.headers['content-encoding'] === 'gzip';
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    // An error of the answer also reaches the reader of the unpacked body.
    body: packed ? pipeline(answer, createGunzip(), () => {}) : answer,
  };
}

/** Throws a `TooLargeError`, or the error of the body. A large answer waits for the one that is being read. */
export async function textOfBody({ body }: Pick<HttpAnswer, 'body'>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  let endTurn: (() => void) | undefined;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > largestAnswer) throw new TooLargeError(`the answer is larger than ${largestAnswer} bytes`);
      parts.push(part);
      if (size > largeAnswer) endTurn ??= await turnOfLarge(body);
    }
    return wholeText(parts, size);
  } finally {
    endTurn?.();
  }
}

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves after all earlier turns, to the function that ends this one. A broken body waits no longer, so its request ends in time. */
export async function turnOfLarge(body: Readable): Promise<() => void> {
  const before = lastTurn;
  const { promise, resolve } = Promise.withResolvers<void>();
  lastTurn = before.then(() => promise);
  const broken = Promise.withResolvers<void>();
  body.once('close', broken.resolve);
  await Promise.race([before, broken.promise]);
  // A list may wait for many turns.
  body.off('close', broken.resolve);
  return resolve;
}

/** Carries a refusal where a function cannot return it. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The reason of refusals that this program creates itself. No Status object of an API server has it. */
const tooLarge = 'AnswerTooLarge';

export function isTooLarge({ status, reason }: Refusal): boolean {
  return status === 0 && reason === tooLarge;
}

/** The longest message in characters, because webhooks and proxies may write any text. */
const longestMessage = 500;

export function refusalOfError(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal;
  const reason = error instanceof TooLargeError ? tooLarge : '';
  return { kind: 'refused', status: 0, reason, message: messageOf(error), retryAfter: undefined };
}

/** An aborted request has its reason in the cause. A host with several addresses has one error for each. */
function messageOf(error: unknown): string {
  const first: unknown =
    error instanceof AggregateError ? error.errors[0] : ((error as { cause?: unknown }).cause ?? error);
  return printable(
    (connectText(first) ?? (first instanceof Error ? first.message : String(first))).slice(0, longestMessage),
  );
}

/** Codes of OpenSSL, and Node.js's own for a certificate of another name. */
const untrusted = /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/;

/** Node.js says these only by a code (`connect ECONNREFUSED 127.0.0.1:6443`), or without the subject (`self-signed certificate`). */
function connectText(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, address, port, hostname } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
    hostname?: string;
  };
  if (code === 'ECONNREFUSED') return `the connection to ${address}:${port} was refused (${code})`;
  if (code === 'ENOTFOUND') return `no host has the name ${hostname} (${code})`;
  if (error.name === 'TimeoutError') return 'no answer came in time';
  return untrusted.test(String(code)) ? `the server's certificate is not trusted: ${error.message}` : undefined;
}
