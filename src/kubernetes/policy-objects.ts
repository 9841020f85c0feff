/** Reads the objects that verdicts of policies need, and makes them small: of one Namespace, of one Pod, and of the whole cluster. */
import type { Millis } from '../model/log-line.ts';
import { at, type Json, list } from '../platform/json.ts';
import {
  anyTier,
  type CalicoObjects,
  compilePolicy,
  isCalico,
  type Namespace,
  type Pod,
  type Policy,
  readNamespace,
  readPod,
  unknownPolicy,
} from '../policies/policies.ts';
import { createCalicoReader, type NetworkSets } from './calico-objects.ts';
import type { Connection } from './connection.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  createDiscovery,
  fromCache,
  listPolicies,
  namespacedPolicyKinds,
  networkSetKinds,
  type OnListed,
  type PolicyKind,
  unlistedReason,
} from './policy-kinds.ts';
import { isTooLarge, RefusedError } from './refusal.ts';
import { ifUsable, slimPod } from './slim.ts';

/** Policies of one kind that are read of a Namespace; where there are more, their verdict is unknown. */
export const maxPolicies = 5000;

/** Values in a policy of which 10,000 may be kept: with 127 bytes for each (an ipBlock of one address) 5 KB. */
const valuesOfPolicy = 40;

/** Values that are read of one kind of policy in a Namespace: each takes microseconds to evaluate, and tenants write them. */
export const maxValues = maxPolicies * valuesOfPolicy;

export interface ClusterPolicies {
  readonly policies: readonly Policy[];
  /** Calico's objects beside policies, without NetworkSets of Namespaces; undefined if it is not installed. */
  readonly calico: CalicoObjects | undefined;
}

export interface NamespacePolicies {
  /** Undefined if it may not be read, or is gone. */
  readonly namespace: Namespace | undefined;
  readonly policies: readonly Policy[];
  /** The number of policies; a large one counts as several. */
  readonly size: number;
}

export interface KnownPod {
  readonly pod: Pod;
  /** The uid that `slimPod` gives. */
  readonly uid: string;
}

interface Listed {
  readonly policies: readonly Policy[];
  readonly size: number;
}

export type PolicyReader = ReturnType<typeof createPolicyReader>;

/** Reads all from the API server's cache, with the right to list. Each call rejects with a `RefusedError`. */
export function createPolicyReader(connection: Pick<Connection, 'request'>, now: () => Millis, onListed: OnListed) {
  const all = [...clusterPolicyKinds, ...namespacedPolicyKinds, ...calicoKinds, ...networkSetKinds];
  const calicoReader = createCalicoReader(connection, onListed);
  const { kindsOf, unseenPolicies } = createDiscovery(connection, all, now);

  return {
    /** Policies of the whole cluster. */
    async cluster(this: void): Promise<ClusterPolicies> {
      const kinds = await kindsOf(clusterPolicyKinds);
      const [calico, ...listed] = await Promise.all([
        calicoReader.cluster(await kindsOf(calicoKinds)),
        ...kinds.map((kind) => read(kind, undefined)),
      ]);
      const unseen = await unseenPolicies();
      // Calico's other objects are unknown then, too: whether a Node has a HostEndpoint, for one.
      const beside = calico ?? (unseen.some(({ ref }) => isCalico(ref)) ? calicoReader.unread() : undefined);
      return { policies: [...listed.flatMap(({ policies }) => policies), ...unseen], calico: beside };
    },
    async namespace(this: void, name: string): Promise<NamespacePolicies> {
      const kinds = await kindsOf(namespacedPolicyKinds);
      const [namespace, ...listed] = await Promise.all([
        one('/api/v1/namespaces', name, readNamespace),
        ...kinds.map((kind) => read(kind, name)),
      ]);
      return {
        namespace,
        policies: listed.flatMap(({ policies }) => policies),
        size: listed.reduce((sum, { size }) => sum + size, 0),
      };
    },
    /** NetworkSets of one Namespace; undefined: of all. */
    networkSets: async (namespace: string | undefined): Promise<NetworkSets> =>
      await calicoReader.networkSets(await kindsOf(networkSetKinds), namespace),
    endpoints: calicoReader.endpoints,
    accountLabels: calicoReader.accountLabels,
    pod: (namespace: string, name: string): Promise<KnownPod | undefined> =>
      one(`/api/v1/namespaces/${namespace}/pods`, name, (object) => {
        const pod = readPod(object);
        const uid = ifUsable(slimPod)(object)?.uid;
        return pod === undefined || uid === undefined ? undefined : { pod, uid };
      }),
  };

  /** One unknown policy stands for all of a kind that may not be listed; NetworkPolicies must be listed. */
  async function read(policyKind: PolicyKind, namespace: string | undefined): Promise<Listed> {
    const answer = await listPolicies(connection, policyKind, namespace, fromCache);
    const { apiVersion, kind, plural } = policyKind;
    const any = (reason: string): Listed => ({
      policies: [unknownPolicy({ apiVersion, kind, metadata: { name: '(any)', namespace } }, anyTier, reason)],
      size: 1,
    });
    const values = answer.kind === 'listed' && namespace !== undefined ? valuesIn(answer.items, maxValues) : 0;
    const isLarge = answer.kind === 'refused' ? isTooLarge(answer) : values > maxValues;
    onListed({ plural, namespace, isTooLarge: isLarge });
    if (isLarge) return any(`the list of ${plural} is too large`);
    if (answer.kind === 'refused') {
      if (answer.status === 404) return { policies: [], size: 0 };
      if (answer.status !== 403 || apiVersion === 'networking.k8s.io/v1') throw new RefusedError(answer);
      return any(unlistedReason(policyKind, answer));
    }
    if (answer.items.length > maxPolicies) return any(`there are more than ${maxPolicies} ${plural}`);
    const policies = answer.items.flatMap((item) => compilePolicy({ apiVersion, kind, ...(item as object) }));
    return { policies, size: Math.max(policies.length, values / valuesOfPolicy) };
  }

  /** Asks by a list, because the agent may not get. Undefined if the object is not there, or may not be read. */
  async function one<T>(path: string, name: string, slim: (object: Json) => T | undefined): Promise<T | undefined> {
    const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: '0' };
    const answer = await connection.request('GET', path, { query });
    if (answer.kind === 'answered') {
      const [found] = list(at(answer.body, 'items'));
      return found === undefined ? undefined : slim(found);
    }
    if (answer.status === 403 || answer.status === 404) return undefined;
    throw new RefusedError(answer);
  }
}

/** Values in the specs of policies; more than `most` are not counted further. */
function valuesIn(policies: readonly Json[], most: number): number {
  const left = policies.map((each) => at(each, 'spec'));
  let count = 0;
  for (; left.length > 0 && count <= most; count++) {
    const value = left.pop();
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) left.push(each);
  }
  return count;
}
