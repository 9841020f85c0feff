/** Collects the objects of a cluster for `why`, from files or from the API server. */
import {
  annotatedAddresses,
  nodeAddresses,
  podRanges,
  tunnelAddresses,
} from '../../agent/kubernetes/object-addresses.ts';
import type { WorkloadKind } from '../options/why-options.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../../base/platform/json.ts';
import {
  type CalicoKind,
  type CalicoObjects,
  collectCalicoObjects,
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type Evaluator,
  isCalico,
  type Namespace,
  type OwningWorkload,
  type Policy,
  type PolicyNode,
  type PolicyPod,
  type PolicyRef,
  readNamespace,
  readNode,
  readPod,
  type ServiceCollector,
} from '../../explain/policies/policies.ts';
import {
  type ContainerPort,
  containerPortsOf,
  readService,
  readSlice,
  type ServiceSlice,
  type ServiceSpec,
} from './services.ts';

export interface KnownObjects {
  readonly pods: ReadonlyMap<string, PolicyPod>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly nodes: ReadonlyMap<string, KnownNode>;
  readonly policies: readonly Policy[];
  /** By `NAMESPACE/NAME`. */
  readonly services: ReadonlyMap<string, ServiceSpec>;
  readonly slices: ReadonlyMap<string, ServiceSlice>;
  /** The ports that the containers of a Pod declare, by `NAMESPACE/NAME`. */
  readonly containerPorts: ReadonlyMap<string, readonly ContainerPort[]>;
  /** Whether all Pods, and all Nodes, are known. If both are, any other address is outside the cluster. */
  readonly complete: Readonly<Record<'pods' | 'nodes', boolean>>;
  readonly calico: CalicoObjects;
  /** Returns undefined if the Pod has no owner, or an owner of another kind. */
  readonly ownerOf: (pod: Pick<PolicyPod, 'namespace' | 'name'>) => PodOwner | undefined;
  /** The Job of a Pod. Its labels belong to this run alone, so no lasting policy can select by them. */
  readonly jobOf: (pod: Pick<PolicyPod, 'namespace' | 'name'>) => string | undefined;
}

export interface KnownNode extends PolicyNode {
  /** Those of its status. */
  readonly addresses: readonly string[];
  readonly annotated: readonly string[];
  readonly podRanges: readonly string[];
  /** Those of the addresses from which it sends its own packets through a tunnel. */
  readonly tunnels: readonly string[];
}

/** Thrown if the input is wrong, or the API server cannot be asked at all. */
export class WhyError extends Error {
  override name = 'WhyError';
  readonly problems: readonly string[];

  constructor(problems: string | readonly string[], options?: ErrorOptions) {
    const lines = typeof problems === 'string' ? [problems] : problems;
    super(lines.join('\n'), options);
    this.problems = lines;
  }
}

export function evaluatorOf({ policies, calico, namespaces }: KnownObjects, added: readonly Policy[] = []): Evaluator {
  return createEvaluator({
    policies: createPolicySet([...policies, ...added], calico),
    namespaces: namespaces.values(),
  });
}

export interface Collector {
  /** Returns how many of the objects are of a kind that is used. */
  add: (object: Json, itemKind?: ItemKind) => number;
  addPolicy: (policy: Policy) => void;
  /** Notes that all objects of the kind were read. */
  complete: (kind: keyof KnownObjects['complete']) => void;
  readonly unread: (kind: CalicoKind) => void;
  readonly endpoints: ServiceCollector;
  objects: () => KnownObjects;
}

