/** Collects what `why` knows of a cluster, from files or from the API server, and finds the two ends in it. */
import { canonicalAddress } from '../../platform/address.ts';
import { isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../../platform/json.ts';
import {
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
  readonly policies: readonly Policy[];
  readonly services: ReadonlyMap<string, string>;
  /** All Pods and all Nodes are listed, so an address of none of them is outside the cluster. */
  readonly complete: Readonly<Record<'pods' | 'nodes', boolean>>;
  readonly calico: CalicoObjects;
  /** Undefined if nothing owns the Pod, or something of another kind. */
  readonly ownerOf: (pod: Pick<Pod, 'namespace' | 'name'>) => PodOwner | undefined;
}

/** Wrong input, or an API server that cannot be asked at all: a line for each problem. */
export class WhyError extends Error {
  override name = 'WhyError';
  readonly problems: readonly string[];

  constructor(problems: string | readonly string[], options?: ErrorOptions) {
    const lines = typeof problems === 'string' ? [problems] : problems;
    super(lines.join('\n'), options);
    this.problems = lines;
  }
}

/** `added`: policies to evaluate besides the known ones. */
export function evaluatorOf({ policies, calico, namespaces }: KnownObjects, added: readonly Policy[] = []): Evaluator {
  return createEvaluator({
    policies: createPolicySet([...policies, ...added], calico),
    namespaces: namespaces.values(),
  });
}

export type Collector = ReturnType<typeof collectObjects>;

export function collectObjects() {
  const known = {
    pods: new Map<string, Pod>(),
    namespaces: new Map<string, Namespace>(),
    nodes: new Map<string, NodeWithAddresses>(),
    services: new Map<string, string>(),
    complete: { pods: false, nodes: false },
  };
  const { pods, namespaces, nodes, services, complete } = known;
  /** The parts of each policy. */
  const policies = new Map<string, readonly Policy[]>();
  const calico = collectCalicoObjects();
  const owners = new Map<string, { kind: WorkloadKind; name: string }>();
  const selectors = new Map<string, Json>();
  return {
    /** Takes an object, or a list. Returns how many of them are of kinds that are used. */
    add: (object: Json, itemKind?: ItemKind): number =>
      itemsOf(object, itemKind).filter((item) => take(item.object)).length,
    addPolicy: (policy: Policy): void => addPolicies([policy]),
    complete: (kind: keyof typeof complete): void => void (complete[kind] = true),
    unread: calico.unread,
    endpoints: calico.services,
    objects: (): KnownObjects => ({
      ...known,
      policies: [...policies.values()].flat(),
      calico: calico.read(),
      ownerOf: workloadOf,
    }),
  };

  function workloadOf({ namespace, name }: Pick<Pod, 'namespace' | 'name'>): PodOwner | undefined {
    const owner = owners.get(`${namespace}/${name}`);
    return owner && { ...owner, selector: selectors.get(`${owner.kind} ${namespace}/${owner.name}`) };
  }

  function take(whole: Json): boolean {
    switch (`${text(at(whole, 'apiVersion')) ?? ''}/${text(at(whole, 'kind')) ?? ''}`) {
      case 'v1/Pod':
        keep(owners, ownerOf(whole), () => nameOf(whole));
        return keep(pods, readPod(whole), ({ namespace, name }) => `${namespace}/${name}`);
      case 'v1/Namespace':
        return keep(namespaces, readNamespace(whole), ({ name }) => name);
      case 'v1/Node':
        return keep(nodes, readNode(whole), ({ name }) => name);
      case 'v1/Service':
        for (const address of addressesOf(whole)) services.set(address, nameOf(whole));
        return true;
      default: {
        if (calico.add(whole)) return true;
        const workload = at(whole, 'apiVersion') === 'apps/v1' ? kindOf(at(whole, 'kind')) : undefined;
        if (workload !== undefined) {
          selectors.set(`${workload} ${nameOf(whole)}`, at(whole, 'spec', 'selector'));
          return true;
        }
        const parts = compilePolicy(whole);
        addPolicies(parts);
        return parts.length > 0;
      }
    }
  }

  /** Parts of one policy, which may also stand for others that are not known. */
  function addPolicies(parts: readonly Policy[]): void {
    const [policy] = parts;
    if (policy === undefined) return;
    const key = keyOf(policy.ref);
    const isStored = policy.ref.apiVersion.startsWith('crd.');
    // A policy as Calico's API server shows it goes over the same as it is stored.
    if (!isStored || policies.get(key)?.[0]?.ref.apiVersion.startsWith('crd.') !== false) policies.set(key, parts);
  }
}

interface ItemKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Returns the object, or those of a list, which need not repeat their kind. `path` leads there. */
export function itemsOf(object: Json, itemKind?: ItemKind): { object: object; path: readonly string[] }[] {
  const items = at(object, 'items');
  const [apiVersion, kind = ''] = [text(at(object, 'apiVersion')), text(at(object, 'kind'))];
  const isList = Array.isArray(items);
  const own =
    !isList || kind === 'List' || apiVersion === undefined ? itemKind : { apiVersion, kind: kind.replace(/List$/, '') };
  return (isList ? (items as Json[]) : [object]).flatMap((item, index) => {
    if (typeof item !== 'object' || item === null) return [];
    const whole = text(at(item, 'kind')) === undefined ? { ...own, ...item } : item;
    return [{ object: whole, path: isList ? ['items', String(index)] : [] }];
  });
}

function addressesOf(service: Json): string[] {
  const spec = at(service, 'spec');
  const given = [at(spec, 'clusterIP'), ...list(at(spec, 'clusterIPs')), ...list(at(spec, 'externalIPs'))];
  return given.map((each) => canonicalAddress(text(each) ?? '')).filter((address) => address !== '');
}

/** The later of two versions of one object counts. Calico stores policies with their tier before the name. */
function keyOf({ apiVersion, kind, namespace = '', name }: PolicyRef): string {
  const ofCalico = isCalico({ apiVersion });
  const group = ofCalico ? 'projectcalico.org' : apiVersion.split('/', 1)[0];
  return `${group}/${kind}/${namespace}/${ofCalico ? name.replace(/^default\./, '') : name}`;
}

function keep<T>(kept: Map<string, T>, value: T | undefined, key: (value: T) => string): boolean {
  if (value !== undefined) kept.set(key(value), value);
  return value !== undefined;
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
