import { type ObjectRef, podRef } from '../model/endpoint.ts';
import type { Failing } from '../model/program-record.ts';
import type { Pod } from './objects.ts';

/** The Pod of a node that runs a program, by the names that installers give; it is on the host's network, unlike who only borrows the name. */
export function podOf(failing: Failing, pods: readonly Pod[]): ObjectRef | undefined {
  const name = failing === 'kube-proxy' ? 'kube-proxy' : partsOfCalicoNode.has(failing) ? 'calico-node' : undefined;
  if (name === undefined) return undefined;
  const pod = pods.find(
    (each) => each.hostNetwork && each.until === Infinity && (each.name === name || each.name.startsWith(`${name}-`)),
  );
  return pod === undefined ? undefined : podRef(pod);
}

const partsOfCalicoNode: ReadonlySet<Failing> = new Set<Failing>(['felix', 'confd', 'bird', 'calico-node']);
