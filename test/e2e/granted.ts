import { readManifests } from '../deploy/manifests.ts';
import type { Connection } from './control-plane/connection.ts';
import { until } from './until.ts';

/** A rule of a ClusterRole. Rules about URLs that are not resources have only the last field. */
export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs?: readonly string[];
}

/**
 * Makes a ServiceAccount, which is among `items`, with objects that grant it `rules`. Returns its token once the API
 * server grants them, which is a moment after it has stored them.
 */
export async function makeAccount(
  connection: Connection,
  { namespace, name }: { namespace: string; name: string },
  items: readonly object[],
  rules: readonly Rule[],
): Promise<string> {
  // Applied by the server, so that two test files can do it at once and neither is refused.
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await connection.succeed(apply, { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
  // A soak of an hour would end after the hour for which a token is valid by default.
  const token = (await connection.succeed(['create', 'token', name, '-n', namespace, '--duration=3h'])).trim();
  await untilRights(connection, token, rules, true);
  return token;
}

/** A ClusterRole with `rules`, and its binding to a ServiceAccount. */
export function clusterRights(
  name: string,
  rules: readonly Rule[],
  account: { namespace: string; name: string },
): readonly object[] {
  const apiGroup = 'rbac.authorization.k8s.io';
  const roleRef = { apiGroup, kind: 'ClusterRole', name };
  const metadata = { name };
  return [
    { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef,
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
}

/** The rules of the ClusterRoles in manifests of deploy/. */
export function rulesIn(...files: readonly string[]): readonly Rule[] {
  return files
    .flatMap(readManifests)
    .filter(({ kind }) => kind === 'ClusterRole')
    .flatMap((role) => (role as { rules?: readonly Rule[] }).rules ?? []);
}

/** Waits until the account of a token has all rights of `rules`, or none of them. Rejects after a minute. */
export async function untilRights(
  connection: Connection,
  token: string,
  rules: readonly Rule[],
  granted: boolean,
): Promise<void> {
  for (const right of rules.flatMap(rightsOf)) {
    const isDone = async (): Promise<boolean> => (await isGranted(connection, token, right)) === granted;
    await until(isDone, () => `[rights] ${granted ? 'not granted' : 'still granted'}: ${JSON.stringify(right)}`);
  }
}

interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

function rightsOf({ apiGroups = [], resources = [], verbs = [] }: Rule): Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
  );
}

async function isGranted({ request }: Connection, token: string, resourceAttributes: Right): Promise<boolean> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const answer = await request('POST', path, { body, token });
  return (answer.body as { status?: { allowed: boolean } }).status?.allowed === true;
}
