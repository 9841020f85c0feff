/** Reads the objects that verdicts need, and keeps only the fields that matter. */
import type { Millis } from '../model/log-line.ts';
import type { Json } from '../platform/json.ts';
import { inTurns } from '../platform/turns.ts';
import {
  awayPolicy,
  type CalicoCollector,
  type CalicoObjects,
  collectCalicoObjects,
  isCalico,
  type Labels,
  type Namespace,
  type NetworkSet,
  type Pod,
  type Policy,
  readNamespace,
  readPod,
  type ServiceEndpoints,
  serviceNameLabel,
  type Unknown,
} from '../policies/policies.ts';
import { type CompiledObjects, compileInTurns, valuesOfPolicy } from './compiled-policies.ts';
import type { Connection } from './connection.ts';
import { isTooLarge, RefusedError } from './http.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  createDiscovery,
  fromCache,
  itemsIn,
  listPolicies,
  namespacedPolicyKinds,
  networkSetKinds,
  type PolicyKind,
  unevaluatedPolicy,
  unlistedPolicy,
  unlistedReason,
  unreadAs,
} from './policy-kinds.ts';
import { ifUsable, slimPod } from './slim.ts';

/** The most objects of one kind in a Namespace or in the cluster. If there are more, all objects of the kind count as unknown. */
export const maxObjects = 5000;

/** The most values of one kind in a Namespace, because each takes microseconds to evaluate and tenants write them. */
export const maxValues = maxObjects * valuesOfPolicy;

export type OnListed = (list: { plural: string; namespace: string | undefined; isTooLarge: boolean }) => void;

export interface ClusterPolicies {
  readonly policies: readonly Policy[];
  readonly compiled: CompiledObjects;
  /** Calico's other objects, except NetworkSets in Namespaces; undefined if Calico is not installed. */
  readonly calico: CalicoObjects | undefined;
}

export interface NamespacePolicies {
  /** Undefined if the Namespace may not be read, or does not exist. */
  readonly namespace: Namespace | undefined;
  readonly policies: readonly Policy[];
  readonly compiled: CompiledObjects;
  /** The number of policies, where a large one counts as several. */
  readonly size: number;
}

/** `unread`: there may be more sets, because they may not be listed, or are too many. */
export interface NetworkSets {
  readonly sets: readonly NetworkSet[];
  readonly unread: boolean;
}

export interface KnownPod {
  readonly pod: Pod;
  readonly uid: string;
}

interface Reading {
  readonly connection: Pick<Connection, 'request'>;
  readonly onListed: OnListed;
}

type Compiled = Pick<NamespacePolicies, 'compiled'>;

interface Listed extends Compiled {
  readonly policies: readonly Policy[];
  readonly size: number;
}

export type PolicyReader = ReturnType<typeof createPolicyReader>;

