import { setTimeout } from 'node:timers/promises';
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
  type ResponseContext,
} from '@kubernetes/client-node';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import { printable } from '../platform/printable.ts';
import type { Refusal } from '../events/event-store.ts';
import { type Json, parsed } from './json.ts';

type Verb = 'GET' | 'POST' | 'PATCH';

export type Query = Record<string, string | number | boolean | undefined>;

export interface RequestOptions {
  query?: Query;
  /** Of a PATCH: a merge patch (RFC 7386). */
  body?: unknown;
}

export type Answer = { kind: 'answered'; body: Json } | Refusal;

/** What was asked of the API server, for metrics. `code` is 0 when there was no answer. */
export interface RequestReport {
  verb: string;
  /** `pods`, `events`, …: the last part of the path that names a kind of object. */
  resource: string;
  code: number;
  took: Millis;
}

/** The API server, as seen by one identity. */
export interface Connection {
  readonly server: string;
  /** One request. Resolves whatever the answer, or the lack of one in time. */
  request: (verb: Verb, path: string, options?: RequestOptions) => Promise<Answer>;
  /** The body of an answer as it comes, without a limit of time, and not reported. Rejects with a `RefusedError` when refused. */
  stream: (path: string, query: Query, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** Reads token, certificates and kubeconfig again; at most every few seconds. Happens by itself where there is no answer at all. */
  reload: () => void;
  /** This node's clock minus the API server's, in milliseconds, good to a second; undefined before the first answer. */
  readonly clockSkew: Millis | undefined;
}

export interface ConnectionOptions {
  load: () => KubeConfig;
  userAgent: string;
  onRequest: (report: RequestReport) => void;
  clock: Pick<Clock, 'now' | 'wall'>;
  timeout?: Millis;
}

/** A request that was refused, where its answer is no value. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const reloadInterval: Millis = 5000;

const closingTime: Millis = 100;

/** Bytes. All Pods of one node, or a page of a list, are a few MiB; more would be no API server's, and take all of our memory. */
const largestAnswer = 32 * 1024 * 1024;

/** Without the library's typed client, which makes classes of every object (docs/decisions.md). Throws when `load` does. */
export function createConnection({
  load,
  userAgent,
  onRequest,
  clock: { now, wall },
  timeout = 30_000,
}: ConnectionOptions): Connection {
  const http = new IsomorphicFetchHttpLibrary();
  let config = load();
  let loaded = now();
  let clockSkew: Millis | undefined;

  return {
    get server() {
      return serverOf(config);
    },
    get clockSkew() {
      return clockSkew;
    },
    reload,
    async request(verb, path, options = {}) {
      const started = now();
      const answer = await send(verb, path, options).catch(refusalOfError);
      onRequest({
        verb,
        resource: resourceOf(path),
        code: answer.kind === 'answered' ? 200 : answer.status,
        took: now() - started,
      });
      return answer;
    },
    async stream(path, query, signal) {
      const response = await open('GET', path, { query }, signal);
      const body = response.body.stream();
      if (response.httpStatusCode === 200 && body !== null) return body;
      throw new RefusedError(await refusalIn(response));
    },
  };

  async function send(verb: Verb, path: string, options: RequestOptions): Promise<Answer> {
    const response = await open(verb, path, options, AbortSignal.timeout(timeout));
    if (response.httpStatusCode >= 300) return refusalIn(response);
    return { kind: 'answered', body: JSON.parse(await textOf(response)) };
  }

  /** A connection that was kept may be closed just when it is used again; whatever we ask may be asked twice. */
  async function sent(context: RequestContext, signal: AbortSignal): Promise<ResponseContext> {
    for (let tries = 1; ; tries++) {
      try {
        return await http.send(context).toPromise();
      } catch (error) {
        if (signal.aborted || tries === 3 || !wasClosed(error)) {
          // The server may have a certificate of another authority by now.
          if (!signal.aborted) reload();
          throw error;
        }
        // Others may just be closing, too.
        await setTimeout(closingTime);
      }
    }
  }

  function reload(): void {
    if (now() - loaded < reloadInterval) return;
    loaded = now();
    try {
      config = load();
    } catch {
      // A file is just being replaced. The old configuration is no worse than none.
    }
  }

  async function open(
    verb: Verb,
    path: string,
    { query = {}, body }: RequestOptions,
    signal: AbortSignal,
  ): Promise<ResponseContext> {
    const context = new RequestContext(serverOf(config) + path, HttpMethod[verb]);
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) context.setQueryParam(key, String(value));
    context.setHeaderParam('Accept', 'application/json');
    context.setHeaderParam('User-Agent', userAgent);
    if (body !== undefined) {
      context.setHeaderParam('Content-Type', verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
      context.setBody(JSON.stringify(body));
    }
    context.setSignal(signal);
    await config.applySecurityAuthentication(context);
    const asked = wall();
    const response = await sent(context, signal);
    // The header is cut to seconds. It was stamped at some time between request and answer, which may be long.
    const stamped = Date.parse(response.headers['date'] ?? '') + 500;
    if (!Number.isNaN(stamped)) clockSkew = Math.max(asked - stamped, 0) || Math.min(wall() - stamped, 0);
    return response;
  }
}

function serverOf(config: KubeConfig): string {
  return config.getCurrentCluster()?.server ?? '';
}

/** `/api/v1/namespaces/shop/events/web.1` → `events`. */
function resourceOf(path: string): string {
  return /^\/apis?\/(?:[\w.-]+\/)?v\d\w*\/(?:namespaces\/[^/]+\/)?([a-z]+)/.exec(path)?.[1] ?? 'other';
}

/** Characters: whoever denies a request, or stands in between, may write any text. */
const longestMessage = 500;

interface Status {
  reason?: string;
  message?: unknown;
  details?: { causes?: { reason?: string }[] };
}

/** Rejects where it is too large. */
async function textOf({ body }: ResponseContext): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body.stream() ?? []) {
    size += part.length;
    if (size > largestAnswer) throw new Error(`the answer is larger than ${largestAnswer} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function refusalIn(response: ResponseContext): Promise<Refusal> {
  const { httpStatusCode, headers } = response;
  const text = await textOf(response);
  const { reason = '', message, details } = (parsed(text) ?? {}) as Status;
  const terminating = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating');
  return {
    kind: 'refused',
    status: httpStatusCode,
    reason: terminating ? 'NamespaceTerminating' : reason,
    message:
      printable((typeof message === 'string' ? message : text).slice(0, longestMessage)) ||
      `HTTP status ${httpStatusCode}`,
    retryAfter: retryAfterOf(headers['retry-after']),
  };
}

/** An error as an answer: of a `RefusedError` its own, else that there was none. */
export function refusalOfError(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal;
  return { kind: 'refused', status: 0, reason: '', message: messageOf(error), retryAfter: undefined };
}

/** Seconds, as the API server sends it; at most ten minutes, whoever asks. */
function retryAfterOf(header: string | undefined): Millis | undefined {
  const seconds = Number(header ?? NaN);
  return seconds >= 0 ? Math.min(seconds, 600) * 1000 : undefined;
}

function wasClosed(error: unknown): boolean {
  const { code = '' } = ((error as { cause?: unknown }).cause ?? {}) as { code?: string };
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(code);
}

/** undici says `fetch failed`, and why in the cause; a host with several addresses has a cause for each. */
function messageOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : (cause ?? error);
  return printable((first instanceof Error ? first.message : String(first)).slice(0, longestMessage));
}
