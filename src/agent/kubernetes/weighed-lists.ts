/** Lists policies and Calico's objects, and weighs each compiled object before it is kept. */
import { at, type Json } from '../../base/platform/json.ts';
import { createMemoryLeases, type MemoryBudget, type MemoryLeases } from '../../base/platform/memory-budget.ts';
import { inTurns } from '../../base/platform/turns.ts';
import { type Bytes, weightOf } from '../../base/platform/weight.ts';
import { type CalicoCollector, type Policy, weightOfSpec } from '../../explain/policies/policies.ts';
import { type CompiledObjects, createCompiler } from './compiled-policies.ts';
import type { Connection } from './connection.ts';
import { isTooLarge, RefusedError } from './http.ts';
import {
  fromCache,
  listPolicies,
  type PolicyKind,
  unlistedPolicy,
  unlistedReason,
  unreadKindOf,
} from './policy-kinds.ts';

/** The part of the memory for tenants' objects that one compiled object may take. */
const partOfObject = 1 / 4;

/** The share of memory for objects that are read of all Namespaces at once. No Namespace has this name. */
export const allNamespaces = '*';

export type ListReport = (list: { plural: string; namespace: string | undefined; isTooLarge: boolean }) => void;

export interface Weight {
  /** Its memory in bytes. */
  readonly bytes: Bytes;
}

export interface ListReadOptions {
  readonly connection: Pick<Connection, 'request'>;
  readonly onListed: ListReport;
  readonly lease: MemoryLeases;
  /** The largest weight of one object. */
  readonly largest: Bytes;
}

export interface PolicyList extends Weight {
  readonly policies: readonly Policy[];
  readonly compiled: CompiledObjects;
}

export function createReading(
  connection: ListReadOptions['connection'],
  onListed: ListReport,
  memory: MemoryBudget,
): ListReadOptions {
  return { connection, onListed, lease: createMemoryLeases(memory, 'policies'), largest: memory.total * partOfObject };
}

/** NetworkPolicies must be listed. If another kind may not be listed, one unknown policy represents all of it. */
export async function readPolicyList(
  { connection, onListed, lease, largest }: ListReadOptions,
  policyKind: PolicyKind,
  namespace: string | undefined,
  before: CompiledObjects | undefined,
): Promise<PolicyList> {
  const { apiVersion, plural } = policyKind;
  const any = (reason: string): PolicyList => {
    const policies = [unlistedPolicy(policyKind, namespace, reason)];
    return { policies, compiled: nothingCompiled, bytes: usualPolicy };
  };
  const room = lease(namespace ?? '', plural);
  const { objects, compile, clear } = createCompiler(policyKind, before, largest);
  let [bytes, isLarge, isWhole] = [0, false, true];
  const onItem = (item: Json): number => {
    if (!room.take(0)) return 1;
    const compiled = compile(item);
    isLarge ||= compiled.isTooLarge;
    bytes += compiled.bytes;
    // Policies that were compiled before are weighed already.
    if (!room.take(compiled.isNew ? compiled.bytes : bytesOfEntry)) clear();
    return compiled.isNew ? compiled.bytes / usualPolicy : 1;
  };
  try {
    const answer = await listPolicies(connection, policyKind, namespace, fromCache, onItem);
    if (answer.kind === 'listed') await inTurns(answer.items, onItem);
    isWhole = room.take(0) && !(answer.kind === 'refused' && isTooLarge(answer));
    onListed({ plural, namespace, isTooLarge: isLarge || !isWhole });
    if (!isWhole) return any(`the list of ${plural} is too large`);
    if (answer.kind === 'listed')
      return { policies: [...objects.values()].flatMap((each) => each.policies), compiled: objects, bytes };
    if (answer.status === 404) return { policies: [], compiled: nothingCompiled, bytes: 0 };
    if (answer.status !== 403 || apiVersion === 'networking.k8s.io/v1') throw new RefusedError(answer);
    return any(unlistedReason(policyKind, answer));
  } finally {
    room.release(isWhole && !isLarge);
  }
}

const nothingCompiled: CompiledObjects = new Map();

/** The memory of a usual policy. */
const usualPolicy: Bytes = 4000;

/** The memory of a policy's entry in a second map. */
const bytesOfEntry: Bytes = 100;

/** Resolves to the memory of the added objects. */
export async function addCalico(
  { connection, onListed, lease, largest }: ListReadOptions,
  { add, unread }: CalicoCollector,
  kinds: readonly PolicyKind[],
  namespace: string | undefined,
): Promise<Bytes> {
  const room = lease(namespace ?? '', 'objects of Calico');
  let [bytes, isWhole] = [0, true];
  try {
    for (const policyKind of kinds) {
      const { apiVersion, kind, plural } = policyKind;
      let isLarge = false;
      const onItem = (item: Json): void => {
        const weight = weightOfSpec(item) + weightOf(at(item, 'metadata', 'labels'), { freeKeys: true });
        if (weight > largest || !room.take(weight)) isLarge = true;
        else {
          bytes += weight;
          add({ apiVersion, kind, ...(item as object) });
        }
      };
      const of = namespace === allNamespaces ? undefined : namespace;
      const answer = await listPolicies(connection, policyKind, of, fromCache, onItem);
      if (answer.kind === 'listed') await inTurns(answer.items, onItem);
      else if (isTooLarge(answer)) isLarge = true;
      isWhole &&= !isLarge;
      onListed({ plural, namespace: of, isTooLarge: isLarge });
      if (isLarge || (answer.kind === 'refused' && answer.status === 403)) unread(unreadKindOf(policyKind));
      else if (answer.kind === 'refused' && answer.status !== 404) throw new RefusedError(answer);
    }
    return bytes;
  } finally {
    room.release(isWhole);
  }
}

export function sumOf(parts: readonly Weight[]): Bytes {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}
