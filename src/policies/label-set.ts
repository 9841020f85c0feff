/** Labels of Pods and Namespaces as far as they are known. */
import type { LabelOf } from './calico/selector.ts';
import type { Labels, Namespace, Pod } from './model.ts';

export interface LabelSet {
  readonly labels: Labels;
  /** False: there may be more. */
  readonly complete: boolean;
  /** `Namespace batch`, `Pod batch/worker-7`. */
  readonly owner: string;
}

/** What Calico's selectors select: a Pod, or a set of networks. */
export interface Endpoint {
  readonly labelOf: LabelOf;
  /** `Pod shop/web-0`, `GlobalNetworkSet office`. */
  readonly name: string;
}

export type NamespaceLabels = (name: string) => LabelSet;

/** The label that the API server gives each Namespace. */
export const namespaceNameLabel = 'kubernetes.io/metadata.name';

/** Labels of Namespaces by name. One that is not listed has unknown labels, but for its name. */
export function createNamespaces(namespaces: Iterable<Namespace>): NamespaceLabels {
  const known = new Map<string, LabelSet>();
  for (const each of namespaces) known.set(each.name, labelSetOf(each));
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const unknown = { labels: { [namespaceNameLabel]: name }, complete: false, owner: `Namespace ${name}` };
    known.set(name, unknown);
    return unknown;
  };
}

/** A Namespace's object stands for its labels, so what was found by them holds for the next evaluator, too. */
const made = new WeakMap<Namespace, LabelSet>();

function labelSetOf(namespace: Namespace): LabelSet {
  const { name, labels } = namespace;
  const found = made.get(namespace) ?? {
    labels: { ...labels, [namespaceNameLabel]: name },
    complete: true,
    owner: `Namespace ${name}`,
  };
  made.set(namespace, found);
  return found;
}

export function podLabels({ namespace, name, labels }: Pod): LabelSet {
  return { labels: labels ?? {}, complete: labels !== undefined, owner: `Pod ${namespace}/${name}` };
}
