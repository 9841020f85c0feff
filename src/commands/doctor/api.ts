import type { Answer, Connection } from '../../kubernetes/connection.ts';
import { denierOf, type Refusal } from '../../events/events.ts';

/** What checks need of the API server. `request` resolves whatever happens; a refusal with status 0 is no answer. */
export interface Api extends Pick<Connection, 'server' | 'request' | 'clockSkew'> {
  /** Why no API server can be asked: no kubeconfig and no ServiceAccount. */
  readonly unusable?: string | undefined;
}

/** An API server that cannot be reached: each check says so in its own words. */
export function noApi(reason: string): Api {
  return {
    server: '',
    clockSkew: undefined,
    unusable: reason,
    request: () =>
      Promise.resolve({ kind: 'refused', status: 0, reason: '', message: reason, retryAfter: undefined } as const),
  };
}

export type ListAnswer = { kind: 'items'; items: readonly unknown[] } | { kind: 'refused'; why: string };

/** The objects in an answer to a list. */
export function itemsOf(answer: Answer): ListAnswer {
  if (answer.kind === 'refused') return { kind: 'refused', why: refusalText(answer) };
  const items = (answer.body as { items?: unknown } | null)?.items;
  return { kind: 'items', items: Array.isArray(items) ? items : [] };
}

export function refusalText(refusal: Pick<Refusal, 'status' | 'reason' | 'message'>): string {
  const { status, message } = refusal;
  if (status === 0) return 'the API server does not answer';
  if (denierOf(refusal) !== undefined) return `the API server's admission denies it: ${message}`;
  return status === 403 ? 'the API server does not allow it' : `the API server answers ${status}: ${message}`;
}

export const seeApiServer = 'see the line api-server; then run doctor again';
