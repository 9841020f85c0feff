import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { createTokenBucket } from '../platform/token-bucket.ts';
import type { Connection } from '../kubernetes/connection.ts';
import { RefusedError } from '../kubernetes/refusal.ts';
import { at, list, text } from '../platform/json.ts';
import { audience as ownAudience } from './directory.ts';

/** The API server's answer about a token. */
export interface TokenReview {
  authenticated: boolean;
  /** `system:serviceaccount:NAMESPACE:NAME` */
  username: string;
}

/** `busy`: it cannot be found out now. */
export type Verdict = 'agent' | 'stranger' | 'busy';

export interface AuthenticatorOptions {
  /** Asks the API server about a token for our audience. Rejects when it does not answer. */
  review: (token: string) => Promise<TokenReview>;
  audience: string;
  /** The user that may ask. */
  username: string;
  now: () => Millis;
}

/** A token that is withdrawn is believed for that long. */
const believedFor: Millis = 120_000;
/** A stranger may become an agent: RBAC and the API server's caches are late. */
const refusedFor: Millis = 10_000;

/** Reviews a second: enough for the agents of 5,000 nodes within two minutes, and a bound for strangers. */
const budget = { rate: 50, burst: 500 };

/** Enough for all agents, and some strangers. */
const tokens = 16_384;

/** A token of a ServiceAccount is about 1 KB. */
const longestToken = 8192;

/** Finds out by TokenReview who may ask, and remembers the answer by a hash of the token, so that no token is kept. */
export function createAuthenticator({ review, audience, username, now }: AuthenticatorOptions): {
  check: (authorization: string | undefined) => Promise<Verdict>;
} {
  const known = new LRUCache<string, { verdict: Promise<Verdict>; until: Millis }>({ max: tokens });
  const bucket = createTokenBucket(budget);

  return { check };

  async function check(authorization: string | undefined): Promise<Verdict> {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization?.slice(0, longestToken) ?? '')?.[1];
    // Reject other tokens locally, to save TokenReview calls.
    if (token === undefined || !isClaimed(token)) return 'stranger';
    const key = createHash('sha256').update(token).digest('base64');
    const before = known.get(key);
    if (before !== undefined && before.until > now()) return await before.verdict;
    if (!bucket.take(now())) return 'busy';
    const entry = { verdict: ask(token), until: now() + believedFor };
    known.set(key, entry);
    const verdict = await entry.verdict;
    if (verdict === 'stranger') entry.until = Math.min(entry.until, now() + refusedFor);
    if (verdict === 'busy') known.delete(key);
    return verdict;
  }

  async function ask(token: string): Promise<Verdict> {
    try {
      const answer = await review(token);
      return answer.authenticated && answer.username === username ? 'agent' : 'stranger';
    } catch {
      return 'busy';
    }
  }

  /** Whether the unverified claims of a JWT (RFC 7519) name our account and our audience. */
  function isClaimed(token: string): boolean {
    try {
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
        sub?: unknown;
        aud?: unknown;
      };
      return claims.sub === username && [claims.aud].flat().includes(audience);
    } catch {
      return false;
    }
  }
}

/** Asks the API server whose a token is, for our audience alone: it is of no use elsewhere. Rejects with a `RefusedError`. */
export async function reviewToken({ request }: Pick<Connection, 'request'>, token: string): Promise<TokenReview> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [ownAudience] },
    },
  });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const status = at(answer.body, 'status');
  return {
    // An API server that knows no audiences names none: then the token may be meant for something else.
    authenticated: at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(ownAudience),
    username: text(at(status, 'user', 'username')) ?? '',
  };
}
