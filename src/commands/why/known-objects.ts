/** What `why` knows of a cluster, from files or from the API server: policies, Pods, and the workloads that own them. */
import { canonicalAddress } from '../../platform/address.ts';
import { isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../../platform/json.ts';
import {
  type CalicoCollector,
  type CalicoKind,
  type CalicoObjects,
  collectCalicoObjects,
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type Evaluator,
  isCalico,
  type Namespace,
  type NodeWithAddresses,
  type Owner,
  type Pod,
  type Policy,
  type PolicyRef,
  readNamespace,
  readNode,
  readPod,
} from '../../policies/policies.ts';

export interface KnownObjects {
  readonly pods: ReadonlyMap<string, Pod>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly nodes: ReadonlyMap<string, NodeWithAddresses>;
  readonly policies: ReadonlyMap<string, Policy>;
  readonly services: ReadonlyMap<string, string>;
  /** All Pods and all Nodes are listed, so an address of none of them is outside the cluster. */
  readonly complete: { pods: boolean; nodes: boolean };
  readonly calico: CalicoObjects;
  /** Undefined where nothing owns the Pod, or something of another kind. */
  readonly ownerOf: (pod: Pick<Pod, 'namespace' | 'name'>) => PodOwner | undefined;
}

export function evaluatorOf({ policies, calico, namespaces }: KnownObjects): Evaluator {
  return createEvaluator({
    policies: createPolicySet(policies.values(), calico),
    namespaces: namespaces.values(),
  });
}

interface ItemKind {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Collector {
  /** An object, or a list. Returns how many of them are of kinds that are used. */
  readonly add: (object: Json, itemKind?: ItemKind) => number;
  /** A policy that stands for others. */
  readonly addPolicy: (policy: Policy) => void;
  readonly complete: (kind: 'pods' | 'nodes') => void;
  readonly unread: (kind: CalicoKind) => void;
  /** How much is known of the endpoints of Services. */
  readonly endpoints: CalicoCollector['services'];
  readonly objects: () => KnownObjects;
}

export function collectObjects(): Collector {
  const pods = new Map<string, Pod>();
  const namespaces = new Map<string, Namespace>();
  const nodes = new Map<string, NodeWithAddresses>();
  const policies = new Map<string, Policy>();
  const services = new Map<string, string>();
  const calico = collectCalicoObjects();
  const owners = new Map<string, { kind: WorkloadKind; name: string }>();
  const selectors = new Map<string, Json>();
  const isComplete = { pods: false, nodes: false };
  return {
    add,
    addPolicy: (policy) => void keepPolicy(policy),
    unread: calico.unread,
    endpoints: calico.services,
    complete: (kind) => void (isComplete[kind] = true),
    objects: () => ({
      pods,
      namespaces,
      nodes,
      policies,
      services,
      complete: { ...isComplete },
      calico: calico.read(),
      ownerOf({ namespace, name }) {
        const owner = owners.get(`${namespace}/${name}`);
        return owner && { ...owner, selector: selectors.get(`${owner.kind} ${namespace}/${owner.name}`) };
      },
    }),
  };

  function add(object: Json, itemKind?: ItemKind): number {
    let used = 0;
    for (const item of itemsOf(object, itemKind)) used += take(item.object);
    return used;
  }

  function take(whole: Json): number {
    switch (`${text(at(whole, 'apiVersion')) ?? ''}/${text(at(whole, 'kind')) ?? ''}`) {
      case 'v1/Pod':
        keep(owners, ownerOf(whole), () => nameOf(whole));
        return keep(pods, readPod(whole), ({ namespace, name }) => `${namespace}/${name}`);
      case 'v1/Namespace':
        return keep(namespaces, readNamespace(whole), ({ name }) => name);
      case 'v1/Node':
        return keep(nodes, readNode(whole), ({ name }) => name);
      case 'v1/Service':
        return takeService(whole, services);
      default: {
        if (calico.add(whole)) return 1;
        const workload = at(whole, 'apiVersion') === 'apps/v1' ? kindOf(at(whole, 'kind')) : undefined;
        if (workload !== undefined) {
          selectors.set(`${workload} ${nameOf(whole)}`, at(whole, 'spec', 'selector'));
          return 1;
        }
        const policy = compilePolicy(whole);
        return policy === undefined ? 0 : keepPolicy(policy);
      }
    }
  }

  function keepPolicy(policy: Policy): 1 {
    const key = keyOf(policy.ref);
    const isStored = policy.ref.apiVersion.startsWith('crd.');
    // What Calico's API server shows of a policy goes over how it is stored.
    if (!isStored || policies.get(key)?.ref.apiVersion.startsWith('crd.') !== false) policies.set(key, policy);
    return 1;
  }
}

/** The object, or those of a list, which need not repeat their kind; `path`: where in what was given. */
export function itemsOf(object: Json, itemKind?: ItemKind): { object: object; path: readonly string[] }[] {
  const items = at(object, 'items');
  const [apiVersion, kind = ''] = [text(at(object, 'apiVersion')), text(at(object, 'kind'))];
  const isList = Array.isArray(items);
  // In a PodList and its like the items do not repeat their kind.
  const own =
    !isList || kind === 'List' || apiVersion === undefined ? itemKind : { apiVersion, kind: kind.replace(/List$/, '') };
  return (isList ? (items as Json[]) : [object]).flatMap((item, index) => {
    if (typeof item !== 'object' || item === null) return [];
    const whole = text(at(item, 'kind')) === undefined ? { ...own, ...item } : item;
    return [{ object: whole, path: isList ? ['items', String(index)] : [] }];
  });
}

function takeService(service: Json, services: Map<string, string>): 1 {
  const spec = at(service, 'spec');
  const name = `${text(at(service, 'metadata', 'namespace')) ?? 'default'}/${text(at(service, 'metadata', 'name')) ?? ''}`;
  for (const each of [at(spec, 'clusterIP'), ...list(at(spec, 'clusterIPs')), ...list(at(spec, 'externalIPs'))]) {
    const address = canonicalAddress(text(each) ?? '');
    if (address !== '') services.set(address, name);
  }
  return 1;
}

/** The later of two versions of one object counts. Calico stores policies with their tier before the name. */
function keyOf({ apiVersion, kind, namespace = '', name }: PolicyRef): string {
  const ofCalico = isCalico({ apiVersion });
  const group = ofCalico ? 'projectcalico.org' : apiVersion.split('/', 1)[0];
  return `${group}/${kind}/${namespace}/${ofCalico ? name.replace(/^default\./, '') : name}`;
}

function keep<T>(kept: Map<string, T>, value: T | undefined, key: (value: T) => string): 0 | 1 {
  if (value === undefined) return 0;
  kept.set(key(value), value);
  return 1;
}

/** Kinds of apps/v1 whose selector is one of labels, and does not change. */
export const workloadKinds = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  ReplicaSet: 'replicasets',
} as const;

type WorkloadKind = keyof typeof workloadKinds;

export interface PodOwner extends Owner {
  readonly kind: WorkloadKind;
}

function nameOf(object: Json): string {
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
