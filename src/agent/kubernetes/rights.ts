import type { Refusal } from '../../publish/events/events.ts';
import { at } from '../../base/platform/json.ts';
import type { Connection } from './connection.ts';

/** test/cli/doctor/rights.test.ts compares this file with the rights that `doctor` asks for. */
export const rightsFile = 'deploy/base/rbac.yaml';

export const policiesFile = 'deploy/base/policies.yaml';

export const grantRights = `grant it with the ClusterRole in ${rightsFile}`;

export function grantRightTo(resource: string): string {
  if (resource === 'nodes/status') return 'grant it with the component node-condition';
  return resource === 'namespaces' ? 'grant it with the component audit-opt-out' : grantRights;
}

/** `allowed` is undefined if the answer does not contain it. */
export type AccessAnswer = { kind: 'answered'; allowed: boolean | undefined } | Refusal;

/** Asks whether RBAC allows the verb in all namespaces. Every client may ask this. `resource` may have a subresource: `nodes/status`. */
export async function reviewRight(
  { request }: Pick<Connection, 'request'>,
  verb: string,
  resource: string,
  group = '',
): Promise<AccessAnswer> {
  const [kind, subresource] = resource.split('/');
  const answer = await request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource: kind, subresource, verb } },
    },
  });
  if (answer.kind === 'refused') return answer;
  const allowed = at(answer.body, 'status', 'allowed');
  return { kind: 'answered', allowed: typeof allowed === 'boolean' ? allowed : undefined };
}

export async function isAllowed(
  connection: Pick<Connection, 'request'>,
  verb: string,
  resource: string,
  group = '',
): Promise<boolean | undefined> {
  const review = await reviewRight(connection, verb, resource, group);
  return review.kind === 'answered' ? review.allowed : undefined;
}
