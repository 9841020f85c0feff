/** Reads Calico's objects beside policies: those of the whole cluster, and those that a policy names. */
import { at, type Json, list } from '../platform/json.ts';
import {
  type CalicoKind,
  type CalicoObjects,
  collectCalicoObjects,
  type Labels,
  type NetworkSet,
  type ServiceEndpoints,
  serviceNameLabel,
} from '../policies/policies.ts';
import type { Connection } from './connection.ts';
import { fromCache, listPolicies, type OnListed, type PolicyKind } from './policy-kinds.ts';
import { isTooLarge, RefusedError } from './refusal.ts';

/** Objects that are read of one kind; where there are more, the kind counts as unread. */
const maxObjects = 5000;

/** `unread`: there may be more, because they may not be listed or are too many. */
export interface NetworkSets {
  readonly sets: readonly NetworkSet[];
  readonly unread: boolean;
}

const unreadAs: Readonly<Record<string, CalicoKind>> = { Tier: 'tiers', HostEndpoint: 'hostendpoints' };

/** Names are spelled as Kubernetes spells them. Each call rejects with a `RefusedError`, but for a right that is missing. */
export function createCalicoReader(connection: Pick<Connection, 'request'>, onListed: OnListed) {
  return {
    /** Tiers, GlobalNetworkSets and HostEndpoints; undefined if there are no such kinds. */
    async cluster(kinds: readonly PolicyKind[]): Promise<CalicoObjects | undefined> {
      if (kinds.length === 0) return undefined;
      const { add, unread, read } = collectCalicoObjects();
      for (const kind of kinds) {
        const items = await listed(kind, undefined);
        if (items === undefined) unread(unreadAs[kind.kind] ?? 'networksets');
        for (const item of items ?? []) add(item);
      }
      return read();
    },
    /** Stands for all of these where Calico's API is away. */
    unread(): CalicoObjects {
      const { unread, read } = collectCalicoObjects();
      for (const kind of ['tiers', 'networksets', 'hostendpoints'] as const) unread(kind);
      return read();
    },
    /** NetworkSets of a Namespace; undefined: of all. */
    async networkSets(kinds: readonly PolicyKind[], namespace: string | undefined): Promise<NetworkSets> {
      const { add, read } = collectCalicoObjects();
      let unread = false;
      for (const kind of kinds) {
        const items = await listed(kind, namespace);
        unread ||= items === undefined;
        for (const item of items ?? []) add(item);
      }
      return { sets: read().networkSets, unread };
    },
    /** Endpoints of a Service, given as `NAMESPACE/NAME`; a text says why they are not known. */
    async endpoints(this: void, service: string): Promise<ServiceEndpoints | string> {
      const [namespace = '', name = ''] = service.split('/');
      const { add, services } = collectCalicoObjects();
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      const query = { labelSelector: `${serviceNameLabel}=${name}`, resourceVersion: '0' };
      const items = await readable(connection, path, query);
      if (items === undefined) services.unread(namespace);
      for (const item of items ?? []) add({ kind: 'EndpointSlice', ...(item as object) });
      services.complete(service);
      return services.endpointsOf(service);
    },
    /** Labels of a ServiceAccount, given as `NAMESPACE/NAME`; undefined if it may not be read, or is gone. */
    async accountLabels(this: void, account: string): Promise<Labels | undefined> {
      const [namespace = '', name = ''] = account.split('/');
      const { add, read } = collectCalicoObjects();
      // The agent may list, not get.
      const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: '0' };
      const items = await readable(connection, `/api/v1/namespaces/${namespace}/serviceaccounts`, query);
      for (const item of items ?? []) add({ apiVersion: 'v1', kind: 'ServiceAccount', ...(item as object) });
      return read().serviceAccounts.get(account);
    },
  };

  /** Undefined if they may not be listed, or are too many. */
  async function listed(policyKind: PolicyKind, namespace: string | undefined): Promise<Json[] | undefined> {
    const answer = await listPolicies(connection, policyKind, namespace, fromCache);
    const { apiVersion, kind } = policyKind;
    const isLarge = answer.kind === 'refused' && isTooLarge(answer);
    onListed({ plural: policyKind.plural, namespace, isTooLarge: isLarge });
    if (answer.kind === 'listed')
      return answer.items.length > maxObjects
        ? undefined
        : answer.items.map((item) => ({ apiVersion, kind, ...(item as object) }));
    if (answer.status === 404) return [];
    if (answer.status === 403 || isLarge) return undefined;
    throw new RefusedError(answer);
  }
}

/** Undefined if they may not be listed. */
async function readable(
  { request }: Pick<Connection, 'request'>,
  path: string,
  query: Record<string, string>,
): Promise<Json[] | undefined> {
  const answer = await request('GET', path, { query });
  if (answer.kind === 'refused' && answer.status === 403) return undefined;
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const items = at(answer.body, 'items');
  if (Array.isArray(items) || items === null) return list(items);
  throw new RefusedError({
    kind: 'refused',
    status: 0,
    reason: '',
    message: `the answer to ${path} is no list`,
    retryAfter: undefined,
  });
}
