import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../../base/model/log-line.ts';
import { createTokenBucket, type TokenBucket } from '../../base/platform/rates.ts';
import type { Connection } from '../kubernetes/kubernetes.ts';
import { at, type Json, list } from '../../base/platform/json.ts';
import { audience } from './replicas.ts';

/** `busy`: the token cannot be reviewed now. */
export type AuthenticationResult = 'agent' | 'stranger' | 'busy';

/** How long the result of a review is used. A revoked token is accepted until then. */
const believedFor: Millis = 120_000;
/** How long a token is refused without another review. RBAC and caches are late, so its sender may soon be an agent. */
const refusedFor: Millis = 10_000;

/** TokenReviews a second: of known agents; of others; of others from one address. The first two suffice for 5,000 nodes within two minutes. */
const budgets = {
  agents: { rate: 50, burst: 500 },
  others: { rate: 50, burst: 500 },
  perAddress: { rate: 0.5, burst: 10 },
};

/** The most results in memory: of agents, and of others, whose tokens anybody can make up. */
const tokens = { agents: 16_384, others: 4096 };

/** The most agents and the most addresses that are remembered. */
const most = { agents: 8192, addresses: 8192 };

/** How long an agent keeps its place without asking. Its token is renewed within the hour. */
const placeKeptFor: Millis = 7_200_000;

/** A header with more characters is rejected without a review. A token of a ServiceAccount has about 1 KB. */
const longestHeader = 8192;

export type Authenticator = (authorization: string | undefined, address: string) => Promise<AuthenticationResult>;

interface Result {
  verdict: Promise<AuthenticationResult>;
  until: Millis;
}

/** What an agent keeps when its token is renewed: its Pod and the address that it asks from. */
interface Place {
  address: string;
  until: Millis;
  reviews: TokenBucket;
}

/** Reviews a second for one agent: its token, a renewed one, and some forged in its name from its address. */
const ofPlace = { rate: 1, burst: 10 };

/**
 * Asks by TokenReview who sent a request. Results are remembered by a hash of the token, so that no token is kept. Strangers can make any
 * number of tokens that must be reviewed, so agents have separate tables and a separate budget.
 */
export function createAuthenticator(
  connection: Pick<Connection, 'request'>,
  username: string,
  now: () => Millis,
): Authenticator {
  const [agents, others] = [tokens.agents, tokens.others].map((max) => new LRUCache<string, Result>({ max })) as [
    LRUCache<string, Result>,
    LRUCache<string, Result>,
  ];
  const places = new LRUCache<string, Place>({ max: most.agents });
  const addresses = new LRUCache<string, TokenBucket>({ max: most.addresses });
  const [ofAgents, ofOthers] = [createTokenBucket(budgets.agents), createTokenBucket(budgets.others)];

  return async (authorization, address) => {
    // Reject other tokens locally, to save TokenReview calls.
    if (authorization === undefined || authorization.length > longestHeader) return 'stranger';
    const token = /^Bearer ([\w.-]+)$/.exec(authorization)?.[1];
    const claims = token === undefined ? undefined : claimsOf(token, username);
    if (token === undefined || claims === undefined) return 'stranger';
    const key = createHash('sha256').update(token).digest('base64');
    const agent = agents.get(key);
    const before = agent ?? others.get(key);
    if (before !== undefined && before.until > now()) return await before.verdict;
    if (!mayReview(agent !== undefined, claims.pod, address)) return 'busy';
    const result = { verdict: review(connection, token, username), until: now() + believedFor };
    (agent === undefined ? others : agents).set(key, result);
    const verdict = await result.verdict;
    if (verdict === 'agent') {
      others.delete(key);
      agents.set(key, result);
      if (claims.pod !== '') keepPlace(claims.pod, address);
    } else {
      if (verdict === 'stranger') move(key, result);
      result.until = verdict === 'busy' ? now() : Math.min(result.until, now() + refusedFor);
    }
    return verdict;
  };

  function mayReview(isAgent: boolean, pod: string, address: string): boolean {
    if (isAgent) return ofAgents.take(now());
    const place = places.get(pod);
    // The claims are not verified yet: somebody who makes them up must also ask from the agent's address.
    if (place !== undefined && place.address === address && place.until > now())
      return place.reviews.take(now()) && ofAgents.take(now());
    let bucket = addresses.get(address);
    if (bucket === undefined) addresses.set(address, (bucket = createTokenBucket(budgets.perAddress)));
    return bucket.take(now()) && ofOthers.take(now());
  }

  function keepPlace(pod: string, address: string): void {
    const reviews = places.get(pod)?.reviews ?? createTokenBucket(ofPlace);
    places.set(pod, { address, until: now() + placeKeptFor, reviews });
  }

  /** A token that no longer belongs to an agent loses its place. */
  function move(key: string, result: Result): void {
    agents.delete(key);
    others.set(key, result);
  }
}

/** The unverified claims of a JWT (RFC 7519); undefined if it does not name the account and our audience. `pod`: '' without one. */
function claimsOf(token: string, username: string): { pod: string } | undefined {
  try {
    const claims: Json = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    if (at(claims, 'sub') !== username || ![at(claims, 'aud')].flat().includes(audience)) return undefined;
    const uid = at(claims, 'kubernetes.io', 'pod', 'uid');
    return { pod: typeof uid === 'string' ? uid.slice(0, 64) : '' };
  } catch {
    return undefined;
  }
}

/** Reviews a token for our audience only, so that tokens for other uses are rejected. */
async function review(
  { request }: Pick<Connection, 'request'>,
  token: string,
  username: string,
): Promise<AuthenticationResult> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
  });
  if (answer.kind === 'refused') return 'busy';
  const status = at(answer.body, 'status');
  // An API server without support for audiences returns none. The token may then be meant for another use.
  const isAuthenticated = at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(audience);
  return isAuthenticated && at(status, 'user', 'username') === username ? 'agent' : 'stranger';
}
