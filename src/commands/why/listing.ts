/** Lists of a cluster, read with the rights of who asks. What may not be read is unknown. */
import type { Connection } from '../../kubernetes/connection.ts';
import { isServed, listPolicies, type PolicyKind } from '../../kubernetes/policy-kinds.ts';
import { anyTier, type Policy, unknownPolicy } from '../../policies/policies.ts';
import type { Collector } from './known-objects.ts';

/** The API server cannot be asked at all. */
export class ClusterError extends Error {
  override name = 'ClusterError';
}

export async function get(
  connection: Connection,
  path: string,
  kind: { apiVersion: string; kind: string },
  { add }: Collector,
): Promise<void> {
  const answer = await connection.request('GET', path, {});
  if (answer.kind === 'refused') return refused(answer);
  add(answer.body, kind);
}

/** Of a kind that may not be listed, one policy stands for all that there may be. */
export async function readKind(
  connection: Connection,
  policyKind: PolicyKind,
  namespace: string | undefined,
  { add, addPolicy }: Collector,
): Promise<void> {
  const { apiVersion, kind } = policyKind;
  const answer = await listPolicies(connection, policyKind, namespace, { fromCache: false });
  if (answer.kind === 'listed') {
    add({ items: answer.items }, { apiVersion, kind });
    return;
  }
  if (answer.status === 404 || (await isServed(connection, policyKind)) === false) return;
  refused(answer);
  addPolicy(unlisted(policyKind, namespace));
}

/** Stands for all policies of a kind that may not be listed. */
export function unlisted(
  { apiVersion, kind, plural }: PolicyKind,
  namespace: string | undefined,
  tier = anyTier,
): Policy {
  const name = tier === anyTier ? '(any)' : `(any of the tier ${tier})`;
  const object = { apiVersion, kind, metadata: { name, namespace } };
  return unknownPolicy(object, tier, `${plural} may not be listed`);
}

/** A missing right or object is a missing fact; no answer at all is not. */
export function refused({ status, message }: { status: number; message: string }): void {
  if (status === 0 || status === 401) throw new ClusterError(`the API server cannot be asked: ${message}`);
}
