import { backendsIn } from '../resolving/service-chains/endpoints.ts';
import type { Backend } from '../model/service-chain.ts';
import type { EndpointSlice } from '../resolving/objects.ts';
import type { Connection } from './connection.ts';
import { type Json, slimEndpointSlice, UnusableObject } from './slim.ts';

/** Slices that are asked for, each of about a hundred endpoints: more Pods than anybody is told of. */
const limit = 100;

export type FindBackends = (namespace: string, name: string) => Promise<readonly Backend[]>;

/**
 * Asks who is behind a Service, where EndpointSlices are not watched. One request; resolves to nobody when it is refused, which the
 * connection's `onRequest` is told of.
 */
export function createBackendLookup({ request }: Pick<Connection, 'request'>): FindBackends {
  return async (namespace, name) => {
    const answer = await request(
      'GET',
      `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`,
      { query: { labelSelector: `kubernetes.io/service-name=${name}`, limit } },
    );
    if (answer.kind === 'refused') return [];
    const { items } = (answer.body ?? {}) as { items?: unknown };
    return Array.isArray(items) ? backendsIn(items.flatMap(usable)) : [];
  };
}

function usable(object: Json): EndpointSlice[] {
  try {
    return [slimEndpointSlice(object)];
  } catch (error) {
    if (error instanceof UnusableObject) return [];
    throw error;
  }
}
