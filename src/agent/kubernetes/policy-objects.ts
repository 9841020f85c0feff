/** Reads the objects that verdicts need, and keeps only the fields that matter. */
import type { Millis } from '../../base/model/log-line.ts';
import type { Json } from '../../base/platform/json.ts';
import { unlimitedMemory } from '../../base/platform/memory-budget.ts';
import { inTurns } from '../../base/platform/turns.ts';
import { weightOf } from '../../base/platform/weight.ts';
import {
  awayPolicy,
  type CalicoObjects,
  collectCalicoObjects,
  isCalico,
  type Labels,
  type Namespace,
  type NetworkSet,
  type Policy,
  type PolicyPod,
  readNamespace,
  readPod,
  type ServiceEndpoints,
  serviceNameLabel,
  type Unknown,
} from '../../explain/policies/policies.ts';
import type { CompiledObjects } from './compiled-policies.ts';
import { RefusedError } from './http.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  createDiscovery,
  fromCache,
  itemsIn,
  namespacedPolicyKinds,
  networkSetKinds,
  unevaluatedPolicy,
} from './policy-kinds.ts';
import { ifUsable, slimPod } from './slim.ts';
import {
  addCalico,
  allNamespaces,
  createReading,
  type ListReadOptions,
  type ListReport,
  readPolicyList,
  sumOf,
  type Weight,
} from './weighed-lists.ts';

export interface ClusterPolicies extends Weight {
  readonly policies: readonly Policy[];
  readonly compiled: CompiledObjects;
  /** Calico's other objects, except NetworkSets in Namespaces; undefined if Calico is not installed. */
  readonly calico: CalicoObjects | undefined;
}

export interface NamespacePolicies extends Weight {
  /** Undefined if the Namespace may not be read, or does not exist. */
  readonly namespace: Namespace | undefined;
  readonly policies: readonly Policy[];
  readonly compiled: CompiledObjects;
}

/** `unread`: there may be more sets, which are too many or may not be listed. */
export interface NetworkSets extends Weight {
  readonly sets: readonly NetworkSet[];
  readonly unread: boolean;
}

export interface KnownPod {
  readonly pod: PolicyPod;
  readonly uid: string;
}

const allKinds = [...clusterPolicyKinds, ...namespacedPolicyKinds, ...calicoKinds, ...networkSetKinds];

type CompiledPolicies = Pick<NamespacePolicies, 'compiled'>;

export interface PolicyReader {
  /** `before`: the last list. Its compiled policies are used again if they have not changed. */
  cluster: (before?: CompiledPolicies) => Promise<ClusterPolicies>;
  namespace: (name: string, before?: CompiledPolicies) => Promise<NamespacePolicies>;
  /** Returns those of all Namespaces if `namespace` is undefined. */
  networkSets: (namespace: string | undefined) => Promise<NetworkSets>;
  endpoints: (service: string) => Promise<ServiceEndpoints | Unknown>;
  accountLabels: (account: string) => Promise<Labels | undefined>;
  pod: (namespace: string, name: string) => Promise<KnownPod | undefined>;
}

