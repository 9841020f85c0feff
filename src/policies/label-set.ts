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
  for (const { name, labels } of namespaces)
    known.set(name, {
      labels: { ...labels, [namespaceNameLabel]: name },
      complete: true,
      owner: `Namespace ${name}`,
    });
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const unknown = { labels: { [namespaceNameLabel]: name }, complete: false, owner: `Namespace ${name}` };
    known.set(name, unknown);
    return unknown;
  };
}

export function podLabels({ namespace, name, labels }: Pod): LabelSet {
  return { labels: labels ?? {}, complete: labels !== undefined, owner: `Pod ${namespace}/${name}` };
}
