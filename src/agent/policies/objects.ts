/** Keeps policies, Namespaces and Pods that Events have needed, within a budget and limits. */
import { type KnownPolicies, type PolicyNeeds, questionOf } from '../../explain/drops/drops.ts';
import type { ClusterPolicies, KnownPod, NamespacePolicies, PolicyReader } from '../kubernetes/kubernetes.ts';
import type { ObjectRef } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createFreshValues, type FreshValue } from '../../base/platform/fresh-values.ts';
import type { MemoryBudget } from '../../base/platform/memory-budget.ts';
import { weightOf } from '../../base/platform/weight.ts';
import { createSharedBucket } from '../../base/platform/shares.ts';
import {
  createEvaluator,
  createPolicySet,
  createSelectionCache,
  type Evaluator,
  type PolicyDirection,
  type PolicyFlow,
  type PolicyPod,
  type PolicySet,
  type Requirements,
  type Trace,
  unknownTrace,
} from '../../explain/policies/policies.ts';
import { createRequiredObjects, type RequiredValues, type RequiredObjectsOptions } from './required.ts';
import type { InShareOf } from './verdict-time.ts';

/** The reads of one node: a Pod, a Namespace with its policies, the policies of the cluster, or an object that policies need. Namespaces share them. */
const budget = { rate: 30 / 60, burst: 60, each: 12 };

const failedFor: Millis = 10_000;

/** How old Pods and policies may be for an Event. If the packet is newer, policies must be read after it. */
export const freshFor: Millis = 60_000;

/** The most answers of each kind. */
const most = { namespaces: 256, pods: 512 };

export interface PolicyObjectsOptions {
  readonly reader: PolicyReader;
  /** Returns the present version of a Pod of this node, if it is watched. */
  readonly ownPod?: ((namespace: string, name: string) => KnownPod | undefined) | undefined;
  readonly onFailed: (error: unknown) => void;
  readonly now: () => Millis;
  readonly memory: MemoryBudget;
}

export interface PolicyKnowledge {
  /** `trace` is valid only for the connection of this finding. A verdict that needs an unknown object is unknown. */
  readonly policies: KnownPolicies;
  /** Other objects that policies need, for each evaluated end. */
  readonly required: readonly Requirements[];
  /** When the oldest of the policies and of the other objects was read. Pods may be older by `freshFor`. */
  readonly at: Millis;
}

const nothingRequired: Requirements = { services: [], serviceAccounts: [], networkSets: [] };

export interface PolicyObjects {
  refreshRequired: (requirements: Requirements, since: Millis, asker: string) => Promise<void>;
  /** Reads everything that was not read after `since`, as far as the asker's share of the budget allows. Never rejects. */
  refresh(needs: PolicyNeeds, since: { policies: Millis; pods: Millis }, asker: string): Promise<void>;
  /** `inShareOf`: does work whose length depends on the policies of a Namespace. */
  known(finding: Finding, needs: PolicyNeeds, inShareOf: InShareOf): PolicyKnowledge | undefined;
}

export function createPolicyObjects({ reader, ownPod, onFailed, now, memory }: PolicyObjectsOptions): PolicyObjects {
  const bucket = createSharedBucket(budget);
  const common = {
    mayRead: (asker: string) => bucket.take(asker, now()),
    onFailed,
    failedFor,
    now,
    memory,
    resource: 'policies',
  };
  const { cluster, namespaces, pods } = createStores({ reader, ownPod, common });
  const required = createRequiredObjects({ reader, common });
  const nothing = required.known(nothingRequired);
  const setOf = createSets();

  return {
    refreshRequired: required.refresh,
    async refresh(
      { pods: refs, namespaces: names }: PolicyNeeds,
      since: { policies: Millis; pods: Millis },
      asker: string,
    ): Promise<void> {
      await Promise.all([
        cluster.refresh('', since.policies, asker),
        ...names.map((name) => namespaces.refresh(name, since.policies, asker)),
        ...refs.map((ref) => pods.refresh(ref, since.pods, asker)),
      ]);
    },
    known(
      finding: Finding,
      { pods: refs, namespaces: names }: PolicyNeeds,
      inShareOf: InShareOf,
    ): PolicyKnowledge | undefined {
      const ofCluster = cluster.get('');
      const ofNames = new Map<string, FreshValue<NamespacePolicies>>();
      for (const name of names) {
        const found = namespaces.get(name);
        if (found !== undefined) ofNames.set(name, found);
      }
      if (ofCluster === undefined || ofNames.size < names.length) return undefined;
      const parts = [...ofNames.values()];
      const ofPods = refs.flatMap((ref) => pods.get(ref) ?? []);
      const known = parts.flatMap(({ value }) => value.namespace ?? []);
      const ends = evaluateEnds(questionOf(finding, { pod }), { evaluatorOf, known: required.known, inShareOf });
      return {
        at: Math.min(
          ...[ofCluster, ...parts, ...ends.read].map(({ at }) => at),
          ...ofPods.map(({ at }) => at + freshFor),
        ),
        required: ends.required,
        policies: { pod, namespace: (name) => ofNames.get(name)?.value.namespace, trace: ends.trace },
      };

      function pod(namespace: string, name: string): PolicyPod | undefined {
        const ref = refs.find((each) => each.namespace === namespace && each.name === name);
        const found = ref && pods.get(ref)?.value.found;
        return found !== undefined && (ref?.uid === '' || ref?.uid === found.uid) ? found.pod : undefined;
      }

      function evaluatorOf(namespace: string | undefined, beside = nothing): Evaluator {
        const own = ofNames.get(namespace ?? '')?.value;
        const ofAll = (ofCluster as FreshValue<ClusterPolicies>).value;
        return createEvaluator({ policies: setOf(ofAll, own, beside), namespaces: known });
      }
    },
  };
}