/** Reads from the API server's cache. Rejects with a `RefusedError`; a missing right to list is an error only for NetworkPolicies. */
export function createPolicyReader(
  connection: ListReadOptions['connection'],
  now: () => Millis,
  onListed: ListReport,
  memory = unlimitedMemory(),
): PolicyReader {
  const discover = createDiscovery(connection, allKinds, now);
  const reading = createReading(connection, onListed, memory);

  return {
    async cluster(this: void, before?: CompiledPolicies): Promise<ClusterPolicies> {
      const { served, away, unevaluated } = await discover();
      const kinds = served.filter((kind) => calicoKinds.includes(kind));
      const objects = collectCalicoObjects();
      const [bytesOfObjects, ...listed] = await Promise.all([
        addCalico(reading, objects, kinds, undefined),
        ...served
          .filter((kind) => clusterPolicyKinds.includes(kind))
          .map((kind) => readPolicyList(reading, kind, undefined, before?.compiled)),
      ]);
      const unseen = away.map(({ apiVersion }) => awayPolicy(apiVersion));
      // Without Calico's server it is also unknown whether a Node has a HostEndpoint.
      const isAway = kinds.length === 0 && unseen.some(({ ref }) => isCalico(ref));
      if (isAway) for (const kind of ['tiers', 'networksets', 'hostendpoints'] as const) objects.unread(kind);
      return {
        policies: [...listed.flatMap(({ policies }) => policies), ...unseen, ...unevaluated.map(unevaluatedPolicy)],
        compiled: compiledIn(listed),
        calico: kinds.length > 0 || isAway ? objects.read() : undefined,
        bytes: sumOf(listed) + bytesOfObjects,
      };
    },
    async namespace(this: void, name: string, before?: CompiledPolicies): Promise<NamespacePolicies> {
      const { served } = await discover();
      const [namespace, ...listed] = await Promise.all([
        one(connection, '/api/v1/namespaces', name, readNamespace),
        ...served
          .filter((kind) => namespacedPolicyKinds.includes(kind))
          .map((kind) => readPolicyList(reading, kind, name, before?.compiled)),
      ]);
      return {
        namespace,
        policies: listed.flatMap(({ policies }) => policies),
        compiled: compiledIn(listed),
        bytes: sumOf(listed) + weightOf(namespace, { freeKeys: true }),
      };
    },
    async networkSets(this: void, namespace: string | undefined): Promise<NetworkSets> {
      const { served } = await discover();
      const objects = collectCalicoObjects();
      const kinds = served.filter((kind) => networkSetKinds.includes(kind));
      const bytes = await addCalico(reading, objects, kinds, namespace ?? allNamespaces);
      const { networkSets, unread } = objects.read();
      return { sets: networkSets, unread: unread.has('networksets'), bytes };
    },
    async endpoints(this: void, service: string): Promise<ServiceEndpoints | Unknown> {
      const [namespace = '', name = ''] = service.split('/');
      const { add, services } = collectCalicoObjects();
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      const take = (item: Json): void => void add({ kind: 'EndpointSlice', ...(item as object) });
      const isRead = await takeReadable(connection, path, { labelSelector: `${serviceNameLabel}=${name}` }, take);
      if (!isRead) services.unread(namespace);
      services.complete(service);
      return services.endpointsOf(service);
    },
    accountLabels(this: void, account: string): Promise<Labels | undefined> {
      const [namespace = '', name = ''] = account.split('/');
      return one(connection, `/api/v1/namespaces/${namespace}/serviceaccounts`, name, (object) => {
        const { add, read: objects } = collectCalicoObjects();
        add({ apiVersion: 'v1', kind: 'ServiceAccount', ...(object as object) });
        return objects().serviceAccounts.get(account);
      });
    },
    pod: (namespace: string, name: string): Promise<KnownPod | undefined> =>
      one(connection, `/api/v1/namespaces/${namespace}/pods`, name, podIn),
  };
}

function podIn(object: Json): KnownPod | undefined {
  const pod = readPod(object);
  const uid = ifUsable(slimPod)(object)?.uid;
  return pod === undefined || uid === undefined ? undefined : { pod, uid };
}

function compiledIn(listed: readonly CompiledPolicies[]): CompiledObjects {
  return new Map(listed.flatMap(({ compiled }) => [...compiled]));
}

/** Reads one object by a list, because the agent has no right to get. Undefined if it does not exist, or may not be read. */
async function one<T>(
  connection: ListReadOptions['connection'],
  path: string,
  name: string,
  slim: (object: Json) => T | undefined,
): Promise<T | undefined> {
  let found: T | undefined;
  await takeReadable(connection, path, { fieldSelector: `metadata.name=${name}` }, (object) => {
    found ??= slim(object);
  });
  return found;
}

/** Resolves to false if the objects may not be read, or do not exist. */
async function takeReadable(
  { request }: ListReadOptions['connection'],
  path: string,
  selector: Record<string, string>,
  take: (object: Json) => void,
): Promise<boolean> {
  const answer = itemsIn(
    await request('GET', path, { query: { ...selector, ...fromCache }, onItem: take }),
    `the answer to ${path} is not a list`,
  );
  if (answer.kind === 'listed') {
    await inTurns(answer.items, take);
    return true;
  }
  if (answer.status === 403 || answer.status === 404) return false;
  throw new RefusedError(answer);
}
