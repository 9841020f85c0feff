import { at } from '../platform/json.ts';
import type { Connection } from './connection.ts';

/** What grants the agent all that it may do; test/commands/doctor/rights.test.ts holds it against what `doctor` asks for. */
export const rightsFile = 'deploy/base/rbac.yaml';

/** What grants it the right to read network policies. */
export const policiesFile = 'deploy/base/policies.yaml';

/** What to do about a right that is missing, whoever has found that out. */
export const grantRights = `grant it with the ClusterRole in ${rightsFile}`;

/** The same, for a kind of object that only one setting asks for. */
export function grantRightTo(resource: string): string {
  if (resource === 'nodes/status') return 'grant it with the component node-condition';
  return resource === 'namespaces' ? 'grant it with the component audit-opt-out' : grantRights;
}

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
