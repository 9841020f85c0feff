import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Millis } from '../model/log-line.ts';
import type { Refusal } from '../events/events.ts';
import { printable } from '../platform/printable.ts';
import { parsed } from '../platform/json.ts';
import { longestMessage, TooLargeError } from './refusal.ts';

/** The TLS options of a request, and the headers that name its sender. */
export type Credentials = Omit<RequestOptions, 'headers'> & { headers?: OutgoingHttpHeaders };

/** The address of the API server, and the identity to ask with. */
export interface Access {
  readonly server: string;
  /** Asked before each request, because a token changes. Rejects where there is none. */
  readonly authenticate: () => Promise<Credentials>;
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

/** The API server closes what was idle for 90 s, load balancers sooner. */
const longestIdle: Millis = 30_000;
const keep = { keepAlive: true, timeout: longestIdle };
const agents = { http: new HttpAgent(keep), https: new HttpsAgent(keep) };

/** Bytes. All Pods of one node, or a page of a list, are a few MiB; more would be no API server's, and take all of our memory. */
const largestAnswer = 16 * 1024 * 1024;

/**
 * Objects and lists in an answer: in memory each takes 60 bytes or more, in the answer three (`{},`). One object of the API has fewer: etcd
 * takes 1.5 MiB of it, of which an empty part takes two bytes.
 */
const mostParts = 800_000;

/**
 * One request over a connection that is kept. Resolves when the answer begins, whatever its status, and rejects when there is none.
 * Asks by Node.js itself: the fetch of the client library takes 9 MB more (docs/decisions.md).
 */
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
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (plain ? httpRequest : httpsRequest)(url, options, resolve);
  request.on('error', reject).end(body);
  // An abort from here on would otherwise look like a broken connection.
  const answer = addAbortSignal(signal, await promise);
  // The reader of the body hears of an error; without a reader it must not end the process.
  answer.on('error', () => {});
  const packed = answer.headers['content-encoding'] === 'gzip';
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    // An error of the answer breaks the unpacked body, too.
    body: packed ? pipeline(answer, createGunzip(), () => {}) : answer,
  };
}

/** The whole body. Rejects with a `TooLargeError` where it is too large. */
export async function textOf({ body }: HttpAnswer): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > largestAnswer) throw new TooLargeError(`the answer is larger than ${largestAnswer} bytes`);
    parts.push(part);
  }
  const whole = Buffer.concat(parts);
  // Each has two brackets.
  if (size > 2 * mostParts && partsIn(whole) > mostParts)
    throw new TooLargeError(`the answer has more than ${mostParts} objects and lists`);
  return whole.toString();
}

const [quote, escape, bracket, brace] = [34, 92, 91, 123];

/** Objects and lists of JSON, without reading it. */
function partsIn(json: Buffer): number {
  let [count, isText] = [0, false];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) isText = !isText;
    else if (isText && byte === escape) at++;
    else if (!isText && (byte === brace || byte === bracket)) count++;
  }
  return count;
}

interface Status {
  reason?: string;
  message?: unknown;
  details?: { causes?: { reason?: string }[] };
}

/** A body that says why a request was refused. Rejects where it is too large. */
export async function refusalIn(answer: HttpAnswer): Promise<Refusal> {
  const { status, headers } = answer;
  const text = await textOf(answer);
  const { reason = '', message, details } = (parsed(text) ?? {}) as Status;
  const terminating = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating');
  return {
    kind: 'refused',
    status,
    reason: terminating ? 'NamespaceTerminating' : reason,
    message:
      printable((typeof message === 'string' ? message : text).slice(0, longestMessage)) || `HTTP status ${status}`,
    retryAfter: retryAfterOf(headers['retry-after']),
  };
}

/** Seconds, as the API server sends it; at most ten minutes, whoever asks. */
function retryAfterOf(header: string | undefined): Millis | undefined {
  const seconds = Number(header ?? NaN);
  return seconds >= 0 ? Math.min(seconds, 600) * 1000 : undefined;
}
