import { at } from '../../platform/json.ts';
import type { Connection } from '../connection.ts';

/** Whether RBAC lets us, in all namespaces; undefined where the API server does not say. Everybody may ask that. */
export async function may(
  { request }: Pick<Connection, 'request'>,
  verb: string,
  resource: string,
  group = '',
): Promise<boolean | undefined> {
  const answer = await request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource, verb } },
    },
  });
  const allowed = answer.kind === 'answered' ? at(answer.body, 'status', 'allowed') : undefined;
  return typeof allowed === 'boolean' ? allowed : undefined;
}
