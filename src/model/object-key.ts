import type { ObjectRef } from './endpoint.ts';

/** Tells objects apart; one without a uid is known by its name. */
export function objectKey({ uid, namespace, name }: ObjectRef): string {
  return uid || `${namespace ?? ''}/${name}`;
}
