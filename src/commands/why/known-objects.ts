/** What `why` knows of a cluster, from files or from the API server. */
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
  type Pod,
  type Policy,
  type PolicyRef,
  readNamespace,
  readNode,
  readPod,
} from '../../policies/policies.ts';
import { canonicalAddress } from '../../platform/address.ts';
import { at, type Json, list, text } from '../../platform/json.ts';
import { createOwners, type Owners } from './owners.ts';

export interface KnownObjects {
  readonly pods: ReadonlyMap<string, Pod>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly nodes: ReadonlyMap<string, NodeWithAddresses>;
  readonly policies: ReadonlyMap<string, Policy>;
  /** Names of Services by address. */
  readonly services: ReadonlyMap<string, string>;
  /** All Pods and all Nodes are listed, so an address of none of them is outside the cluster. */
  readonly complete: { pods: boolean; nodes: boolean };
  /** What Calico has beside policies. */
  readonly calico: CalicoObjects;
  readonly ownerOf: Owners['of'];
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
  /** All objects of that kind are there. */
  readonly complete: (kind: 'pods' | 'nodes') => void;
  /** Objects of that kind could not be read. */
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
  const owners = createOwners();
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
      ownerOf: owners.of,
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
        owners.addPod(whole);
        return keep(pods, readPod(whole), ({ namespace, name }) => `${namespace}/${name}`);
      case 'v1/Namespace':
        return keep(namespaces, readNamespace(whole), ({ name }) => name);
      case 'v1/Node':
        return keep(nodes, readNode(whole), ({ name }) => name);
      case 'v1/Service':
        return takeService(whole, services);
      default: {
        if (calico.add(whole) || owners.addWorkload(whole)) return 1;
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

/** Of two versions of one kind the later counts, as of two states of one object. Calico stores policies with their tier before the name. */
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
