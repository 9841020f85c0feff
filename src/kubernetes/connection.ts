import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import type { Refusal } from '../events/events.ts';
import { type Access, type HttpAnswer, refusalIn, send as sendHttp, textOf } from './http.ts';
import { refusalOfError, RefusedError } from './refusal.ts';
import type { Json } from '../platform/json.ts';

type Verb = 'GET' | 'POST' | 'PATCH';

export type Query = Record<string, string | number | boolean | undefined>;

export interface RequestOptions {
  query?: Query;
  /** A PATCH is a merge patch (RFC 7386), or a strategic one, which merges lists by the keys of their items. */
  body?: unknown;
  strategic?: true;
}

export type Answer = { kind: 'answered'; body: Json } | Refusal;

/** One request to the API server, for metrics. `code` is 0 when there was no answer. */
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
  /** This node's clock minus the API server's, in milliseconds, good to a second; undefined before the first answer. */
  readonly clockSkew: Millis | undefined;
}

export interface ConnectionOptions {
  load: () => Access;
  userAgent: string;
  onRequest?: (report: RequestReport) => void;
  clock: Pick<Clock, 'now' | 'wall'>;
  timeout?: Millis;
}

/**
 * Token, certificates and kubeconfig are read again, at most every few seconds, when the server does not know who asks (401), and where there
 * is no answer at all. Throws when `load` does.
 */
export function createConnection({
  load,
  userAgent,
  onRequest,
  clock: { now, wall },
  timeout = 30_000,
}: ConnectionOptions): Connection {
  const access = createReloadedAccess(load, now);
  let clockSkew: Millis | undefined;

  return {
    get server() {
      return access.current().server;
    },
    get clockSkew() {
      return clockSkew;
    },
    async request(verb, path, options = {}) {
      const started = now();
      const answer = await send(verb, path, options).catch(refusalOfError);
      onRequest?.({
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

  /** The server may have a certificate of another authority by now, where there is no answer at all. */
  async function untilOpen<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    try {
      return await retryClosed(signal, attempt);
    } catch (error) {
      if (!signal.aborted) access.reload();
      throw error;
    }
  }

  async function open(
    verb: Verb,
    path: string,
    { query = {}, body, strategic }: RequestOptions,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const patch = strategic === true ? 'strategic-merge-patch' : 'merge-patch';
    const type = verb === 'PATCH' ? `application/${patch}+json` : 'application/json';
    const asked = wall();
    const answer = await sendHttp(access.current(), {
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
    clockSkew = skewIn(answer, asked, wall()) ?? clockSkew;
    if (answer.status === 401) access.reload();
    return answer;
  }
}

/** This node's clock minus that of the server, which answered at some time between `asked` and `answered`. */
function skewIn({ headers }: HttpAnswer, asked: Millis, answered: Millis): Millis | undefined {
  // The header is cut to seconds.
  const stamped = Date.parse(headers.date ?? '') + 500;
  return Number.isNaN(stamped) ? undefined : Math.max(asked - stamped, 0) || Math.min(answered - stamped, 0);
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

const reloadInterval: Millis = 5000;

/** Holds the access by the files as they were last read. Throws when `load` does. */
function createReloadedAccess(load: () => Access, now: () => Millis) {
  let access = load();
  let loaded = now();

  return { current: (): Access => access, reload };

  /** Works at most every few seconds. */
  function reload(): void {
    if (now() - loaded < reloadInterval) return;
    loaded = now();
    try {
      access = load();
    } catch {
      // A file is just being replaced. The old configuration is no worse than none.
    }
  }
}

const mostTries = 3;

const closingTime: Millis = 100;

/** A connection that was kept may be closed just when it is used again: then `attempt` is made again. Whatever we ask may be asked twice. */
async function retryClosed<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || tries === mostTries || !wasClosed(error)) throw error;
      // Others may just be closing, too.
      await setTimeout(closingTime * (1 + Math.random()));
    }
  }
}

function wasClosed(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