/** Reads from the API server's cache. Rejects with a `RefusedError`; a missing right to list is an error only for NetworkPolicies. */
export function createPolicyReader(connection: Pick<Connection, 'request'>, now: () => Millis, onListed: OnListed) {
  const evaluated = [...clusterPolicyKinds, ...namespacedPolicyKinds, ...calicoKinds, ...networkSetKinds];
  const discover = createDiscovery(connection, evaluated, now);
  const reading: Reading = { connection, onListed };

  return {
    /** `before`: what was read last, whose policies are used again as far as they are the same. */
    async cluster(this: void, before?: Compiled): Promise<ClusterPolicies> {
      const { served, away, unevaluated } = await discover();
      const kinds = served.filter((kind) => calicoKinds.includes(kind));
      const objects = collectCalicoObjects();
      const [, ...listed] = await Promise.all([
        addCalico(reading, objects, kinds, undefined),
        ...served
          .filter((kind) => clusterPolicyKinds.includes(kind))
          .map((kind) => readPolicies(reading, kind, undefined, before?.compiled)),
      ]);
      const unseen = away.map(({ apiVersion }) => awayPolicy(apiVersion));
      // Without Calico's server it is also unknown whether a Node has a HostEndpoint.
      const isAway = kinds.length === 0 && unseen.some(({ ref }) => isCalico(ref));
      if (isAway) for (const kind of ['tiers', 'networksets', 'hostendpoints'] as const) objects.unread(kind);
      return {
        policies: [...listed.flatMap(({ policies }) => policies), ...unseen, ...unevaluated.map(unevaluatedPolicy)],
        compiled: compiledIn(listed),
        calico: kinds.length > 0 || isAway ? objects.read() : undefined,
      };
    },
    async namespace(this: void, name: string, before?: Compiled): Promise<NamespacePolicies> {
      const { served } = await discover();
      const [namespace, ...listed] = await Promise.all([
        one(connection, '/api/v1/namespaces', name, readNamespace),
        ...served
          .filter((kind) => namespacedPolicyKinds.includes(kind))
          .map((kind) => readPolicies(reading, kind, name, before?.compiled)),
      ]);
      return {
        namespace,
        policies: listed.flatMap(({ policies }) => policies),
        compiled: compiledIn(listed),
        size: listed.reduce((sum, { size }) => sum + size, 0),
      };
    },
    /** Returns those of all Namespaces if `namespace` is undefined. */
    async networkSets(this: void, namespace: string | undefined): Promise<NetworkSets> {
      const { served } = await discover();
      const objects = collectCalicoObjects();
      const kinds = served.filter((kind) => networkSetKinds.includes(kind));
      await addCalico(reading, objects, kinds, namespace);
      const { networkSets, unread } = objects.read();
      return { sets: networkSets, unread: unread.has('networksets') };
    },
    async endpoints(this: void, service: string): Promise<ServiceEndpoints | Unknown> {
      const [namespace = '', name = ''] = service.split('/');
      const { add, services } = collectCalicoObjects();
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      const items = await readable(connection, path, { labelSelector: `${serviceNameLabel}=${name}` });
      if (items === undefined) services.unread(namespace);
      for (const item of items ?? []) add({ kind: 'EndpointSlice', ...(item as object) });
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
      one(connection, `/api/v1/namespaces/${namespace}/pods`, name, (object) => {
        const pod = readPod(object);
        const uid = ifUsable(slimPod)(object)?.uid;
        return pod === undefined || uid === undefined ? undefined : { pod, uid };
      }),
  };
}

/** NetworkPolicies must be listed. If another kind may not be listed, one unknown policy stands for all of it. */
async function readPolicies(
  { connection, onListed }: Reading,
  policyKind: PolicyKind,
  namespace: string | undefined,
  before: CompiledObjects | undefined,
): Promise<Listed> {
  const answer = await listPolicies(connection, policyKind, namespace, fromCache);
  const { apiVersion, plural } = policyKind;
  const any = (reason: string): Listed => {
    const policies = [unlistedPolicy(policyKind, namespace, reason)];
    return { policies, compiled: nothingCompiled, size: 1 };
  };
  const most = namespace === undefined ? Infinity : maxValues;
  const isSmall = answer.kind === 'listed' && answer.items.length <= maxObjects;
  const read = isSmall ? await compileInTurns(answer.items, policyKind, before, most) : undefined;
  const isLarge = answer.kind === 'refused' ? isTooLarge(answer) : read === undefined;
  onListed({ plural, namespace, isTooLarge: isLarge });
  if (isLarge) return any(`the list of ${plural} is too large`);
  if (answer.kind === 'refused') {
    if (answer.status === 404) return { policies: [], compiled: nothingCompiled, size: 0 };
    if (answer.status !== 403 || apiVersion === 'networking.k8s.io/v1') throw new RefusedError(answer);
    return any(unlistedReason(policyKind, answer));
  }
  const { objects, values } = read ?? { objects: nothingCompiled, values: 0 };
  const policies = [...objects.values()].flatMap((each) => each.policies);
  return { policies, compiled: objects, size: Math.max(policies.length, values / valuesOfPolicy) };
}

const nothingCompiled: CompiledObjects = new Map();

function compiledIn(listed: readonly Compiled[]): CompiledObjects {
  return new Map(listed.flatMap(({ compiled }) => [...compiled]));
}

async function addCalico(
  { connection, onListed }: Reading,
  { add, unread }: CalicoCollector,
  kinds: readonly PolicyKind[],
  namespace: string | undefined,
): Promise<void> {
  for (const policyKind of kinds) {
    const answer = await listPolicies(connection, policyKind, namespace, fromCache);
    const { apiVersion, kind, plural } = policyKind;
    const isLarge = answer.kind === 'refused' ? isTooLarge(answer) : answer.items.length > maxObjects;
    onListed({ plural, namespace, isTooLarge: isLarge });
    if (isLarge) unread(unreadAs(policyKind));
    else if (answer.kind === 'listed')
      await inTurns(answer.items, (item) => void add({ apiVersion, kind, ...(item as object) }));
    else if (answer.status === 403) unread(unreadAs(policyKind));
    else if (answer.status !== 404) throw new RefusedError(answer);
  }
}

/** Reads one object by a list, because the agent has no right to get. Undefined if it does not exist, or may not be read. */
async function one<T>(
  connection: Reading['connection'],
  path: string,
  name: string,
  slim: (object: Json) => T | undefined,
): Promise<T | undefined> {
  const [found] = (await readable(connection, path, { fieldSelector: `metadata.name=${name}` })) ?? [];
  return found === undefined ? undefined : slim(found);
}

async function readable(
  { request }: Reading['connection'],
  path: string,
  selector: Record<string, string>,
): Promise<readonly Json[] | undefined> {
  const answer = itemsIn(
    await request('GET', path, { query: { ...selector, ...fromCache } }),
    `the answer to ${path} is no list`,
  );
  if (answer.kind === 'listed') return answer.items;
  if (answer.status === 403 || answer.status === 404) return undefined;
  throw new RefusedError(answer);
}
