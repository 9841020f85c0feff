/** Lists of a cluster, read with the rights of who asks. What may not be read is unknown. */
import type { Connection } from '../../kubernetes/connection.ts';
import type { Refusal } from '../../events/events.ts';
import { listAll } from '../../kubernetes/paged-list.ts';
import { isServed, listPolicies, type PolicyKind, unlistedReason } from '../../kubernetes/policy-kinds.ts';
import { isTooLarge, RefusedError } from '../../kubernetes/refusal.ts';
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

/** In pages, because a cluster may have more than one answer may be large. False where some could not be read. */
export async function readAll(
  connection: Connection,
  path: string,
  kind: { apiVersion: string; kind: string },
  { add }: Collector,
): Promise<boolean> {
  try {
    await listAll(connection, path, { pageSize: 250 }, (object) => add(object, kind));
    return true;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    refused(error.refusal);
    return false;
  }
}

/** Where a kind may not be listed, or its list is too large, one policy stands for all that there may be. */
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
  if (answer.status === 404) return;
  if (!isTooLarge(answer) && (await isServed(connection, policyKind)) === false) return;
  refused(answer);
  addPolicy(unlisted(policyKind, namespace, unlistedReason(policyKind, answer)));
}

export function unlisted(
  { apiVersion, kind }: Pick<PolicyKind, 'apiVersion' | 'kind'>,
  namespace: string | undefined,
  reason: string,
  tier = anyTier,
): Policy {
  const name = tier === anyTier ? '(any)' : `(any of the tier ${tier})`;
  const object = { apiVersion, kind, metadata: { name, namespace } };
  return unknownPolicy(object, tier, reason);
}

/** A missing right or object, or a list that is too large, is a missing fact; no answer at all is not. */
export function refused(refusal: Refusal): void {
  const { status, message } = refusal;
  if (isTooLarge(refusal)) return;
  if (status === 0 || status === 401) throw new ClusterError(`the API server cannot be asked: ${message}`);
}
