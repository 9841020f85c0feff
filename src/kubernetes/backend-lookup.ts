import type { Backend } from '../model/service-chain.ts';
import { backendsIn } from '../resolving/service-chains/packed-endpoints.ts';
import type { Connection } from './connection.ts';
import { at, list } from '../platform/json.ts';
import { ifUsable, slimEndpointSlice } from './slim.ts';

/** Slices in the answer, each of about a hundred endpoints: many more Pods than an Event names. */
const limit = 100;

/** Asks who is behind a Service, where EndpointSlices are not watched. One request; resolves to no backend when it is refused. */
export function createBackendLookup({ request }: Pick<Connection, 'request'>) {
  return async (namespace: string, name: string): Promise<readonly Backend[]> => {
    const answer = await request(
      'GET',
      `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`,
      { query: { labelSelector: `kubernetes.io/service-name=${name}`, limit } },
    );
    if (answer.kind === 'refused') return [];
    return backendsIn(list(at(answer.body, 'items')).flatMap((object) => ifUsable(slimEndpointSlice)(object) ?? []));
  };
}
