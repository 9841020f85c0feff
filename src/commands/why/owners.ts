/** Workloads that Pods belong to, and the labels by which these select. */
import { isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../../platform/json.ts';
import type { Owner, Pod } from '../../policies/policies.ts';

/** Kinds of apps/v1 whose selector is one of labels, and does not change. */
export const workloadKinds = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  ReplicaSet: 'replicasets',
} as const;

export type WorkloadKind = keyof typeof workloadKinds;

export interface PodOwner extends Owner {
  readonly kind: WorkloadKind;
}

export interface Owners {
  readonly addPod: (pod: Json) => void;
  /** Returns whether it is one. */
  readonly addWorkload: (object: Json) => boolean;
  /** Undefined for Pods of nothing, and of other kinds. */
  readonly of: (pod: Pick<Pod, 'namespace' | 'name'>) => PodOwner | undefined;
}

export function createOwners(): Owners {
  const ofPods = new Map<string, { kind: WorkloadKind; name: string }>();
  const selectors = new Map<string, Json>();
  return {
    addPod(pod) {
      const owner = ownerOf(pod);
      if (owner !== undefined) ofPods.set(keyOf(pod), owner);
    },
    addWorkload(object) {
      const kind = kindOf(at(object, 'kind'));
      if (kind === undefined || at(object, 'apiVersion') !== 'apps/v1') return false;
      selectors.set(`${kind} ${keyOf(object)}`, at(object, 'spec', 'selector'));
      return true;
    },
    of({ namespace, name }) {
      const owner = ofPods.get(`${namespace}/${name}`);
      return owner && { ...owner, selector: selectors.get(`${owner.kind} ${namespace}/${owner.name}`) };
    },
  };
}

function keyOf(object: Json): string {
  return `${text(at(object, 'metadata', 'namespace')) ?? 'default'}/${text(at(object, 'metadata', 'name')) ?? ''}`;
}

function kindOf(kind: Json): WorkloadKind | undefined {
  return typeof kind === 'string' && Object.hasOwn(workloadKinds, kind) ? (kind as WorkloadKind) : undefined;
}

/** A Deployment names its ReplicaSets after itself and the label `pod-template-hash` of their Pods. */
function ownerOf(pod: Json): { kind: WorkloadKind; name: string } | undefined {
  const reference = list(at(pod, 'metadata', 'ownerReferences')).find((each) => at(each, 'controller') === true);
  const kind = kindOf(at(reference, 'kind'));
  const name = spelled(at(reference, 'name'), isSubdomain);
  if (kind === undefined || name === undefined || at(reference, 'apiVersion') !== 'apps/v1') return undefined;
  const hash = text(at(pod, 'metadata', 'labels', 'pod-template-hash'));
  const isOfDeployment = kind === 'ReplicaSet' && hash !== undefined && name.endsWith(`-${hash}`);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -hash.length - 1) } : { kind, name };
}
