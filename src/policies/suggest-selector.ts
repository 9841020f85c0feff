/** Chooses the selector of a suggested policy: requirements that outlive a Pod and isolate no other one. */
import type { Json } from '../platform/json.ts';
import { LabelSubject } from './api/read.ts';
import { type LabelSelector, readSelector, selects } from './clauses/labels.ts';
import { podLabels } from './clauses/labels.ts';
import type { Direction, Labels, Pod } from './model.ts';
import type { Policy } from './policy.ts';

/** A LabelSelector of Kubernetes. */
export interface PlainSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

/** The owner of a Pod: the Deployment, StatefulSet, DaemonSet or ReplicaSet. */
export interface Owner {
  readonly name: string;
  /** Its `spec.selector`; undefined: not known. */
  readonly selector: Json;
}

/** `from`: whose labels they are. A selector of the owner that does not select the Pod, or is empty, is not used. */
export function lastingSelector(
  pod: Pod,
  owner: Owner | undefined,
): { selector: PlainSelector; from: 'owner' | 'pod' } {
  const read = owner?.selector === undefined ? [] : readSelector(owner.selector);
  const lasting = typeof read === 'string' ? [] : read.filter(({ key }) => !ofRevision.test(key));
  if (lasting.length > 0 && selects(read, podLabels(pod)) === true)
    return { selector: narrowed({}, lasting), from: 'owner' };
  return { selector: { matchLabels: stableLabels(pod) }, from: 'pod' };
}

/** The selector of a ReplicaSet has them. */
const ofRevision = /^(?:pod-template-hash|pod-template-generation|controller-revision-hash|controller-uid)$/;

/** Selector of a NetworkPolicy that isolates the Pod already. */
export function isolating(policies: readonly Policy[], pod: Pod, direction: Direction): LabelSelector {
  for (const { ref, rules, subject, staged } of policies) {
    if (staged !== undefined || ref.namespace !== pod.namespace || rules[direction] === undefined) continue;
    if (subject instanceof LabelSubject && selects(subject.pods, podLabels(pod)) === true) return subject.pods;
  }
  return [];
}

/**
 * A new policy isolates each Pod that it selects. One that also has the requirements of a policy that isolates already selects no Pod,
 * present or future, that is not isolated without it.
 */
export function narrowed(own: PlainSelector, other: LabelSelector): PlainSelector {
  const matchLabels: Record<string, string> = { ...own.matchLabels };
  const matchExpressions = [...(own.matchExpressions ?? [])];
  for (const { key, operator, values } of typeof other === 'string' ? [] : other) {
    const [only] = values;
    const isKnown = Object.hasOwn(matchLabels, key);
    if (operator === 'In' && values.length === 1 && only !== undefined && !isKnown) matchLabels[key] = only;
    else if (!isKnown || operator === 'DoesNotExist')
      matchExpressions.push({ key, operator, ...(values.length === 0 ? {} : { values }) });
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}

/** Labels that a Pod of the same workload will have too: not those of one Pod, one revision, or one release. */
function stableLabels({ labels = {} }: Pod): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !passing.test(key)));
}

const passing =
  /^(?:pod-template-hash|pod-template-generation|controller-revision-hash|controller-uid|job-name|version|chart|heritage|helm\.sh\/chart|app\.kubernetes\.io\/(?:version|managed-by)|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index|batch\.kubernetes\.io\/.*)$/;
