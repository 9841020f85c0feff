/**
 * Shows Pods and network sets as Calico's selectors see them: with their own labels, and with those of their Namespace and ServiceAccount
 * under a prefix (libcalico-go/lib/backend/k8s/conversion).
 */
import type { NamedObject } from '../../../base/model/readers.ts';
import type { Bytes } from '../../../base/platform/weight.ts';
import { type Address, contains } from '../clauses/networks.ts';
import type { LabelledEndpoint, LabelSet, NamespaceLabels } from '../clauses/labels.ts';
import { type End, type MatchResult, type PolicyPod, Unknown } from '../model.ts';
import type { CalicoObjects, NetworkSet } from './objects.ts';
import { type Label, type Selector, matchesSelector } from './selector.ts';

export const namespaceLabel = 'projectcalico.org/namespace';
export const serviceAccountLabel = 'projectcalico.org/serviceaccount';
export const nameLabel = 'projectcalico.org/name';

export const namespacePrefix = 'pcns.';
export const serviceAccountPrefix = 'pcsa.';

export function calicoPod(pod: PolicyPod, namespace: LabelSet, calico: CalicoObjects | undefined): LabelledEndpoint {
  const name = `Pod ${pod.namespace}/${pod.name}`;
  const account: Label = pod.serviceAccount ?? new Unknown(`ServiceAccount of ${name}`);
  return { name, object: { kind: 'Pod', namespace: pod.namespace }, labelOf };

  function labelOf(key: string): Label {
    if (key === namespaceLabel) return pod.namespace;
    if (key === 'projectcalico.org/orchestrator') return 'k8s';
    if (key === serviceAccountLabel) return account;
    // Ignore the Pod's own labels with this prefix: they could claim another Namespace.
    if (key.startsWith(namespacePrefix)) return namespaceLabelOf(namespace, pod.namespace, key);
    if (key.startsWith(serviceAccountPrefix)) return accountLabelOf(key.slice(serviceAccountPrefix.length));
    return own(pod.labels ?? {}, key) ?? (pod.labels === undefined ? new Unknown(`labels of ${name}`) : undefined);
  }

  function accountLabelOf(key: string): Label {
    if (typeof account !== 'string' || key === nameLabel) return account;
    const labels = calico?.serviceAccounts.get(`${pod.namespace}/${account}`);
    return labels === undefined ? new Unknown(`labels of the ServiceAccount of ${name}`) : own(labels, key);
  }
}

const latest = new WeakMap<LabelledEndpoint, { readonly selector: Selector; readonly match: MatchResult }>();

/** Evaluates a selector that clauses of a rule share only once, because there may be thousands of both. */
export function selectsEndpoint(selector: Selector, endpoint: LabelledEndpoint): MatchResult {
  const known = latest.get(endpoint);
  if (known?.selector === selector) return known.match;
  const match = matchesSelector(selector, endpoint.labelOf);
  latest.set(endpoint, { selector, match });
  return match;
}

export function labelText({ labelOf }: LabelledEndpoint, label: string): string {
  const value = labelOf(label);
  const text = value instanceof Unknown ? 'an unknown value' : value;
  if (label === namespaceLabel) return text === undefined ? 'is in no Namespace' : `is in Namespace ${text}`;
  if (label === serviceAccountLabel) return text === undefined ? 'has no ServiceAccount' : `has ServiceAccount ${text}`;
  for (const [prefix, kind] of [
    [namespacePrefix, 'Namespace'],
    [serviceAccountPrefix, 'ServiceAccount'],
  ] as const) {
    if (!label.startsWith(prefix)) continue;
    const inner = label.slice(prefix.length);
    return text === undefined ? `its ${kind} has no label ${inner}` : `its ${kind} has ${inner}=${text}`;
  }
  return text === undefined ? `has no label ${label}` : `has ${label}=${text}`;
}

/** Returns the objects that `labelText` of these labels shows. */
export function aboutLabels({ object }: LabelledEndpoint, labels: readonly string[]): readonly NamedObject[] {
  const { kind, namespace } = object;
  const ofAccount = labels.some((label) => label === serviceAccountLabel || label.startsWith(serviceAccountPrefix));
  return [
    object,
    ...(kind === 'Pod' ? [{ kind: 'Namespace', namespace }] : []),
    ...(ofAccount ? [{ kind: 'ServiceAccount', namespace }] : []),
  ];
}

export function isOfAccount(label: string): boolean {
  return label.startsWith(serviceAccountPrefix) && label !== `${serviceAccountPrefix}${nameLabel}`;
}

function namespaceLabelOf({ labels, complete, owner }: LabelSet, name: string, key: string): Label {
  const inner = key.slice(namespacePrefix.length);
  if (inner === nameLabel) return name;
  return own(labels, inner) ?? (complete ? undefined : new Unknown(`labels of ${owner}`));
}

