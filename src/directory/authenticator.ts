import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { createTokenBucket } from '../platform/rates.ts';
import type { Connection } from '../kubernetes/kubernetes.ts';
import { at, list } from '../platform/json.ts';
import { audience } from './replicas.ts';

/** `busy`: the token cannot be reviewed now. */
export type Verdict = 'agent' | 'stranger' | 'busy';

/** How long the result of a review is used. A revoked token is accepted until then. */
const believedFor: Millis = 120_000;
/** How long a token is refused without another review. RBAC and caches are late, so its sender may soon be an agent. */
const refusedFor: Millis = 10_000;

/** TokenReviews a second, for known agents and again for others. They suffice for 5,000 nodes within two minutes. */
const budget = { rate: 50, burst: 500 };

/** The most results in memory: those of all agents, and of some strangers. */
const tokens = 16_384;

/** A header with more characters is rejected without a review. A token of a ServiceAccount has about 1 KB. */
const longestHeader = 8192;

/** Asks by TokenReview who sent a request. Results are remembered by a hash of the token, so that no token is kept. */
export function createAuthenticator(
  connection: Pick<Connection, 'request'>,
  username: string,
  now: () => Millis,
): (authorization: string | undefined) => Promise<Verdict> {
  const known = new LRUCache<string, { verdict: Promise<Verdict>; until: Millis; isAgent: boolean }>({ max: tokens });
  // Known agents have their own budget, because anybody can make tokens that must be reviewed, and agents must not wait behind those.
  const [ofAgents, ofOthers] = [createTokenBucket(budget), createTokenBucket(budget)];

  return async (authorization) => {
    // Reject other tokens locally, to save TokenReview calls.
    if (authorization === undefined || authorization.length > longestHeader) return 'stranger';
    const token = /^Bearer ([\w.-]+)$/.exec(authorization)?.[1];
    if (token === undefined || !isClaimed(token, username)) return 'stranger';
    const key = createHash('sha256').update(token).digest('base64');
    const before = known.get(key);
    if (before !== undefined && before.until > now()) return await before.verdict;
    const isAgent = before?.isAgent === true;
    if (!(isAgent ? ofAgents : ofOthers).take(now())) return 'busy';
    const entry = { verdict: review(connection, token, username), until: now() + believedFor, isAgent };
    known.set(key, entry);
    const verdict = await entry.verdict;
    if (verdict === 'busy') entry.until = now();
    else entry.isAgent = verdict === 'agent';
    if (verdict === 'stranger') entry.until = Math.min(entry.until, now() + refusedFor);
    return verdict;
  };
}

/** Returns whether the unverified claims of a JWT (RFC 7519) name the account and our audience. */
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

/** Reviews a token for our audience only, so that tokens for other uses are rejected. */
async function review({ request }: Pick<Connection, 'request'>, token: string, username: string): Promise<Verdict> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
  });
  if (answer.kind === 'refused') return 'busy';
  const status = at(answer.body, 'status');
  // An API server without support for audiences returns none. The token may then be meant for another use.
  const isAuthenticated = at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(audience);
  return isAuthenticated && at(status, 'user', 'username') === username ? 'agent' : 'stranger';
}
