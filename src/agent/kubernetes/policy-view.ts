/** Keeps the fields of watched Pods of this node that policies use, so that Events need no look-up for them. */
import { LRUCache } from 'lru-cache';
import type { Json } from '../../base/platform/json.ts';
import { type PolicyPod, readPod } from '../../explain/policies/policies.ts';
import type { Pod as WatchedPod } from '../../explain/resolving/resolving.ts';
import type { KnownPod } from './policy-objects.ts';

/** Ten times that of a usual Pod. Pods with more labels and ports are looked up. */
const longestView = 4096;

export function withPolicyView(pod: WatchedPod, object: Json, ownNode: string): WatchedPod {
  if (pod.node !== ownNode) return pod;
  const view = JSON.stringify(readPod(object));
  return view.length > longestView ? pod : { ...pod, policyView: view };
}

/** More Pods than a node has. */
const mostPods = 512;

/** Reads the views of watched Pods. An equal view is the same object, by which policies remember their answers. */
export function createPolicyViews(
  watched: (namespace: string, name: string) => WatchedPod | undefined,
): (namespace: string, name: string) => KnownPod | undefined {
  const read = new LRUCache<string, PolicyPod>({ max: mostPods });
  return (namespace, name) => {
    const { uid, policyView } = watched(namespace, name) ?? {};
    if (uid === undefined || policyView === undefined) return undefined;
    const pod = read.get(policyView) ?? (JSON.parse(policyView) as PolicyPod);
    read.set(policyView, pod);
    return { pod, uid };
  };
}
