import { setTimeout } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import type { Refusal } from '../../publish/events/events.ts';
import {
  type Access,
  type Credentials,
  type HttpAnswer,
  refusalOfError,
  RefusedError,
  send as sendHttp,
} from './http.ts';
import { collectItems, readItems, type TakeItem } from './list-items.ts';
import { at, type Json, parsed } from '../../base/platform/json.ts';
import { isAskedFor, refusalIn, strangeAnswer } from './refusals.ts';
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
  /** Takes the objects of a list one by one. The answer then lacks them, and may still be refused after some of them. */
  onItem?: TakeItem | undefined;
}

export type Answer = { kind: 'answered'; body: Json } | Refusal;

export interface RequestReport {
  verb: string;
  resource: string;
  /** The HTTP status; 0 without an answer that could be read. */
  code: number;
  took: Millis;
}

export interface ConnectionOptions {
  access: Access;
  userAgent: string;
  onRequest?: (report: RequestReport) => void;
  clock: Pick<Clock, 'now' | 'wall'>;
  timeout?: Millis;
}

/** The API server, as one identity sees it. */
export interface Connection {
  readonly server: string;
  /** How far this node's clock is ahead of the API server's, to about a second; undefined before the first answer. */
  readonly clockSkew: Millis | undefined;
  /** Never rejects: without an answer in time, it resolves to a refusal. */
  request: (verb: Verb, path: string, options?: RequestOptions) => Promise<Answer>;
  /** Returns the body as a stream, without a time limit and without a report for metrics. Rejects with a `RefusedError`. */
  stream: (path: string, query: Query, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
}

export function createConnection({
  access,
  userAgent,
  onRequest,
  clock,
  timeout = 30_000,
}: ConnectionOptions): Connection {
  const { now, wall } = clock;
  let clockSkew: Millis | undefined;

  return {
    get server(): string {
      return access.server;
    },
    get clockSkew(): Millis | undefined {
      return clockSkew;
    },
    async request(this: void, verb: Verb, path: string, options: RequestOptions = {}): Promise<Answer> {
      const started = now();
      const { answer, code } = await send(verb, path, options).catch((error: unknown) => ({
        answer: refusalOfError(error),
        code: 0,
      }));
      onRequest?.({ verb, resource: resourceOf(path), code, took: now() - started });
      return answer;
    },
    async stream(this: void, path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
      const answer = await retryClosed(signal, () => open('GET', path, { query }, signal));
      const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
      if (answer.status === 200 && isJson) return answer.body;
      throw new RefusedError(await refusalIn(answer, path));
    },
  };

  async function send(verb: Verb, path: string, options: RequestOptions): Promise<{ answer: Answer; code: number }> {
    const signal = AbortSignal.timeout(timeout);
    const { onItem } = options;
    const begin = (): Promise<HttpAnswer> => open(verb, path, options, signal);
    const asked = { verb, path, sent: options.body };
    // An object must not be handed over twice, so a request that breaks after the head is not tried again.
    if (onItem !== undefined) return await readAnswer(await retryClosed(signal, begin), asked, onItem);
    return await retryClosed(signal, async () => {
      const items = collectItems();
      const { answer, code } = await readAnswer(await begin(), asked, items.take);
      return { answer: items.addTo(answer), code };
    });
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
    }).catch((error: unknown) => {
      if (!signal.aborted) access.reload?.();
      throw error;
    });
    if (answer.status === 401) access.reload?.();
    clockSkew = skewIn(answer, asked, wall()) ?? clockSkew;
    return answer;
  }
}

async function readAnswer(
  answered: HttpAnswer,
  { verb, path, sent }: { verb: Verb; path: string; sent: Json },
  take: TakeItem,
): Promise<{ answer: Answer; code: number }> {
  const { status: code } = answered;
  if (code >= 300) return { answer: await refusalIn(answered, path), code };
  const isAnswer = (body: Json): boolean => isAskedFor(verb, path, sent, body);
  // Lists of custom resources have their kind at the end.
  const isList = (head: Json): boolean => at(head, 'kind') === undefined || isAnswer(head);
  const text = await readItems(answered.body, take, isList);
  const body = parsed(text);
  if (isAnswer(body)) return { answer: { kind: 'answered', body }, code };
  return { answer: strangeAnswer(code, text), code: 0 };
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

const mostTries = 3;

/** The shortest wait before the next try, because other kept connections may also be closing. */
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

const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Throws an error that names the file that cannot be used. In a Pod the client library is not loaded (docs/decisions.md). */
export async function findAccess(kubeconfig: string | undefined): Promise<Access> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (kubeconfig === undefined && host !== undefined && existsSync(join(account, 'token')))
    return { server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`, authenticate: authenticateAccount };
  const { readKubeconfig } = await import('./kubeconfig.ts');
  return readKubeconfig(kubeconfig);
}

/** Reads both files for each request, because the kubelet renews the token every hour, and reading them is cheap. */
async function authenticateAccount(): Promise<Credentials> {
  const [ca, token] = ['ca.crt', 'token'].map((name) => readFileSync(join(account, name), 'latin1').trim());
  return { ca, headers: { authorization: `Bearer ${token}` } };
}
