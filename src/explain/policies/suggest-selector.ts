/** Chooses selectors that stay valid when a Pod is replaced, and do not isolate further Pods. */
import { isIPv6 } from '../../base/platform/address.ts';
import type { Json } from '../../base/platform/json.ts';
import { LabelSubject } from './api/read.ts';
import { type LabelSelector, namespaceNameLabel, podLabels, readSelector, selects } from './clauses/labels.ts';
import { type End, type Labels, type PolicyDirection, type PolicyFlow, type PolicyPod, Unknown } from './model.ts';
import type { Policy } from './policy.ts';

export interface PlainSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

/** The workload that owns a Pod: a Deployment, StatefulSet, DaemonSet or ReplicaSet. */
export interface OwningWorkload {
  readonly name: string;
  readonly selector: Json;
}

/** The source of the labels that select a Pod: its owner, the Pod itself, or none if no label is stable, as with most Jobs. */
export type LabelsOf = 'owner' | 'pod' | 'none';

/** Returns the owner's selector without labels of a revision; if no label is left or they do not select the Pod, the Pod's stable labels. */
export function lastingSelector(
  pod: PolicyPod,
  owner: OwningWorkload | undefined,
): { selector: PlainSelector; from: LabelsOf } {
  const read = owner?.selector === undefined ? [] : readSelector(owner.selector);
  const lasting = read instanceof Unknown ? [] : read.filter(({ key }) => !ofRevision.test(key));
  if (lasting.length > 0 && selects(read, podLabels(pod)) === true)
    return { selector: narrowed({}, lasting), from: 'owner' };
  const matchLabels = stableLabels(pod);
  return { selector: { matchLabels }, from: Object.keys(matchLabels).length === 0 ? 'none' : 'pod' };
}

/** Matches labels that controllers add for one revision, and by which a ReplicaSet selects. */
const ofRevision = /^(?:pod-template-hash|pod-template-generation|controller-revision-hash|controller-uid)$/;

export function isolatingSelector(
  policies: readonly Policy[],
  pod: PolicyPod,
  direction: PolicyDirection,
): LabelSelector {
  for (const { ref, rules, subject, staged } of policies) {
    if (staged !== undefined || ref.namespace !== pod.namespace || rules[direction] === undefined) continue;
    if (subject instanceof LabelSubject && selects(subject.pods, podLabels(pod)) === true) return subject.pods;
  }
  return [];
}

/**
 * Adds the requirements of a policy that already isolates the Pod, so that the new policy isolates no other Pod, now or later. Both selectors
 * select the Pod, so a label that has a value in one of them meets all requirements of the other.
 */
export function narrowed(own: PlainSelector, other: LabelSelector): PlainSelector {
  const matchLabels: Record<string, string> = { ...own.matchLabels };
  const matchExpressions = [...(own.matchExpressions ?? [])];
  for (const { key, operator, values } of other instanceof Unknown ? [] : other) {
    const [only] = values;
    const isKnown = Object.hasOwn(matchLabels, key);
    if (operator === 'In' && values.length === 1 && only !== undefined && !isKnown) matchLabels[key] = only;
    else if (!isKnown) matchExpressions.push({ key, operator, ...(values.length === 0 ? {} : { values }) });
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}

function stableLabels({ labels = {} }: PolicyPod): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !shortLived.test(key)));
}

const shortLived =
  /^(?:pod-template-hash|pod-template-generation|controller-revision-hash|controller-uid|job-name|version|chart|heritage|helm\.sh\/chart|app\.kubernetes\.io\/(?:version|managed-by)|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index|batch\.kubernetes\.io\/.*)$/;

interface Peer {
  readonly peer: object;
  readonly count: number | undefined;
  readonly name: string;
  readonly labelsOf: LabelsOf | undefined;
}

export function suggestedPeer(
  peer: End,
  pods: readonly PolicyPod[],
  ownerOf: ((pod: PolicyPod) => OwningWorkload | undefined) | undefined,
): Peer {
  if (peer.kind === 'pod' && !peer.pod.hostNetwork) {
    const { namespace } = peer.pod;
    const owner = ownerOf?.(peer.pod);
    const lasting = lastingSelector(peer.pod, owner);
    const podSelector = narrowed(lasting.selector, []);
    const peers = selectedBy(podSelector, namespace, pods).filter((each) => !each.completed && !each.hostNetwork);
    const namespaceSelector = { matchLabels: { [namespaceNameLabel]: namespace } };
    const name = `${namespace}-${baseName(peer.pod, owner)}`;
    return { peer: { namespaceSelector, podSelector }, count: peers.length, name, labelsOf: lasting.from };
  }
  const address = peer.address ?? '';
  const ipBlock = { cidr: `${address}/${isIPv6(address) ? 128 : 32}` };
  return { peer: { ipBlock }, count: undefined, name: address, labelsOf: undefined };
}

export function selectedBy(selector: PlainSelector, namespace: string, pods: readonly PolicyPod[]): PolicyPod[] {
  const read = readSelector(selector);
  return pods.filter((each) => each.namespace === namespace && selects(read, podLabels(each)) === true);
}

function baseName({ name, labels = {} }: PolicyPod, owner: OwningWorkload | undefined): string {
  return labels['app.kubernetes.io/name'] ?? labels['app'] ?? labels['k8s-app'] ?? owner?.name ?? name;
}

export function nameFor(direction: PolicyDirection, peer: string, { port, protocol }: PolicyFlow): string {
  const text = `allow-${direction === 'ingress' ? '' : 'to-'}${peer}-${port ?? protocol}`.toLowerCase();
  const name = text.replaceAll(/[^a-z0-9]+/g, '-').slice(0, 200);
  return name.endsWith('-') ? name.slice(0, -1) : name;
}

export function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
  return free;
}
