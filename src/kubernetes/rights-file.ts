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
