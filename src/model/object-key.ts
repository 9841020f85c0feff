import type { ObjectRef } from './endpoint.ts';

/** Equal for the same object only; one without a uid is known by its name. */
export function objectKey({ uid, namespace, name }: ObjectRef): string {
  return uid || `${namespace ?? ''}/${name}`;
}
