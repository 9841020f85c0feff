/** Compiles listed policies, each version of an object once. */
import { at, type Json, text } from '../../base/platform/json.ts';
import type { Bytes } from '../../base/platform/weight.ts';
import {
  anyTier,
  compilePolicy,
  largestWeightOf,
  type Policy,
  unknownPolicy,
  weightOfPolicy,
} from '../../explain/policies/policies.ts';
import type { PolicyKind } from './policy-kinds.ts';

export interface CompiledObject {
  readonly version: string | undefined;
  readonly policies: readonly Policy[];
  readonly bytes: Bytes;
  /** It may exceed the limit of one object, so its rules are unknown. */
  readonly isTooLarge: boolean;
}

/** By kind, Namespace and name. */
export type CompiledObjects = ReadonlyMap<string, CompiledObject>;

export interface Compiler {
  readonly objects: CompiledObjects;
  /** `isNew`: it was not compiled before. */
  compile: (item: Json) => CompiledObject & { readonly isNew: boolean };
  clear: () => void;
}

/** `before`: policies compiled from earlier lists. `largest`: the largest weight of an object. */
export function createCompiler(
  { apiVersion, kind }: Pick<PolicyKind, 'apiVersion' | 'kind'>,
  before: CompiledObjects | undefined,
  largest: Bytes,
): Compiler {
  const objects = new Map<string, CompiledObject>();
  return {
    objects,
    compile(item) {
      const [namespace, name] = [at(item, 'metadata', 'namespace'), at(item, 'metadata', 'name')];
      const key = JSON.stringify([apiVersion, kind, namespace, name]);
      const version = text(at(item, 'metadata', 'resourceVersion'));
      const known = before?.get(key);
      const isSame = known !== undefined && version !== undefined && known.version === version;
      const compiled = isSame
        ? known
        : { version, ...compiledWithin({ apiVersion, kind, ...(item as object) }, largest) };
      objects.set(objects.has(key) ? `${key} ${objects.size}` : key, compiled);
      return { ...compiled, isNew: !isSame };
    },
    clear: () => objects.clear(),
  };
}

function compiledWithin(object: Json, largest: Bytes): Omit<CompiledObject, 'version'> {
  const isTooLarge = largestWeightOf(object) > largest;
  const policies = isTooLarge ? [unknownPolicy(object, anyTier, 'it is too large')] : compilePolicy(object);
  return { policies, bytes: weightOfPolicy(isTooLarge ? {} : object, policies), isTooLarge };
}