export function collectObjects(): Collector {
  const known = {
    pods: new Map<string, PolicyPod>(),
    namespaces: new Map<string, Namespace>(),
    nodes: new Map<string, KnownNode>(),
    services: new Map<string, ServiceSpec>(),
    slices: new Map<string, ServiceSlice>(),
    containerPorts: new Map<string, readonly ContainerPort[]>(),
    complete: { pods: false, nodes: false },
  };
  const { pods, namespaces, nodes, services, slices, containerPorts, complete } = known;
  /** By key; a policy may be compiled into several parts. */
  const policies = new Map<string, readonly Policy[]>();
  const calico = collectCalicoObjects();
  const owners = new Map<string, { kind: WorkloadKind; name: string }>();
  const jobs = new Map<string, string>();
  const selectors = new Map<string, Json>();
  return {
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
      jobOf: ({ namespace, name }) => jobs.get(`${namespace}/${name}`),
    }),
  };

  function workloadOf({ namespace, name }: Pick<PolicyPod, 'namespace' | 'name'>): PodOwner | undefined {
    const owner = owners.get(`${namespace}/${name}`);
    return owner && { ...owner, selector: selectors.get(`${owner.kind} ${namespace}/${owner.name}`) };
  }

  function take(whole: Json): boolean {
    switch (`${text(at(whole, 'apiVersion')) ?? ''}/${text(at(whole, 'kind')) ?? ''}`) {
      case 'v1/Pod':
        keep(owners, ownerOf(whole), () => nameOf(whole));
        keep(jobs, jobNameOf(whole), () => nameOf(whole));
        containerPorts.set(nameOf(whole), containerPortsOf(whole));
        return keep(pods, readPod(whole), ({ namespace, name }) => `${namespace}/${name}`);
      case 'v1/Namespace':
        return keep(namespaces, readNamespace(whole), ({ name }) => name);
      case 'v1/Node':
        return keep(nodes, knownNode(whole), ({ name }) => name);
      case 'v1/Service':
        return keep(services, readService(whole), ({ name }) => name);
      case 'discovery.k8s.io/v1/EndpointSlice':
        keep(slices, readSlice(whole), () => nameOf(whole));
        return calico.add(whole);
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

  function addPolicies(parts: readonly Policy[]): void {
    const [policy] = parts;
    if (policy === undefined) return;
    const key = keyOf(policy.ref);
    const isStored = policy.ref.apiVersion.startsWith('crd.');
    // A policy from Calico's API server replaces the stored form of the same policy.
    if (!isStored || policies.get(key)?.[0]?.ref.apiVersion.startsWith('crd.') !== false) policies.set(key, parts);
  }
}

/** The kind of the objects in a list, because the API server leaves it out of each object. */
export type ItemKind = Pick<PolicyRef, 'apiVersion' | 'kind'>;

/** Returns the object, or the objects of a list, each with its path. */
export function itemsOf(object: Json, itemKind?: ItemKind): { object: object; path: readonly string[] }[] {
  const isArray = Array.isArray(object);
  const items = isArray ? object : at(object, 'items');
  const [apiVersion = '', kind = ''] = [text(at(object, 'apiVersion')), text(at(object, 'kind'))];
  const isList = Array.isArray(items);
  const own = isList && /.List$/.test(kind) ? { apiVersion, kind: kind.slice(0, -'List'.length) } : itemKind;
  return (isList ? (items as Json[]) : [object]).flatMap((item, index) => {
    if (typeof item !== 'object' || item === null) return [];
    const whole = text(at(item, 'kind')) === undefined ? { ...own, ...item } : item;
    return [{ object: whole, path: isList ? [...(isArray ? [] : ['items']), String(index)] : [] }];
  });
}

function knownNode(object: Json): KnownNode | undefined {
  const node = readNode(object);
  return (
    node && {
      ...node,
      addresses: nodeAddresses(object),
      annotated: annotatedAddresses(object),
      podRanges: podRanges(object),
      tunnels: tunnelAddresses(object),
    }
  );
}

/** Returns the same key for all API versions of a policy. Calico stores a policy of the tier `default` as `default.NAME`. */
function keyOf({ apiVersion, kind, namespace = '', name }: PolicyRef): string {
  const ofCalico = isCalico({ apiVersion });
  const group = ofCalico ? 'projectcalico.org' : apiVersion.split('/', 1)[0];
  return `${group}/${kind}/${namespace}/${ofCalico ? name.replace(/^default\./, '') : name}`;
}

function keep<T>(kept: Map<string, T>, value: T | undefined, key: (value: T) => string): boolean {
  if (value !== undefined) kept.set(key(value), value);
  return value !== undefined;
}

/** Kinds of apps/v1 that select Pods by labels, with an immutable selector. */
export const workloadKinds: Readonly<Record<WorkloadKind, string>> = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  ReplicaSet: 'replicasets',
};

export interface PodOwner extends OwningWorkload {
  readonly kind: WorkloadKind;
}

function nameOf(object: Json): string {
  return `${text(at(object, 'metadata', 'namespace')) ?? 'default'}/${text(at(object, 'metadata', 'name')) ?? ''}`;
}

function kindOf(kind: Json): WorkloadKind | undefined {
  return typeof kind === 'string' && Object.hasOwn(workloadKinds, kind) ? (kind as WorkloadKind) : undefined;
}

function controllerOf(pod: Json): Json {
  return list(at(pod, 'metadata', 'ownerReferences')).find((each) => at(each, 'controller') === true);
}

function jobNameOf(pod: Json): string | undefined {
  const reference = controllerOf(pod);
  const isJob = at(reference, 'kind') === 'Job' && at(reference, 'apiVersion') === 'batch/v1';
  return isJob ? spelled(at(reference, 'name'), isSubdomain) : undefined;
}

/** A Deployment's ReplicaSet is called `DEPLOYMENT-HASH`, with the hash of the Pod's label `pod-template-hash`. */
function ownerOf(pod: Json): { kind: WorkloadKind; name: string } | undefined {
  const reference = controllerOf(pod);
  const kind = kindOf(at(reference, 'kind'));
  const name = spelled(at(reference, 'name'), isSubdomain);
  if (kind === undefined || name === undefined || at(reference, 'apiVersion') !== 'apps/v1') return undefined;
  const hash = text(at(pod, 'metadata', 'labels', 'pod-template-hash'));
  const isOfDeployment = kind === 'ReplicaSet' && hash !== undefined && name.endsWith(`-${hash}`);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -hash.length - 1) } : { kind, name };
}
