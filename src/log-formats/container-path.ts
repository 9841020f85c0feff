import { sep } from 'node:path';
import { isLabel, isOpaqueId, isSubdomain } from '../platform/api-names.ts';

export interface PodName {
  namespace: string;
  pod: string;
  uid: string;
}

export interface ContainerName extends PodName {
  container: string;
  restarts: number;
}

/** On Windows, where `replay` may run, both separators are allowed. */
const separator = sep === '/' ? sep : /[/\\]/;

/** Reads the path of a log, `…/<namespace>_<pod>_<uid>/<container>/<n>.log`; undefined for other paths. */
export function containerOf(path: string): ContainerName | undefined {
  const [file = '', container, folder = ''] = path.split(separator).toReversed();
  const pod = podOf(folder);
  const restarts = /^(\d{1,9})\.log$/.exec(file)?.[1];
  if (pod === undefined || container === undefined || container === '' || restarts === undefined) return undefined;
  return { ...pod, container, restarts: Number(restarts) };
}

/** Reads the name of its folder; none of the parts can have a `_` in it (Kubernetes pkg/kubelet/kuberuntime/helpers.go). */
export function podOf(folder: string): PodName | undefined {
  const [namespace, pod, uid, more] = folder.split('_');
  if (namespace === undefined || pod === undefined || uid === undefined || more !== undefined) return undefined;
  return isLabel(namespace) && isSubdomain(pod) && isOpaqueId(uid) ? { namespace, pod, uid } : undefined;
}
