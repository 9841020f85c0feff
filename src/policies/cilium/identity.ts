/** The identity that Cilium gives a Pod by its labels, and selectors of it. */
import {
  differences,
  type LabelSelector,
  type LabelSet,
  namespaceNameLabel,
  selects,
  selectorText,
} from '../clauses/labels.ts';
import { both } from '../match.ts';
import type { Match } from '../model.ts';

/** The labels from which Cilium makes the identity of a Pod. */
export interface Identity {
  readonly pod: LabelSet;
  readonly namespace: LabelSet;
  /** Undefined: not known. */
  readonly account: string | undefined;
}

const namespaceLabel = 'io.kubernetes.pod.namespace';
const namespacePrefix = 'io.cilium.k8s.namespace.labels.';
const accountLabel = 'io.cilium.k8s.policy.serviceaccount';
const clusterLabel = 'io.cilium.k8s.policy.cluster';

/** Labels that make no identity, as Cilium is set up by default (label filters). */
const filtered =
  /^(?:io\.kubernetes|kubernetes\.io|.*beta\.kubernetes\.io|k8s\.io|pod-template-generation|pod-template-hash|controller-revision-hash|annotation\.|controller-uid|etcd_node|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index|batch\.kubernetes\.io\/(?:job-completion-index|controller-uid))/;

type Requirements = Exclude<LabelSelector, string>;

/** A selector of Pods. Its keys may have the source before them: `k8s:app`, `any:app`. */
export class CiliumSelector {
  readonly #requirements: Requirements;

  /** `namespace`: that of the Pods, unless the selector says itself which; undefined: any. */
  constructor(requirements: Requirements, namespace?: string) {
    const own = requirements.map((each) => ({ ...each, key: each.key.replace(/^(?:k8s|any):/, '') }));
    const isConfined = own.some(({ key }) => key === namespaceLabel || key.startsWith(namespacePrefix));
    this.#requirements =
      namespace === undefined || isConfined
        ? own
        : [{ key: namespaceLabel, operator: 'In', values: [namespace] }, ...own];
  }

  matches(identity: Identity): Match {
    let match: Match = true;
    for (const each of this.#requirements) {
      match = both(match, () => (typeof each === 'object' ? holds(each, identity) : each));
      if (match === false) return false;
    }
    return match;
  }

  text(): string {
    return selectorText(this.#requirements);
  }

  differences(identity: Identity): string {
    const failing = this.#requirements.filter((each) => holds(each, identity) === false);
    return failing
      .map((each) => {
        const { set, requirement } = seenBy(each, identity);
        return each.key === namespaceLabel ? `is in ${set.owner}` : differences([requirement], set);
      })
      .join(', ');
  }
}

function holds(requirement: Requirements[number], identity: Identity): Match {
  const { key } = requirement;
  if (key === clusterLabel) return 'the name of the cluster';
  if (filtered.test(key) && key !== namespaceLabel && Object.hasOwn(identity.pod.labels, key))
    return `whether Cilium takes the label ${key} (its label filters)`;
  const { set, requirement: asked } = seenBy(requirement, identity);
  return selects([asked], set);
}

/** The labels that a requirement is about, and the requirement as it is of them. */
function seenBy(
  requirement: Requirements[number],
  { pod, namespace, account }: Identity,
): { set: LabelSet; requirement: Requirements[number] } {
  const { key } = requirement;
  if (key === namespaceLabel) return { set: namespace, requirement: { ...requirement, key: namespaceNameLabel } };
  if (key.startsWith(namespacePrefix))
    return { set: namespace, requirement: { ...requirement, key: key.slice(namespacePrefix.length) } };
  if (key !== accountLabel) return { set: pod, requirement };
  const labels = account === undefined ? {} : { [accountLabel]: account };
  return { set: { labels, complete: account !== undefined, owner: pod.owner }, requirement };
}
