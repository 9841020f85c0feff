/** Whose log a saved file is. */
import { basename } from 'node:path';
import { containerOf } from '../../log-formats/container-path.ts';
import type { Pod } from '../../resolving/objects.ts';

/** The Pod that the log at a path is of; remembered, as it is asked for each record. */
export function createLogOwners(pods: readonly Pod[]): (path: string) => Pod | undefined {
  const owners = new Map<string, Pod | undefined>();
  return (path) => {
    if (!owners.has(path)) owners.set(path, findOwner(path, pods));
    return owners.get(path);
  };
}

/** By the kubelet's path, else by a file name that begins with the Pod's: `kubectl logs POD > POD.log`. */
function findOwner(path: string, pods: readonly Pod[]): Pod | undefined {
  const container = containerOf(path);
  if (container !== undefined)
    return pods.find(({ namespace, name }) => namespace === container.namespace && name === container.pod);
  const file = basename(path);
  const [longest] = pods
    .filter(({ name }) => file.startsWith(name) && !/^[a-z0-9]/.test(file.slice(name.length)))
    .toSorted((a, b) => b.name.length - a.name.length);
  return longest;
}
