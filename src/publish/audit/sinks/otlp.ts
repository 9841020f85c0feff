import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Millis } from '../../../base/model/log-line.ts';
import { answerTo, bodyOf } from '../../../base/platform/http-answer.ts';
import { retryAfterOf } from '../../../base/platform/rates.ts';
import { RefusedForNowError, type Sink } from '../deliver.ts';

export interface OtlpSinkOptions {
  url: string;
  /** Headers of each request (a token, a tenant). They are read each time, because they may change. */
  headers: () => Readonly<Record<string, string>>;
  /** Trusted certificates as PEM. Default: those of Node.js. */
  ca: string | undefined;
  resource: Readonly<Record<string, string>>;
  timeout?: Millis;
}

const longestAnswer = 64 * 1024;

/** Sends rows by OTLP over HTTP with protobuf, one request at a time. */
export function createOtlpSink(options: OtlpSinkOptions): Sink {
  const { timeout = 10_000 } = options;
  const url = new URL(options.url);
  if (url.pathname === '/') url.pathname = '/v1/logs';
  const isPlain = url.protocol === 'http:';
  const agent = isPlain ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true, ca: options.ca });
  const pack = promisify(gzip);

  return {
    name: 'otlp',
    mostRows: 500,
    send,
    close() {
      agent.destroy();
      return Promise.resolve();
    },
  };

  async function send(rows: readonly string[], signal: AbortSignal): Promise<number> {
    // The protobuf library is loaded only for this sink.
    const { createOtlpRequest, readOtlpAnswer } = await import('./otlp-records.ts');
    const body = await pack(createOtlpRequest(rows, options.resource));
    const { status, answer, retryAfter } = await post(body, AbortSignal.any([signal, AbortSignal.timeout(timeout)]));
    if (status >= 200 && status < 300) return Math.min(readOtlpAnswer(answer).rejected, rows.length);
    if (status === 413 && rows.length > 1) {
      const half = Math.ceil(rows.length / 2);
      return (await send(rows.slice(0, half), signal)) + (await send(rows.slice(half), signal));
    }
    // Rows with these statuses would be refused again. With any other status a later attempt may succeed, even with 401, 403 and 404,
    // after a setting was corrected.
    if (status === 400 || status === 413 || status === 422) return rows.length;
    throw new RefusedForNowError(`the receiver answered with HTTP status ${status}`, retryAfterOf(retryAfter));
  }

  async function post(
    body: Buffer,
    signal: AbortSignal,
  ): Promise<{ status: number; answer: Buffer; retryAfter: string | undefined }> {
    const request = (isPlain ? httpRequest : httpsRequest)(url, {
      agent,
      method: 'POST',
      signal,
      headers: {
        ...options.headers(),
        'content-type': 'application/x-protobuf',
        'content-encoding': 'gzip',
        'content-length': body.length,
      },
    });
    request.end(body);
    const response = await answerTo(request);
    const answer = await bodyOf(response, longestAnswer);
    const { statusCode = 0, headers } = response;
    return { status: statusCode, answer, retryAfter: headers['retry-after'] };
  }
}

/** Reads `NAME: VALUE` lines. Errors contain only the number of a line, because its text may be a secret. */
export function readHeaders(file: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    const [, name, value] = /^([\w-]{1,100}):\s*(\S.*)$/.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined) throw new Error(`${file}: line ${index + 1} is not "NAME: VALUE"`);
    headers[name] = value;
  }
  return headers;
}