function own(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

export function networkSetsAt(
  end: End,
  address: Address | undefined,
  namespaceLabelsOf: NamespaceLabels,
  calico: CalicoObjects | undefined,
): { found: LabelledEndpoint[]; more: false | Unknown } {
  const where = end.address ?? (end.kind === 'pod' ? `Pod ${end.pod.namespace}/${end.pod.name}` : 'the address');
  if (calico === undefined || calico.unread.has('networksets'))
    return { found: [], more: new Unknown(`which NetworkSets of Calico have ${where}`) };
  const host = hostEndpointOf(end, calico);
  const { networkSets } = calico;
  if (networkSets.length === 0 || end.address === undefined || address === undefined)
    return { found: [], more: networkSets.length === 0 ? host : new Unknown(`address of ${where}`) };
  const found = setsWith(networkSets, end.address, address);
  const seen = found.slice(0, mostSets).map((set) => setEndpoint(set, namespaceLabelsOf));
  const isMore = found.length > mostSets;
  return { found: seen, more: isMore ? new Unknown(`which of more than ${mostSets} NetworkSets have ${where}`) : host };
}

/** Returns false if this end has no HostEndpoint. The effect of one is unknown, because HostEndpoints are not evaluated. */
export function hostEndpointOf(end: End, { hostEndpoints, unread }: CalicoObjects): false | Unknown {
  if (end.kind === 'pod' && !end.pod.hostNetwork) return false;
  const node = end.kind === 'node' ? end.node.name : end.kind === 'pod' ? end.pod.node : undefined;
  const found = hostEndpoints.find(
    (each) => (node !== undefined && each.node === node) || each.addresses.includes(end.address ?? ''),
  );
  if (found !== undefined)
    return new Unknown(`what policies mean for HostEndpoint ${found.name}: HostEndpoints are not evaluated`);
  if (end.kind === 'pod' && node === undefined && hostEndpoints.length > 0)
    return new Unknown(`which Node has Pod ${end.pod.namespace}/${end.pod.name}, and with it a HostEndpoint`);
  return unread.has('hostendpoints') && new Unknown(`whether ${end.address ?? node} is of a HostEndpoint`);
}

function setEndpoint(set: NetworkSet, namespaceLabelsOf: NamespaceLabels): LabelledEndpoint {
  const { namespace, name, labels } = set;
  if (namespace === undefined)
    return {
      name: `GlobalNetworkSet ${name}`,
      object: { kind: 'GlobalNetworkSet', namespace },
      labelOf: (key) => own(labels, key),
    };
  return {
    name: `NetworkSet ${namespace}/${name}`,
    object: { kind: 'NetworkSet', namespace },
    labelOf(key) {
      if (key === namespaceLabel) return namespace;
      const found = own(labels, key);
      if (found !== undefined || !key.startsWith(namespacePrefix)) return found;
      return namespaceLabelOf(
        { ...namespaceLabelsOf(namespace), owner: 'the Namespace of a NetworkSet' },
        namespace,
        key,
      );
    },
  };
}

/** Cluster-wide sets first, then Namespaces in turns, so that a tenant with thousands of sets leaves room for others. */
function firstOf(sets: readonly NetworkSet[], count: number): readonly NetworkSet[] {
  if (sets.length <= count) return sets;
  const groups = Map.groupBy(sets, ({ namespace }) => namespace);
  const first = [...(groups.get(undefined) ?? [])];
  groups.delete(undefined);
  for (let turn = 0; first.length < count; turn++)
    first.push(...[...groups.values()].flatMap((group) => group[turn] ?? []));
  return first.slice(0, count);
}

/** The most sets of an address that selectors see: a rule compares each, and a tenant may have thousands of both. */
const mostSets = 64;

/** Kept results by address, because the same peers come again and a cluster may have thousands of networks. */
const mostKept: Bytes = 1024 * 1024;

const bytesOfAddress: Bytes = 300;

let recent = new WeakMap<readonly NetworkSet[], Map<string, readonly NetworkSet[]>>();
let bytes: Bytes = 0;

/** Forgets everything above `mostKept`, because each of many lists has its own addresses. */
function setsWith(sets: readonly NetworkSet[], text: string, address: Address): readonly NetworkSet[] {
  const known = recent.get(sets)?.get(text);
  if (known !== undefined) return known;
  const all = sets.filter((set) => set.ranges.some((range) => contains(range, address)));
  const found = firstOf(all, mostSets + 1);
  const more = bytesOfAddress + 8 * found.length;
  if (bytes + more > mostKept) {
    recent = new WeakMap();
    bytes = 0;
  }
  bytes += more;
  const ofSets = recent.get(sets) ?? new Map<string, readonly NetworkSet[]>();
  recent.set(sets, ofSets.set(text, found));
  return found;
}
