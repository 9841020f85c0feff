import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import type { Refusal } from '../events/events.ts';
import {
  type Access,
  type HttpAnswer,
  refusalIn,
  refusalOfError,
  RefusedError,
  send as sendHttp,
  textOf,
} from './http.ts';
import type { Json } from '../platform/json.ts';
import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';

type Verb = 'GET' | 'POST' | 'PATCH';

export type Query = Record<string, string | number | boolean | undefined>;

export interface RequestOptions {
  query?: Query;
  /** By default a PATCH is a merge patch (RFC 7386). A strategic one merges lists by the keys of their items. */
  body?: unknown;
  strategic?: true;
}

export type Answer = { kind: 'answered'; body: Json } | Refusal;

/** Describes a request for metrics. `code` is 0 without an answer. */
export interface RequestReport {
  verb: string;
  /** The kind of object, from the last part of the path that names one: `pods`, `events`, … */
  resource: string;
  code: number;
  took: Millis;
}

/** The API server, as one identity sees it. */
export interface Connection {
  readonly server: string;
  /** Never rejects: without an answer in time, it resolves to a refusal. */
  request: (verb: Verb, path: string, options?: RequestOptions) => Promise<Answer>;
  /** Returns the body as a stream, without a time limit and without a report for metrics. Rejects with a `RefusedError`. */
  stream: (path: string, query: Query, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** How far this node's clock is ahead of the API server's, to about a second; undefined before the first answer. */
  readonly clockSkew: Millis | undefined;
}

export interface ConnectionOptions {
  load: () => Access;
  userAgent: string;
  onRequest?: (report: RequestReport) => void;
  clock: Pick<Clock, 'now' | 'wall'>;
  timeout?: Millis;
}

/** Reads the access again after a 401 or a missing answer, but at most every few seconds. Throws if `load` does. */
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

  /** Without an answer, the next request reads the access again: the server may now have a certificate of another authority. */
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

/** Estimates the clocks' difference: the server stamped its answer, in whole seconds, between `asked` and `answered`. */
function skewIn({ headers }: HttpAnswer, asked: Millis, answered: Millis): Millis | undefined {
  const stamped = Date.parse(headers.date ?? '') + 500;
  return Number.isNaN(stamped) ? undefined : Math.max(asked - stamped, 0) || Math.min(answered - stamped, 0);
}

function queryText(query: Query): string {
  const text = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) text.set(key, String(value));
  return text.size === 0 ? '' : `?${text.toString()}`;
}

/** Returns the kind of object in a path: `/api/v1/namespaces/shop/events/web.1` → `events`. */
function resourceOf(path: string): string {
  return /^\/apis?\/(?:[\w.-]+\/)?v\d\w*\/(?:namespaces\/[^/]+\/)?([a-z]+)/.exec(path)?.[1] ?? 'other';
}

const reloadInterval: Millis = 5000;

function createReloadedAccess(load: () => Access, now: () => Millis) {
  let access = load();
  let loaded = now();

  return { current: (): Access => access, reload };

  function reload(): void {
    if (now() - loaded < reloadInterval) return;
    loaded = now();
    try {
      access = load();
    } catch {
      // The file is being replaced at this moment, so keep the old access.
    }
  }
}

const mostTries = 3;

const closingTime: Millis = 100;

/** Tries again if a kept connection turns out to be closed. This is safe, because every request may be sent twice. */
async function retryClosed<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || tries === mostTries || !wasClosed(error)) throw error;
      await setTimeout(closingTime * (1 + Math.random()));
    }
  }
}

function wasClosed(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** The kubelet keeps a Pod's token and certificate authority here, and replaces them from time to time. */
const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the API server by `kubeconfig`, or else by the Pod's ServiceAccount, or else as kubectl does. Throws an error with the path of a
 * file that cannot be used. In a Pod the client library is not loaded (docs/decisions.md).
 */
export async function findAccess(kubeconfig: string | undefined): Promise<() => Access> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (kubeconfig === undefined && host !== undefined && existsSync(join(account, 'token'))) {
    const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return () => serviceAccount(server);
  }
  const { readKubeconfig } = await import('./kubeconfig.ts');
  return () => readKubeconfig(kubeconfig);
}

function serviceAccount(server: string): Access {
  const ca = readFileSync(join(account, 'ca.crt'));
  return {
    server,
    // The kubelet renews the token every hour, and reading it is cheap.
    authenticate: async () => ({
      ca,
      headers: { authorization: `Bearer ${readFileSync(join(account, 'token'), 'latin1').trim()}` },
    }),
  };
}
