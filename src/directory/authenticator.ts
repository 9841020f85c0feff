import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { createTokenBucket } from '../platform/rates.ts';
import type { Connection } from '../kubernetes/kubernetes.ts';
import { at, list } from '../platform/json.ts';
import { audience } from './replicas.ts';

/** `busy`: the answer is not available now. */
export type Verdict = 'agent' | 'stranger' | 'busy';

/** How long the result of a review is used. A withdrawn token is accepted as long. */
const believedFor: Millis = 120_000;
/** How long a stranger is remembered. RBAC and caches are late, so the stranger may soon be an agent. */
const refusedFor: Millis = 10_000;

/** TokenReviews a second, for tokens of known agents and for others: enough for 5,000 nodes within two minutes. */
const budget = { rate: 50, burst: 500 };

/** The most tokens in memory: those of all agents, and of some strangers. */
const tokens = 16_384;

/** The longest token in characters. One of a ServiceAccount has about 1 KB. */
const longestToken = 8192;

/**
 * Checks by TokenReview whether the request comes from the agents' account. It remembers the result by a hash of the token, so that no
 * token is kept.
 */
export function createAuthenticator(
  connection: Pick<Connection, 'request'>,
  username: string,
  now: () => Millis,
): (authorization: string | undefined) => Promise<Verdict> {
  const known = new LRUCache<string, { verdict: Promise<Verdict>; until: Millis; isAgent: boolean }>({ max: tokens });
  // Two, because anybody can make tokens that have to be reviewed, and agents whose token is known must not wait behind those.
  const [ofAgents, ofOthers] = [createTokenBucket(budget), createTokenBucket(budget)];

  return async (authorization) => {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization?.slice(0, longestToken) ?? '')?.[1];
    // Reject other tokens locally, to save TokenReview calls.
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

/** Reviews a token for our audience alone, so that a token for other uses is not accepted. */
async function review({ request }: Pick<Connection, 'request'>, token: string, username: string): Promise<Verdict> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
  });
  if (answer.kind === 'refused') return 'busy';
  const status = at(answer.body, 'status');
  // An API server that does not know audiences returns none. Then the token may be meant for something else.
  const isAuthenticated = at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(audience);
  return isAuthenticated && at(status, 'user', 'username') === username ? 'agent' : 'stranger';
}
