import type { Connection } from '../kubernetes/connection.ts';
import { RefusedError } from '../kubernetes/refusal.ts';
import { at, list, text } from '../platform/json.ts';
import type { TokenReview } from './authenticator.ts';
import { audience } from './replica.ts';

/** Asks the API server whose a token is, for our audience alone: it is of no use elsewhere. Rejects with a `RefusedError`. */
export async function reviewToken({ request }: Pick<Connection, 'request'>, token: string): Promise<TokenReview> {
  const answer = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [audience] },
    },
  });
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const status = at(answer.body, 'status');
  return {
    // An API server that knows no audiences names none: then the token may be meant for something else.
    authenticated: at(status, 'authenticated') === true && list(at(status, 'audiences')).includes(audience),
    username: text(at(status, 'user', 'username')) ?? '',
  };
}
