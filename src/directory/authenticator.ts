import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { createTokenBucket } from '../platform/token-bucket.ts';
import type { Connection } from '../kubernetes/kubernetes.ts';
import { at, list } from '../platform/json.ts';
import { audience } from './replicas.ts';

/** `busy`: it cannot be found out now. */
export type Verdict = 'agent' | 'stranger' | 'busy';

/** A withdrawn token is believed for that long. */
const believedFor: Millis = 120_000;
/** A stranger may become an agent, because RBAC and caches are late. */
const refusedFor: Millis = 10_000;

/** Reviews a second: enough for 5,000 nodes within two minutes, and a bound for strangers. */
const budget = { rate: 50, burst: 500 };

/** Tokens in memory: those of all agents, and of some strangers. */
const tokens = 16_384;

/** A token of a ServiceAccount is about 1 KB. */
const longestToken = 8192;

/** Finds out by TokenReview whether the agents' account asks, and remembers the answer by a hash of the token, so that no token is kept. */
export function createAuthenticator(
  connection: Pick<Connection, 'request'>,
  username: string,
  now: () => Millis,
): (authorization: string | undefined) => Promise<Verdict> {
  const known = new LRUCache<string, { verdict: Promise<Verdict>; until: Millis }>({ max: tokens });
  const bucket = createTokenBucket(budget);

  return async (authorization) => {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization?.slice(0, longestToken) ?? '')?.[1];
    // Reject other tokens locally, to save TokenReview calls.
    if (token === undefined || !isClaimed(token, username)) return 'stranger';
    const key = createHash('sha256').update(token).digest('base64');
    const before = known.get(key);
    if (before !== undefined && before.until > now()) return await before.verdict;
    if (!bucket.take(now())) return 'busy';
    const entry = { verdict: review(connection, token, username), until: now() + believedFor };
    known.set(key, entry);
    const verdict = await entry.verdict;
    if (verdict === 'stranger') entry.until = Math.min(entry.until, now() + refusedFor);
    if (verdict === 'busy') known.delete(key);
    return verdict;
  };
}

/** Whether the unverified claims of a JWT (RFC 7519) name that account and our audience. */
function isClaimed(token: string, username: string): boolean {
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

/** Asks for our audience alone: the token is of no use elsewhere. */
async function review({ request }: Pick<Connection, 'request'>, token: string, username: string): Promise<Verdict> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
  });
  if (answer.kind === 'refused') return 'busy';
  const status = at(answer.body, 'status');
  // An API server that knows no audiences names none: then the token may be meant for something else.
  const isAuthenticated = at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(audience);
  return isAuthenticated && at(status, 'user', 'username') === username ? 'agent' : 'stranger';
}
