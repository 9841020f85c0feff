/** Compiles listed policies in turns of the event loop, each version of an object once. */
import { at, type Json, text } from '../platform/json.ts';
import { inTurns } from '../platform/turns.ts';
import { compilePolicy, type Policy } from '../policies/policies.ts';
import type { PolicyKind } from './policy-kinds.ts';

/** The values of a usual policy, at most 5 KB (127 bytes for each ipBlock). A larger one counts as several. */
export const valuesOfPolicy = 40;

export interface CompiledObject {
  readonly version: string | undefined;
  readonly policies: readonly Policy[];
  readonly values: number;
}

/** By kind, Namespace and name. */
export type CompiledObjects = ReadonlyMap<string, CompiledObject>;

/** `before`: what was compiled of earlier lists. Returns undefined if the objects have more than `most` values together. */
export async function compileInTurns(
  items: readonly Json[],
  { apiVersion, kind }: Pick<PolicyKind, 'apiVersion' | 'kind'>,
  before: CompiledObjects | undefined,
  most: number,
): Promise<{ objects: CompiledObjects; values: number } | undefined> {
  const objects = new Map<string, CompiledObject>();
  let values = 0;
  await inTurns(items, (item) => {
    if (values > most) return 1;
    const [namespace, name] = [at(item, 'metadata', 'namespace'), at(item, 'metadata', 'name')];
    const key = JSON.stringify([apiVersion, kind, namespace, name]);
    const version = text(at(item, 'metadata', 'resourceVersion'));
    const known = before?.get(key);
    const isSame = known !== undefined && version !== undefined && known.version === version;
    const count = isSame ? known.values : valuesIn(item, most - values);
    values += count;
    if (values > most) return 1;
    const policies = isSame ? known.policies : compilePolicy({ apiVersion, kind, ...(item as object) });
    objects.set(objects.has(key) ? `${key} ${objects.size}` : key, { version, policies, values: count });
    return isSame ? 1 : count / valuesOfPolicy;
  });
  return values > most ? undefined : { objects, values };
}

/** A longer text counts as several values, because selectors of Calico are texts of any length. */
const textOfValue = { least: 64, each: 8 };

/** Cilium also has a list `specs`. */
function valuesIn(policy: Json, most: number): number {
  const left = ['spec', 'specs'].flatMap((field) => at(policy, field) ?? []);
  let count = 0;
  while (left.length > 0 && count <= most) {
    const value = left.pop();
    count++;
    if (typeof value === 'string' && value.length > textOfValue.least)
      count += Math.floor(value.length / textOfValue.each);
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) left.push(each);
  }
  return count;
}