interface EndsOptions {
  readonly evaluatorOf: (namespace: string | undefined, beside?: RequiredValues) => Evaluator;
  readonly known: (requirements: Requirements) => RequiredValues;
  readonly inShareOf: InShareOf;
}

/** Evaluates the ends of a connection, each in the share of the Namespace whose policies decide. */
function evaluateEnds(question: ReturnType<typeof questionOf>, { evaluatorOf, known, inShareOf }: EndsOptions) {
  const required = new Map<PolicyDirection, Requirements>();
  const read = new Map<PolicyDirection, RequiredValues>();
  for (const { direction } of question?.sides ?? []) {
    const { flow } = question as NonNullable<typeof question>;
    const namespace = namespaceOf(flow, direction);
    const needed = inShareOf(namespace, () => evaluatorOf(namespace).requirements(flow, direction));
    if (needed === undefined) continue;
    required.set(direction, needed);
    read.set(direction, known(needed));
  }
  return {
    required: [...required.values()],
    read: [...read.values()],
    trace(this: void, flow: PolicyFlow, direction: PolicyDirection): Trace {
      const beside = read.get(direction);
      const namespace = namespaceOf(flow, direction);
      const traced = beside && inShareOf(namespace, () => evaluatorOf(namespace, beside).trace(flow, direction));
      return traced ?? unknownTrace(direction, 'policies that take too long');
    },
  };
}

/** The Namespace whose policies decide in this direction; undefined if that end is not a Pod. */
function namespaceOf({ source, destination }: PolicyFlow, direction: PolicyDirection): string | undefined {
  const end = direction === 'ingress' ? destination : source;
  return end.kind === 'pod' ? end.pod.namespace : undefined;
}

type StoresOptions = Pick<RequiredObjectsOptions, 'common'> & Pick<PolicyObjectsOptions, 'reader' | 'ownPod'>;

function createStores({ reader, ownPod, common }: StoresOptions) {
  const cluster = createFreshValues<ClusterPolicies>({
    ...common,
    read: (_, before) => reader.cluster(before),
    max: 1,
    weigh: ({ bytes }) => bytes,
    namespaceOf: () => '',
  });
  const namespaces = createFreshValues<NamespacePolicies>({
    ...common,
    read: reader.namespace,
    max: most.namespaces,
    weigh: ({ bytes }) => bytes,
    namespaceOf: (key) => key,
  });
  return { cluster, namespaces, pods: createPods({ reader, ownPod, common }) };
}

type PodRef = Pick<ObjectRef, 'namespace' | 'name'>;

function keyOf({ namespace, name }: PodRef): string {
  return `${namespace}/${name}`;
}

/** Pods of this node are watched anyway. Others are looked up. */
function createPods({ reader, ownPod = () => undefined, common }: StoresOptions) {
  const others = createFreshValues<{ found: KnownPod | undefined }>({
    ...common,
    read: async (key) => {
      const [namespace = '', name = ''] = key.split('/');
      return { found: await reader.pod(namespace, name) };
    },
    max: most.pods,
    weigh: ({ found }) => weightOf(found, { freeKeys: true }),
    namespaceOf: (key) => key.split('/', 1)[0] ?? '',
  });
  const own = ({ namespace = '', name }: PodRef): KnownPod | undefined => ownPod(namespace, name);

  return {
    async refresh(ref: PodRef, since: Millis, asker: string): Promise<void> {
      if (own(ref) === undefined) await others.refresh(keyOf(ref), since, asker);
    },
    get(ref: PodRef): FreshValue<{ found: KnownPod | undefined }> | undefined {
      const found = own(ref);
      return found === undefined ? others.get(keyOf(ref)) : { value: { found }, at: common.now() };
    },
  };
}

/** Makes the policy sets of the cluster and one Namespace, once for each state of their parts. */
function createSets(): (
  ofCluster: ClusterPolicies,
  own: NamespacePolicies | undefined,
  beside: RequiredValues,
) => PolicySet {
  const sets = new WeakMap<NamespacePolicies | ClusterPolicies, PolicySetEntry[]>();
  const cache = createSelectionCache();
  return (ofCluster, own, beside) => {
    const calico = ofCluster.calico === undefined ? undefined : beside.addTo(ofCluster.calico);
    const made = sets.get(own ?? ofCluster) ?? [];
    const parts = [ofCluster, ...beside.parts];
    const known = made.find((each) => isSame(each.parts, parts));
    if (known !== undefined) return known.set;
    const set = createPolicySet([...ofCluster.policies, ...(own?.policies ?? [])], calico, cache);
    sets.set(own ?? ofCluster, [{ parts, set }, ...made].slice(0, keptSets));
    return set;
  };
}

interface PolicySetEntry {
  readonly parts: readonly unknown[];
  readonly set: PolicySet;
}

/** The sets of a Namespace, or of all ends that are not Pods. Pods may need different objects, and a set without them shows which. */
const keptSets = 4;

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}
