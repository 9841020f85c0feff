import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import { printable } from '../platform/printable.ts';
import type { Refusal } from '../events/event-store.ts';
import { type Access, type HttpAnswer, send as sendHttp } from './http.ts';
import { type Json, parsed } from '../platform/json.ts';

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
  load: () => Access;
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
const largestAnswer = 16 * 1024 * 1024;

/** Throws when `load` does. */
export function createConnection({
  load,
  userAgent,
  onRequest,
  clock: { now, wall },
  timeout = 30_000,
}: ConnectionOptions): Connection {
  let access = load();
  let loaded = now();
  let clockSkew: Millis | undefined;

  return {
    get server() {
      return access.server;
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
      const answer = await untilOpen(signal, () => open('GET', path, { query }, signal));
      if (answer.status === 200) return answer.body;
      throw new RefusedError(await refusalIn(answer));
    },
  };

  async function send(verb: Verb, path: string, options: RequestOptions): Promise<Answer> {
    const signal = AbortSignal.timeout(timeout);
    return await untilOpen(signal, async () => {
      const answer = await open(verb, path, options, signal);
      if (answer.status >= 300) return await refusalIn(answer);
      return { kind: 'answered', body: JSON.parse(await textOf(answer)) };
    });
  }

  /** A connection that was kept may be closed just when it is used again; whatever we ask may be asked twice. */
  async function untilOpen<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (signal.aborted || tries === 3 || !wasClosed(error)) {
          // The server may have a certificate of another authority by now.
          if (!signal.aborted) reload();
          throw error;
        }
        // Others may just be closing, too.
        await setTimeout(closingTime * (1 + Math.random()));
      }
    }
  }

  function reload(): void {
    if (now() - loaded < reloadInterval) return;
    loaded = now();
    try {
      access = load();
    } catch {
      // A file is just being replaced. The old configuration is no worse than none.
    }
  }

  async function open(
    verb: Verb,
    path: string,
    { query = {}, body }: RequestOptions,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const type = verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const asked = wall();
    const answer = await sendHttp(access, {
      method: verb,
      path: path + queryText(query),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': userAgent,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    // The header is cut to seconds. It was stamped at some time between request and answer, which may be long.
    const stamped = Date.parse(answer.headers.date ?? '') + 500;
    if (!Number.isNaN(stamped)) clockSkew = Math.max(asked - stamped, 0) || Math.min(wall() - stamped, 0);
    return answer;
  }
}

function queryText(query: Query): string {
  const text = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) text.set(key, String(value));
  return text.size === 0 ? '' : `?${text.toString()}`;
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
async function textOf({ body }: HttpAnswer): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > largestAnswer) throw new Error(`the answer is larger than ${largestAnswer} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function refusalIn(answer: HttpAnswer): Promise<Refusal> {
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
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** What was aborted says why in its cause; a host with several addresses has an error for each. */
function messageOf(error: unknown): string {
  const first: unknown =
    error instanceof AggregateError ? error.errors[0] : ((error as { cause?: unknown }).cause ?? error);
  return printable((first instanceof Error ? first.message : String(first)).slice(0, longestMessage));
}
